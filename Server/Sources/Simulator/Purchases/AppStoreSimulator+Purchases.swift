import AppStoreFormats

// Purchases and other actions on devices. Called by the routes and by tests.

/// The result of an order.
package enum PurchaseOutcome: Hashable, Sendable {
    case purchased(PurchasedTransaction)
    /// The purchase waits for a parent's or the customer's decision, under this id and for this
    /// reason.
    case pending(id: String, reason: String)
    case cancelled
    /// The purchase failed. The value is StoreKit's name for the error.
    case failed(String)

    /// The purchased transaction. Throws if the purchase is pending, cancelled or failed.
    package func bought() throws(SimulatorProblem) -> PurchasedTransaction {
        switch self {
        case .purchased(let answer): return answer
        case .pending(let id, let reason):
            throw SimulatorProblem(
                "purchase_pending", "The purchase is pending: \(reason).",
                remedy: "POST /_sim/transactions/\(id)/approve, or /resolve.")
        case .cancelled, .failed:
            throw SimulatorProblem(
                "purchase_failed", "The purchase was cancelled or failed.",
                remedy: "Omit `choice`, and `fails_purchases` in the reset.")
        }
    }
}

extension AppStoreSimulator {
    /// Places an order, now or at a later moment to which the clock then moves.
    @discardableResult
    package func order(
        _ order: PurchaseOrder, on deviceID: String, at moment: AppStoreDate? = nil
    ) async throws -> PurchaseOutcome {
        if let obstacle = try obstacle(on: deviceID) { return obstacle }
        let (sale, _) = try await perform(at: moment) { world, now throws(SimulatorProblem) in
            try world.place(order, on: deviceID, at: now)
        }
        switch sale {
        case .purchased(let transaction):
            phones[deviceID, default: Phone()].announced[transaction.id] = AnnouncedState(
                transaction)
            return .purchased(try show(purchased: transaction, on: deviceID))
        case .pending(let pending): return .pending(id: pending.id, reason: pending.reason.rawValue)
        case .cancelled: return .cancelled
        case .failed(let error): return .failed(error)
        }
    }

    /// Approves, declines or resolves a pending purchase. Returns what was bought, if anything.
    @discardableResult
    package func resolve(pending id: String, _ verb: PendingVerb) async throws
        -> PurchasedTransaction?
    {
        let asked = world.pendingPurchases[id]?.deviceID
        let (transaction, _) = try await perform { world, now throws(SimulatorProblem) in
            try world.resolve(pending: id, verb, at: now)
        }
        // The transaction reaches all of the account's devices through their updates. The result is
        // that of the device that ordered.
        return try transaction.map {
            try show(purchased: $0, on: asked ?? "\($0.account.name)-1")
        }
    }

    /// Stops sharing a purchase with the family, or with the member whose share is named.
    package func stopSharing(_ id: String) async throws {
        _ = try await perform { world, _ throws(SimulatorProblem) in
            try world.stopSharing(id)
            return ((), [])
        }
    }

    /// Adds an account to a family, or removes it.
    package func changeFamily(
        _ name: String, _ verb: FamilyVerb, account: String, in environment: SimulatedEnvironment
    ) async throws {
        let key = Account.Key(name: account, environment: environment)
        _ = try await perform { world, _ throws(SimulatorProblem) in
            guard world.accounts[key] != nil else { throw .unknownAccount(account) }
            switch verb {
            case .join: try world.join(name, key)
            case .leave: try world.leave(name, key)
            }
            return ((), [])
        }
    }

    /// Signs another account in on a device. From then on the device shows that account's
    /// purchases, also in update streams that are already open.
    package func signIn(
        _ account: String, on deviceID: String, storefront country: String? = nil
    ) async throws {
        let storefront = try country.map { country throws(SimulatorProblem) in
            guard let found = Storefront.named(country) else {
                throw .unknownStorefront(country)
            }
            return found
        }
        let (device, _) = try await perform { world, now throws(SimulatorProblem) in
            let account = world.accountName(account, on: deviceID)
            return (try world.signIn(account, on: deviceID, storefront: storefront, at: now), [])
        }
        listeners.move(device)
    }
}

/// What an account does with a family.
package enum FamilyVerb: String, Hashable, Sendable, CaseIterable {
    case join
    case leave
}
