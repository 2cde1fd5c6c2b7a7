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

/// What can be done to a subscription from outside, by the name it has in the routes.
package enum SubscriptionVerb: String, Hashable, Sendable, CaseIterable {
    case cancel
    case resume
    case changeProduct = "change-product"
    case failBilling = "fail-billing"
    case recoverBilling = "recover-billing"
    case refund
    case reverseRefund = "reverse-refund"
    case expire
    case renewNow = "renew-now"
}

/// What can be done to a single transaction.
package enum TransactionVerb: String, Hashable, Sendable, CaseIterable {
    case refund
    case reverseRefund = "reverse-refund"
}

extension AppStoreSimulator {
    /// Adds a device, and its account where that is new. Returns the device's id, such as `anna-1`.
    @discardableResult
    package func addDevice(
        account: String, environment: SimulatedEnvironment = .production,
        storefront country: String? = nil, appAccountToken: String? = nil
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
                appAccountToken: appAccountToken, at: now)
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
    ///
    /// - Parameters:
    ///   - productID: what to change to; only for ``SubscriptionVerb/changeProduct``.
    ///   - transactionID: what to refund or reverse; without it the latest transaction for which
    ///     that is possible.
    @discardableResult
    package func change(
        _ originalTransactionID: String, _ verb: SubscriptionVerb, productID: String? = nil,
        transactionID: String? = nil
    ) async throws -> VerbAnswer {
        try await answer(originalTransactionID) { world, now throws(StoreProblem) in
            try world.apply(
                verb, to: originalTransactionID, productID: productID,
                transactionID: transactionID, at: now)
        }
    }

    /// Does something to one transaction, of a subscription or not.
    @discardableResult
    package func change(
        transaction id: String, _ verb: TransactionVerb
    ) async throws -> VerbAnswer {
        try await answer(id) { world, now throws(StoreProblem) in
            switch verb {
            case .refund: try world.refund(id, at: now)
            case .reverseRefund: try world.reverseRefund(id, at: now)
            }
        }
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

extension World {
    fileprivate mutating func apply(
        _ verb: SubscriptionVerb, to id: String, productID: String?, transactionID: String?,
        at now: AppStoreDate
    ) throws(StoreProblem) -> [Notice] {
        switch verb {
        case .cancel: return try cancel(id, at: now)
        case .resume: return try resume(id, at: now)
        case .failBilling: return try failBilling(id)
        case .recoverBilling: return try recoverBilling(id, at: now)
        case .expire: return try expire(id, at: now)
        case .renewNow: return try renewNow(id, at: now)
        case .changeProduct:
            guard let productID else {
                throw .badRequest(
                    "There is no product to change to.",
                    remedy: "Send {\"product_id\": \"…\"}, a product of the same group.")
            }
            return try changeProduct(id, to: productID, at: now)
        case .refund:
            let chosen = try target(transactionID, of: id, isRefunded: false)
            return try refund(chosen, at: now)
        case .reverseRefund:
            let chosen = try target(transactionID, of: id, isRefunded: true)
            return try reverseRefund(chosen, at: now)
        }
    }

    private func target(
        _ transactionID: String?, of id: String, isRefunded: Bool
    ) throws(StoreProblem) -> String {
        guard let transactionID else { return try refundable(id, isRefunded: isRefunded) }
        guard chainOfTransaction[transactionID] == id else {
            throw .unknownTransaction(transactionID)
        }
        return transactionID
    }
}
