import AppStoreFormats

// The control plane's routes about seats and groups, besides purchases and refunds.

/// Who gets a seat or loses it.
enum SeatVerb: String, Hashable, Sendable, CaseIterable {
    case join = "join-group"
    case leave = "leave-group"

    fileprivate var summary: String {
        switch self {
        case .join: "An account accepts the purchaser's invitation by Apple's link."
        case .leave: "A member leaves the group, or the purchaser removes them."
        }
    }
}

/// What an organization does with a seat.
package enum OrganizationVerb: String, Hashable, Sendable, CaseIterable {
    case assign
    case unassign

    fileprivate var summary: String {
        switch self {
        case .assign: "An organization assigns a seat to an account; it buys seats first if needed."
        case .unassign: "An organization takes a seat back."
        }
    }
}

extension SimulatorRoute {
    static let seatRoutes =
        [
            post(
                "/_sim/seats", "What App Store Connect says about seats from now on.",
                [
                    Field("invitations", "string", "For groups that begin: apple or developer."),
                    Field("sold", "object", "{product: false}: whether more seats are sold."),
                ], gives: .json("SeatSettings")
            ) { simulator, call in
                try await simulator.changeSeats(call.body)
                return .json(await simulator.seatSettings)
            },
            post(
                "/_sim/subscriptions/{id}/change-seats",
                "The purchaser plans the seats of the next period.",
                [Field("seats", "integer", "How many; not more than now.")],
                gives: .json("VerbAnswer")
            ) { simulator, call in
                guard let seats = try call.body.integer("seats") else {
                    throw RequestBody.invalidField("seats", "a number")
                }
                let id = try await simulator.originalTransactionID(named: call.parameter("id"))
                return .json(try await simulator.change(id, .changeSeats(seats)).json)
            },
        ] + SeatVerb.allCases.map(groupRoute) + OrganizationVerb.allCases.map(organizationRoute)

    private static let accountField = Field("account", "string", "The Apple account's name.")

    private static func groupRoute(_ verb: SeatVerb) -> Self {
        post(
            "/_sim/subscriptions/{id}/\(verb.rawValue)", verb.summary, [accountField],
            gives: .json("VerbAnswer")
        ) { simulator, call in
            let id = try await simulator.originalTransactionID(named: call.parameter("id"))
            let account = try call.body.requiredString("account")
            let act: SubscriptionAct =
                switch verb {
                case .join: .joinGroup(account)
                case .leave: .leaveGroup(account)
                }
            return .json(try await simulator.change(id, act).json)
        }
    }

    private static func organizationRoute(_ verb: OrganizationVerb) -> Self {
        post(
            "/_sim/organizations/{id}/\(verb.rawValue)", verb.summary,
            [
                accountField, Field("product_id", "string", "Which subscription."),
                Field("seats", "integer", "How many it buys first; 100 by default."),
                Field("environment", "string", "production (default) or sandbox."),
            ], gives: .json("Clock")
        ) { simulator, call in
            try await simulator.changeOrganization(
                call.parameter("id"), verb, call.body.requiredString("product_id"),
                account: call.body.requiredString("account"), in: environment(call.body),
                seats: call.body.integer("seats"))
            return .json(await simulator.clockJSON)
        }
    }
}

extension AppStoreSimulator {
    /// Changes what App Store Connect says about seats. Subscriptions that run keep what they have.
    fileprivate func changeSeats(_ body: RequestBody) async throws {
        let (invitations, sales) = try seatChange(in: body)
        try await changeSeats(invitations, sales)
    }

    private func changeSeats(
        _ invitations: SeatInvitations?, _ sales: [String: Bool]
    ) async throws {
        _ = try await perform { world, _ throws(SimulatorProblem) in
            world.seatInvitations = invitations ?? world.seatInvitations
            for (product, isSold) in sales {
                if isSold {
                    world.productsWithoutSeats.remove(product)
                } else {
                    world.productsWithoutSeats.insert(product)
                }
            }
            return ((), [])
        }
    }

    /// Who invites members from now on, and which products are sold in seats.
    ///
    /// Never inlined: the optimiser of Swift 6.3.1 crashes on this loop in an asynchronous
    /// function.
    @inline(never)
    private func seatChange(
        in body: RequestBody
    ) throws -> (invitations: SeatInvitations?, sales: [String: Bool]) {
        let invitations = try body.word("invitations", SeatInvitations.self)
        var sold: [String: Bool] = [:]
        for product in body.value("sold")?.members ?? [] {
            guard let isSold = product.value.bool else {
                throw RequestBody.invalidField("sold.\(product.key)", "true or false")
            }
            guard settings.rules.seats.sells(product.key) else {
                throw SimulatorProblem.badRequest(
                    "The product \(product.key) has no seats.",
                    remedy: "Name it in `multi_seat` of POST /_sim/reset.")
            }
            sold[product.key] = isSold
        }
        return (invitations, sold)
    }

    fileprivate var seatSettings: JSON {
        let sold = settings.shop.products.filter { settings.rules.seats.sells($0.id) }.map {
            JSON.Member($0.id, .bool(!world.productsWithoutSeats.contains($0.id)))
        }
        return [
            "invitations": .string(world.seatInvitations.rawValue), "sold": .object(sold),
        ]
    }

    /// An organization assigns a seat, or takes it back.
    ///
    /// - Parameter seats: how many it buys with the first one; nil for the usual number.
    package func changeOrganization(
        _ name: String, _ verb: OrganizationVerb, _ productID: String, account: String,
        in environment: SimulatedEnvironment = .production, seats: Int64? = nil
    ) async throws {
        _ = try await perform { world, now throws(SimulatorProblem) in
            let notices: [NotificationDraft]
            switch verb {
            case .assign:
                notices = try world.assignSeat(
                    of: name, productID, to: account, in: environment, seats: seats, at: now)
            case .unassign:
                notices = try world.unassignSeat(
                    of: name, productID, from: account, in: environment)
            }
            return ((), notices)
        }
    }
}
