import AppStoreFormats

// Buying, and what else happens on the buying side. The routes call these, and tests do.

/// How an order ended.
package enum PurchaseOutcome: Hashable, Sendable {
    case purchased(PurchaseAnswer)
    /// It waits for a parent's word or the customer's: by this id, and for this reason.
    case pending(id: String, reason: String)
    case cancelled
    /// With StoreKit's word for the error.
    case failed(String)

    /// What was bought, where it was.
    package func bought() throws(StoreProblem) -> PurchaseAnswer {
        switch self {
        case .purchased(let answer): return answer
        case .pending(let id, let reason):
            throw StoreProblem(
                "purchase_pending", "The purchase waits: \(reason).",
                remedy: "POST /_sim/transactions/\(id)/approve, or /resolve.")
        case .cancelled, .failed:
            throw StoreProblem(
                "purchase_failed", "The purchase was cancelled, or failed.",
                remedy: "Leave out `choice`, and `fails_purchases` at the reset.")
        }
    }
}

extension AppStoreSimulator {
    /// Takes an order, now or at a later moment to which the clock then moves.
    @discardableResult
    package func order(
        _ order: PurchaseOrder, on deviceID: String, at moment: AppStoreDate? = nil
    ) async throws -> PurchaseOutcome {
        let (sale, _) = try await perform(at: moment) { world, now throws(StoreProblem) in
            try world.take(order, on: deviceID, at: now)
        }
        switch sale {
        case .purchased(let transaction):
            return .purchased(try show(purchased: transaction, on: deviceID))
        case .pending(let pending): return .pending(id: pending.id, reason: pending.reason.rawValue)
        case .cancelled: return .cancelled
        case .failed(let error): return .failed(error)
        }
    }

    /// Approves, declines or resolves a purchase that waits. Returns what was bought, if anything.
    @discardableResult
    package func settle(pending id: String, _ verb: PendingVerb) async throws -> PurchaseAnswer? {
        let asked = world.pendingPurchases[id]?.deviceID
        let (transaction, _) = try await perform { world, now throws(StoreProblem) in
            try world.settle(pending: id, verb, at: now)
        }
        // It reaches the account's devices by their updates; the one that asked stands for them.
        return try transaction.map {
            try show(purchased: $0, on: asked ?? "\($0.account.name)-1")
        }
    }

    /// Redeems a code for a subscription that runs or is over.
    @discardableResult
    package func redeemCode(
        _ originalTransactionID: String, offer: String, productID: String? = nil
    ) async throws -> VerbAnswer {
        try await answer(originalTransactionID) { world, now throws(StoreProblem) in
            try world.redeemCode(
                originalTransactionID, offerID: offer, productID: productID, at: now)
        }
    }

    /// Takes a win-back offer for a subscription that is over: the one named, or the first.
    @discardableResult
    package func winBack(
        _ originalTransactionID: String, offer: String? = nil, productID: String? = nil
    ) async throws -> VerbAnswer {
        try await answer(originalTransactionID) { world, now throws(StoreProblem) in
            try world.winBack(originalTransactionID, offerID: offer, productID: productID, at: now)
        }
    }

    /// Stops sharing a purchase with the family, or with the member whose part is named.
    package func stopSharing(_ id: String) async throws {
        _ = try await perform { world, _ throws(StoreProblem) in
            try world.stopSharing(id)
            return ((), [])
        }
    }

    /// Lets an account into a family, or out of it.
    package func changeFamily(
        _ name: String, _ verb: FamilyVerb, account: String, in environment: SimulatedEnvironment
    ) async throws {
        let key = Account.Key(name: account, environment: environment)
        _ = try await perform { world, _ throws(StoreProblem) in
            guard world.accounts[key] != nil else { throw .unknownAccount(account) }
            switch verb {
            case .join: try world.join(name, key)
            case .leave: try world.leave(name, key)
            }
            return ((), [])
        }
    }

    /// Notes that a device's app has finished a transaction. Harmless to repeat.
    package func finish(_ transactionID: String, on deviceID: String) async throws {
        _ = try await perform { world, _ throws(StoreProblem) in
            let account = try world.device(deviceID).account
            let id = world.ownID(of: transactionID)
            guard world.transactions(of: account).contains(where: { $0.id == id }) else {
                throw .unknownTransaction(transactionID)
            }
            world.finished.insert(id)
            return ((), [])
        }
    }

    /// The transactions that a device's app has not finished yet, oldest first.
    package func unfinished(on deviceID: String) throws -> [String] {
        let device = try world.device(deviceID)
        let all = world.transactions(of: device.account).filter {
            !world.finished.contains($0.id)
        }
        return try show(all, as: .unfinished, on: device)
    }

    /// Signs another account in on a device. What the device shows is that account's from then on,
    /// also in streams of updates that are open.
    package func signIn(
        _ account: String, on deviceID: String, storefront country: String? = nil
    ) async throws {
        let storefront = try country.map { country throws(StoreProblem) in
            guard let found = Storefront.named(country) else {
                throw .unknownStorefront(country)
            }
            return found
        }
        let (device, _) = try await perform { world, now throws(StoreProblem) in
            (try world.signIn(account, on: deviceID, storefront: storefront, at: now), [])
        }
        listeners.move(device)
    }
}

/// What an account does with a family.
package enum FamilyVerb: String, Hashable, Sendable, CaseIterable {
    case join
    case leave
}
