import AppStoreFormats

// The control plane's routes about seats and groups, except purchases and refunds.

/// What an organization does with a seat.
package enum OrganizationVerb: String, Hashable, Sendable, CaseIterable {
    case assign
    case unassign
}

extension SimulatorRoute {
    static let seatRoutes = [
        post(
            "/_sim/seats", "Changes what App Store Connect says about seats.",
            [
                Field("invitations", "string", "Who invites to new groups: apple, developer."),
                Field("sold", "object", "{product: false}: whether more seats are sold."),
            ], gives: .json("SeatSettings")
        ) { simulator, call in
            try await simulator.changeSeats(call.body)
            return .json(await simulator.seatSettings)
        }
    ]
}

extension AppStoreSimulator {
    /// Changes what App Store Connect says about seats. Running subscriptions do not change.
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

    /// Sets who invites members from now on, and which products are sold in seats.
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
    /// - Parameter seats: the number of seats that the organization buys when it assigns its first
    ///   seat; nil for the usual number.
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
