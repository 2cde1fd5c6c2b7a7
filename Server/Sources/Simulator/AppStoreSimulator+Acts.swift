import AppStoreFormats

// The actions of accounts and their owners. Called by the routes and by tests.

/// What a device receives after a purchase.
package struct PurchasedTransaction: Hashable, Sendable {
    package let signedTransaction: String
    package let transactionID: String
    package let originalTransactionID: String
}

/// The result of a verb.
package struct VerbOutcome: Sendable {
    package let now: AppStoreDate
    /// The purchase after the change, from the ground truth.
    package let purchase: TruePurchase
    /// The notifications that were sent.
    package let notifications: [NotificationDraft]
}

extension AppStoreSimulator {
    /// Adds a device, and its account if that is new. Returns the device's id, such as `anna-1`.
    @discardableResult
    package func addDevice(
        account: String, environment: SimulatedEnvironment = .production,
        storefront country: String? = nil, appAccountToken: String? = nil, pace: Pace? = nil,
        family: String? = nil, asksToBuy: Bool? = nil
    ) async throws -> String {
        let country = country ?? settings.shop.settings.storefront ?? "USA"
        guard let storefront = Storefront.named(country) else {
            throw SimulatorProblem.unknownStorefront(country)
        }
        let (device, _) = try await perform { world, now throws(SimulatorProblem) in
            let device = try world.addDevice(
                account: account, environment: environment, storefront: storefront,
                appAccountToken: appAccountToken, pace: pace, family: family, at: now)
            if let asksToBuy { world.accounts[device.account]?.asksToBuy = asksToBuy }
            return (device, [])
        }
        return device.id
    }

    /// Buys on a device, now or at a later moment to which the clock then moves.
    ///
    /// - Throws: ``SimulatorProblem``, also if the purchase is pending, cancelled or failed; see
    ///   ``order(_:on:at:)``.
    @discardableResult
    package func purchase(
        _ order: PurchaseOrder, on deviceID: String, at moment: AppStoreDate? = nil
    ) async throws -> PurchasedTransaction {
        try await self.order(order, on: deviceID, at: moment).bought()
    }

    /// Applies an act to a subscription.
    @discardableResult
    package func change(
        _ originalTransactionID: String, _ act: SubscriptionAct
    ) async throws -> VerbOutcome {
        try await performVerb(originalTransactionID) { world, now throws(SimulatorProblem) in
            try world.apply(act, to: originalTransactionID, at: now)
        }
    }

    /// Applies an act to one transaction: a period of a subscription, or a one-time purchase.
    @discardableResult
    package func change(transaction id: String, _ act: TransactionAct) async throws -> VerbOutcome {
        try await performVerb(id) { world, now throws(SimulatorProblem) in
            try world.apply(act, toTransaction: id, at: now)
        }
    }

    /// Requests an extension for every active subscriber of a product.
    func massExtend(_ wish: MassExtension) async throws {
        _ = try await perform { world, now throws(SimulatorProblem) in
            try world.massExtend(wish, at: now)
            return ((), [])
        }
    }

    /// Records the app's response to a consumption request.
    package func recordConsumption(
        _ answer: ConsumptionReply, of transactionID: String
    ) async throws {
        _ = try await perform { world, now throws(SimulatorProblem) in
            try world.recordConsumption(answer, of: transactionID, at: now)
            return ((), [])
        }
    }

    /// Sends a notification that does not come from a purchase.
    func emit(
        _ notice: (inout World, AppStoreDate) throws(SimulatorProblem) -> NotificationDraft
    ) async throws -> NotificationDraft {
        try await perform { world, now throws(SimulatorProblem) in
            let notice = try notice(&world, now)
            return (notice, [notice])
        }.0
    }

    private func performVerb(
        _ id: String,
        _ verb: (inout World, AppStoreDate) throws(SimulatorProblem) -> [NotificationDraft]
    ) async throws -> VerbOutcome {
        let ((purchase, now), notices) = try await perform { world, now throws(SimulatorProblem) in
            let notices = try verb(&world, now)
            return ((try TrueBooks(world).truePurchase(id, at: now), now), notices)
        }
        return VerbOutcome(now: now, purchase: purchase, notifications: notices)
    }

    /// Resolves the name of a subscription in a route: either its original transaction id, or
    /// `ACCOUNT:PRODUCT`, which a person can type. A subscription that the account bought takes
    /// precedence over a subscription that the account has by Family Sharing.
    func originalTransactionID(named name: String) throws(SimulatorProblem) -> String {
        guard let colon = name.lastIndex(of: ":") else { return name }
        let product = String(name[name.index(after: colon)...])
        let books = try groundTruth(of: String(name[..<colon]))
        let chains = books.purchases.filter { $0.renewsTo != nil }
        var found = chains.filter { $0.productID == product }
        if found.isEmpty { found = chains.filter { $0.renewsTo == product } }
        let bought = found.filter { $0.ownership == .purchased }
        if !bought.isEmpty { found = bought }
        guard let only = found.first else {
            throw .unknownSubscription(
                to: product, of: String(name[..<colon]), has: Set(chains.map(\.productID)).sorted())
        }
        guard found.count == 1 else {
            throw .ambiguousSubscription(name, ids: found.map(\.originalTransactionID))
        }
        return only.originalTransactionID
    }

    /// The ground truth: what an account may use now.
    package func groundTruth(of account: String) throws(SimulatorProblem) -> GroundTruth {
        try TrueBooks(world).groundTruth(of: account, at: clock.now)
    }
}
