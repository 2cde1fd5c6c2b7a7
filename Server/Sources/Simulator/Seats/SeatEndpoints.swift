import AppStoreFormats
import Foundation
import HTTPTypes

/// Calls about the seats that an app's server claims, and about groups. At Apple, they exist only
/// in the sandbox.
enum SeatEndpoints {
    static let all = [
        endpoint(.post, "v1/transactions/{id}/seats") { simulator, call in
            try claimSeat(call, in: simulator)
        },
        endpoint(.get, "v1/transactions/{id}/seats") { simulator, call in
            try seatInfo(call, in: simulator)
        },
        endpoint(.delete, "v1/transactions/{id}/seats/{claim}") { simulator, call in
            try unclaimSeat(call, in: simulator)
        },
        endpoint(.post, "v1/transactions/{id}/seats/{claim}/associate") { simulator, call in
            try associateSeat(call, in: simulator)
        },
        endpoint(.get, "v1/currentGroups/{id}") { simulator, call in
            try customerGroups(call, in: simulator)
        },
        endpoint(.get, "v1/group/{id}") { simulator, call in
            try groupMembers(call, in: simulator)
        },
    ]

    private static func endpoint(
        _ method: HTTPRequest.Method, _ path: String, _ answer: @escaping APIEndpoint.Handler
    ) -> APIEndpoint {
        var endpoint = APIEndpoint(
            method, path, perSecond: 50, place: .sandboxOnly, answer: answer)
        endpoint.root = APIEndpoint.groups
        return endpoint
    }

    /// The group id in Apple's response about an account that is in no group.
    static let placeholderGroup = "900000000000000000"
    static let placeholderMember = "700000000000000000"
    /// Maximum number of members in one response, as at Apple.
    static let membersMax = 100
}

// Apple documents the names of the first seven errors, but not their numbers. The simulator's own
// numbers have a 9 as their third last digit. The messages begin with the names.

extension APIError {
    static let transactionNotDeveloperGroup = Self(
        4_000_901,
        "TransactionNotDevManagedGroupError: the app does not manage the invitations of this "
            + "transaction.")
    static let noAvailableSeats = Self(
        4_030_901, "NoAvailableSeatsError: every seat is claimed.")
    static let seatClaimIDNotFound = Self(
        4_040_901, "SeatClaimIdNotFoundError: seat claim id not found.")
    static let appTransactionIDNotFound = Self(
        4_040_902, "AppTransactionIdNotFoundError: app transaction id not found.")
    static let invalidGroupID = Self(4_000_902, "InvalidGroupIdError: invalid group id.")
    static let invalidLimit = Self(4_000_903, "InvalidLimitError: invalid limit.")
    static let groupNotFound = Self(4_040_903, "GroupNotFoundError: group not found.")
    static let assignedTransactionNotSupported = Self(
        4_000_227, "Invalid request. Assigned transactions aren't supported by this endpoint.")
    static let assignedExtensionIneligible = Self(
        4_030_028, "Forbidden - assigned subscriptions are extended with their purchaser's.")
}

extension SeatEndpoints {
    // These calls do not wait for a turn: a backend may call while a notification is posted to it.

    private static func claimSeat(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let body = try call.body()
        guard let request = body["requestIdentifier"]?.string.flatMap(UUID.init(uuidString:))
        else { throw APIError.invalidRequestIdentifier }
        let claim = try simulator.world.claimSeat(
            request.uuidString.lowercased(), for: body["appTransactionId"]?.string,
            of: call.parameter("id"), in: call.environment, at: simulator.clock.now)
        return .ok([.init("seatClaimId", .string(claim.id))])
    }

    private static func seatInfo(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let chain = try simulator.world.claimedChain(
            call.parameter("id"), in: call.environment, at: simulator.clock.now)
        let open = chain.group?.openClaims ?? []
        let free =
            simulator.world.claimableSeats(of: chain, at: simulator.clock.now) - Int64(open.count)
        return .ok([
            .init("totalSeatCount", .integer(chain.seats(at: simulator.clock.now))),
            .init("availableSeatCount", .integer(max(0, free))),
            .init("assignedSeatClaimIds", .array(open.map { .string($0.id) })),
        ])
    }

    private static func unclaimSeat(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        try simulator.world.unclaimSeat(
            call.uuid("claim", else: .seatClaimIDNotFound), of: call.parameter("id"),
            in: call.environment, at: simulator.clock.now)
        return APIResponse(200)
    }

    private static func associateSeat(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let app = try call.body()["appTransactionId"]?.string
        guard let app else { throw APIError.appTransactionIDNotFound }
        try simulator.world.associateSeat(
            call.uuid("claim", else: .seatClaimIDNotFound), with: app, of: call.parameter("id"),
            in: call.environment, at: simulator.clock.now)
        return APIResponse(200)
    }

    // MARK: - Groups

    private static func customerGroups(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let account = try simulator.world.account(ofAny: call.parameter("id"), in: call.environment)
        let chains = simulator.world.groups(of: account, at: simulator.clock.now)
        var groups = chains.map { chain -> JSON in
            var members = [JSON.Member("groupId", .string(chain.group?.id ?? ""))]
            let isOrganization = chain.group?.isOrganization == true
            members.append(.init("groupType", isOrganization ? "ORGANIZATION" : "CONSUMER"))
            if isOrganization {
                let role: JSON = [
                    "productId": .string(chain.latest.product.id), "role": "NONE",
                ]
                members.append(.init("roles", [role]))
            }
            return .object(members)
        }
        if !chains.contains(where: { $0.group?.isOrganization == false }) {
            groups.append([
                "groupId": .string(SeatEndpoints.placeholderGroup), "groupType": "ORGANIZATION",
                "roles": [],
            ])
        }
        return .ok([.init("groups", .array(groups))])
    }

    private static func groupMembers(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let id = call.parameter("id")
        guard TransactionIDs.isID(id) else { throw APIError.invalidGroupID }
        let limit = call.value("limit").map { Int($0) ?? 0 } ?? SeatEndpoints.membersMax
        guard (1...SeatEndpoints.membersMax).contains(limit) else { throw APIError.invalidLimit }
        let start = call.value("paginationToken").map { Int($0) ?? -1 } ?? 0
        let all =
            id == SeatEndpoints.placeholderGroup
            ? [SeatEndpoints.placeholderMember]
            : try simulator.world.members(
                ofGroup: id, in: call.environment, at: simulator.clock.now)
        guard (0...all.count).contains(start) else { throw APIError.invalidPaginationToken }
        let page = all[start...].prefix(limit)
        let hasMore = page.endIndex < all.count
        let token = JSON.Member("paginationToken", .string(String(page.endIndex)))
        return .ok(
            [
                .init("members", .array(page.map { ["appTransactionId": .string($0)] })),
                .init("hasMore", .bool(hasMore)),
            ] + (hasMore ? [token] : []))
    }
}

extension World {
    /// The running subscriptions in whose groups an account is, by Apple's invitation or by an
    /// organization. An account that the app invited is in no group.
    fileprivate func groups(of account: Account.Key, at now: AppStoreDate) -> [Subscription] {
        chains(of: account).compactMap { chain -> Subscription? in
            let source = chain.sharedBy.flatMap { subscriptions[$0] } ?? chain
            let isIn =
                chain.sharedBy == nil || sharings[source.id]?.seated.contains(account) == true
            let isAppleHosted = source.group.map { $0.invitations == .apple || $0.isOrganization }
            return isIn && isAppleHosted == true && source.isOpen(at: now) ? source : nil
        }
    }

    /// The app transaction ids of a group's members. The purchaser's id comes first, unless the
    /// purchaser is an organization.
    fileprivate func members(
        ofGroup id: String, in environment: SimulatedEnvironment, at now: AppStoreDate
    ) throws(APIError) -> [String] {
        let chain = subscriptions.all.first {
            $0.group?.id == id && $0.sharedBy == nil && $0.account.environment == environment
        }
        guard let chain, chain.isOpen(at: now), let group = chain.group,
            group.invitations == .apple || group.isOrganization
        else { throw .groupNotFound }
        let purchaser = group.isOrganization ? [] : [chain.account]
        return (purchaser + (sharings[chain.id]?.seated ?? [])).compactMap {
            accounts[$0]?.appTransactionID
        }
    }
}
