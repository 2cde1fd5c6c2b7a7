internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Buying seats

extension Engine {
    /// Throws if a number of seats cannot be bought. Called before the payment sheet is shown.
    ///
    /// - Parameter seats: the total number of seats after the purchase.
    func check(
        _ seats: Int, of product: Perennial.ProductID
    ) async throws(Perennial.Failure) {
        guard seats >= 1 else { throw .seatsNotPositive }
        let sold: StoreProduct?
        do { sold = try await store.products([product.rawValue]).first } catch {
            throw Perennial.Failure(error)
        }
        guard let sold else { throw Perennial.Failure(StoreError.productUnavailable) }
        guard !sold.seatTiers.isEmpty else { throw Perennial.Failure(StoreError.seatsNotSold) }
        guard let present = presentSeats(of: product) else { return }
        if seats < present { throw Perennial.Failure(StoreError.seatReduction) }
        if seats == present { throw .seatsUnchanged(seats) }
    }

    /// The number of seats for which the customer pays now, according to the App Store on this
    /// device. Nil if no subscription to the product is active.
    private func presentSeats(of product: Perennial.ProductID) -> Int? {
        let now = now
        let transactions = state.device.storeEvidence.transactions.values
        return transactions.filter {
            $0.productID == product.rawValue && $0.isRunningSubscription(at: now)
                && !$0.isPaidByAnother && verdict(on: $0.originalID) != .anotherPerson
        }.max { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
            .map { transactions.seats(inPeriodOf: $0) ?? 1 }
    }
}

extension Perennial.Failure {
    package static var seatsNotPositive: Self {
        Self(.seatsNotPositive, remedy: "Buy at least 1 seat.")
    }

    package static func seatsUnchanged(_ seats: Int) -> Self {
        Self(
            .seatsUnchanged,
            remedy:
                "The subscription has \(seats) seats already. Pass the total after the purchase.")
    }
}

extension StoreTransaction {
    /// Whether another person or an organization pays: a member of the family, or the purchaser of
    /// a group.
    fileprivate var isPaidByAnother: Bool { isFamilyShared || details.ownership == "ASSIGNED" }
}

// MARK: - Members

extension Engine {
    /// The maximum number of pages of members that are read.
    static let seatPagesMax = 200

    func seats(
        of subscription: String
    ) async throws(Perennial.Failure) -> Perennial.SeatGroup {
        let customer = try await seatHolder()
        var group = try await seatPage(of: subscription, after: nil, for: customer)
        for _ in 1..<Self.seatPagesMax {
            guard let cursor = group.nextCursor else { break }
            let page = try await seatPage(of: subscription, after: cursor, for: customer)
            group.claims += page.claims
            group.nextCursor = page.nextCursor
        }
        guard group.invitations == .developer else { return Perennial.SeatGroup(group, []) }
        let invitations = try await response(
            SeatInvitationList.self,
            to: .get(
                Paths.invitations(of: subscription), query: seatQuery(customer), for: customer,
                within: configuration.patience))
        return Perennial.SeatGroup(group, invitations.items)
    }

    private func seatPage(
        of subscription: String, after cursor: String?, for customer: String
    ) async throws(Perennial.Failure) -> SeatGroup {
        var query = seatQuery(customer)
        query["after"] = cursor
        return try await response(
            SeatGroup.self,
            to: .get(
                Paths.seats(of: subscription), query: query, for: customer,
                within: configuration.patience))
    }

    func inviteToSeat(
        of subscription: String, for invited: String?, within seconds: TimeInterval?
    ) async throws(Perennial.Failure) -> Perennial.SeatInvitation {
        let customer = try await seatHolder()
        let body = SeatInvitationRequest(
            customerID: invited, expiresInSeconds: seconds.map(Self.wholeSeconds))
        let invitation = try await response(
            SeatInvitation.self,
            to: .post(
                Paths.invitations(of: subscription), body, query: seatQuery(customer),
                for: customer, within: configuration.patience))
        return Perennial.SeatInvitation(invitation)
    }

    /// A length of time in whole seconds. The server decides whether the length is allowed.
    private static func wholeSeconds(_ seconds: TimeInterval) -> Int {
        Int(exactly: seconds.rounded()) ?? 0
    }

    func withdrawInvitation(
        _ invitation: String, of subscription: String
    ) async throws(Perennial.Failure) {
        let customer = try await seatHolder()
        try await delete(Paths.invitation(invitation, of: subscription), for: customer)
    }

    func claimSeat(_ token: String) async throws(Perennial.Failure) -> Perennial.Snapshot {
        let customer = try await seatHolder()
        _ = try await response(
            SeatClaim.self,
            to: .post(
                Paths.seatClaims, SeatClaimRequest(customerID: customer, token: token),
                query: environmentQuery, for: customer, within: configuration.patience))
        return try await fetchSeatChange()
    }

    /// Ends a claim: the customer's own claim, or a claim in the customer's group.
    func releaseSeat(_ claim: String) async throws(Perennial.Failure) {
        let customer = try await seatHolder()
        try await delete(Paths.seatClaim(claim), for: customer)
        // The answer about the customer shows whose claim it was.
        _ = try await fetchSeatChange()
    }

    /// Requests what the customer may use after a claim began or ended.
    private func fetchSeatChange() async throws(Perennial.Failure) -> Perennial.Snapshot {
        session.require(.customer)
        try await fetchCustomer(within: configuration.patience)
        return publisher.snapshot
    }

    private func seatHolder() async throws(Perennial.Failure) -> String {
        await open()
        guard let id = state.device.customerID else {
            throw Perennial.Failure(.customerMissing, remedy: "Call `identify` first.")
        }
        return id
    }

    private func seatQuery(_ customer: String) -> [String: String] {
        environmentQuery.merging(["customer_id": customer]) { $1 }
    }

    private func delete(
        _ path: String, for customer: String
    ) async throws(Perennial.Failure) {
        let request = ServerRequest(
            method: "DELETE", path: path, query: seatQuery(customer), customer: customer,
            timeout: configuration.patience)
        do { _ = try await send(request) } catch { throw error.failure }
    }

    private func response<Value: Decodable>(
        _ type: Value.Type, to request: ServerRequest
    ) async throws(Perennial.Failure) -> Value {
        do { return try await send(request).decode(type) } catch { throw error.failure }
    }
}

// MARK: - Answers of the server

extension Perennial.SeatGroup {
    fileprivate init(
        _ group: PerennialContract.SeatGroup, _ invitations: [PerennialContract.SeatInvitation]
    ) {
        self.init(
            id: group.originalTransactionID, product: .init(rawValue: group.productID),
            host: .init(rawValue: group.invitations.rawValue), seats: group.seats,
            seatsAtRenewal: group.seatsAtRenewal, available: group.available,
            members: group.claims.map(Perennial.SeatMember.init),
            invitations: invitations.map(Perennial.SeatInvitation.init),
            until: group.endsAt?.date)
    }
}

extension Perennial.SeatMember {
    fileprivate init(_ claim: SeatClaim) {
        self.init(
            id: claim.claimID, customer: claim.customerID,
            standing: .init(rawValue: claim.standing.rawValue), since: claim.claimedAt.date)
    }
}

extension Perennial.SeatInvitation {
    fileprivate init(_ invitation: PerennialContract.SeatInvitation) {
        self.init(
            id: invitation.invitationID, token: invitation.token, customer: invitation.customerID,
            expires: invitation.expiresAt.date)
    }
}
