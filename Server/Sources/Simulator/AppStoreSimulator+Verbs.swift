import AppStoreFormats

// What accounts and their owners do. The routes call these, and tests do.

/// What a device has after a purchase.
package struct PurchaseAnswer: Hashable, Sendable {
    package let signedTransaction: String
    package let transactionID: String
    package let originalTransactionID: String
}

/// What a verb has done.
package struct VerbAnswer: Sendable {
    package let now: AppStoreDate
    /// As the books have it afterwards.
    package let purchase: BookedPurchase
    /// What was notified.
    package let notices: [Notice]
}

extension AppStoreSimulator {
    /// Adds a device, and its account where that is new. Returns the device's id, such as `anna-1`.
    @discardableResult
    package func addDevice(
        account: String, environment: SimulatedEnvironment = .production,
        storefront country: String? = nil, appAccountToken: String? = nil, pace: Pace? = nil
    ) async throws -> String {
        let country = country ?? settings.shop.settings.storefront ?? "USA"
        guard let storefront = Storefront.named(country) else {
            let known = Storefront.all.map(\.country).joined(separator: ", ")
            throw StoreProblem(
                "unknown_storefront", status: 400, "There is no storefront \(country).",
                remedy: "Choose one of \(known).")
        }
        let (device, _) = try await perform { world, now throws(StoreProblem) in
            let device = try world.addDevice(
                account: account, environment: environment, storefront: storefront,
                appAccountToken: appAccountToken, pace: pace, at: now)
            return (device, [])
        }
        return device.id
    }

    /// Buys on a device, now or at a later moment to which the clock then moves.
    package func purchase(
        _ order: PurchaseOrder, on deviceID: String, at moment: AppStoreDate? = nil
    ) async throws -> PurchaseAnswer {
        let ((payload, id, original), _) = try await perform(at: moment) {
            world, now throws(StoreProblem) in
            let (transaction, notices) = try world.purchase(order, on: deviceID, at: now)
            let payload = world.payload(of: transaction, at: now)
            return ((payload, transaction.id, transaction.originalID), notices)
        }
        return PurchaseAnswer(
            signedTransaction: try authority.sign(payload.json), transactionID: id,
            originalTransactionID: original)
    }

    /// Does something to a subscription.
    @discardableResult
    package func change(
        _ originalTransactionID: String, _ act: SubscriptionAct
    ) async throws -> VerbAnswer {
        try await answer(originalTransactionID) { world, now throws(StoreProblem) in
            try world.apply(act, to: originalTransactionID, at: now)
        }
    }

    /// Does something to one transaction, of a subscription or not.
    @discardableResult
    package func change(transaction id: String, _ act: TransactionAct) async throws -> VerbAnswer {
        try await answer(id) { world, now throws(StoreProblem) in
            try world.apply(act, toTransaction: id, at: now)
        }
    }

    /// Orders an extension for every active subscriber of a product.
    package func massExtend(_ wish: MassExtension) async throws {
        _ = try await perform { world, now throws(StoreProblem) in
            try world.massExtend(wish, at: now)
            return ((), [])
        }
    }

    /// Takes in what the app says about a purchase that Apple has asked about.
    package func consumption(
        _ answer: ConsumptionAnswer, of transactionID: String
    ) async throws {
        _ = try await perform { world, now throws(StoreProblem) in
            try world.consumption(answer, of: transactionID, at: now)
            return ((), [])
        }
    }

    /// Sends a notification that no purchase brings about.
    func announce(
        _ notice: (inout World, AppStoreDate) throws(StoreProblem) -> Notice
    ) async throws -> Notice {
        try await perform { world, now throws(StoreProblem) in
            let notice = try notice(&world, now)
            return (notice, [notice])
        }.0
    }

    private func answer(
        _ id: String, _ verb: (inout World, AppStoreDate) throws(StoreProblem) -> [Notice]
    ) async throws -> VerbAnswer {
        let ((purchase, now), notices) = try await perform { world, now throws(StoreProblem) in
            let notices = try verb(&world, now)
            return ((try world.book(id, at: now), now), notices)
        }
        return VerbAnswer(now: now, purchase: purchase, notices: notices)
    }

    /// What a route names a subscription by: its original transaction id, or `ACCOUNT:PRODUCT`,
    /// which a person can type.
    func originalTransactionID(named name: String) throws(StoreProblem) -> String {
        guard let colon = name.lastIndex(of: ":") else { return name }
        let product = String(name[name.index(after: colon)...])
        let books = try truth(of: String(name[..<colon]))
        let chains = books.purchases.filter { $0.renewsTo != nil }
        let found =
            chains.last { $0.productID == product } ?? chains.last { $0.renewsTo == product }
        guard let found else { throw .unknownSubscription(name) }
        return found.originalTransactionID
    }

    /// The simulator's verdict on what an account may use now.
    package func truth(of account: String) throws(StoreProblem) -> Books {
        try world.books(of: account, at: clock.now)
    }
}
