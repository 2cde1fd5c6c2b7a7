import AppStoreFormats

// Notifications that do not come from a customer's purchase: tests, external purchase tokens,
// withdrawn consent, and changes that the developer makes through Advanced Commerce.

/// A token that the app received for a purchase outside the App Store.
package struct ExternalTokenOrder: Hashable, Sendable {
    package enum Occasion: String, Hashable, Sendable, CaseIterable {
        case created = "CREATED"
        case unreported = "UNREPORTED"
        case activeTokenReminder = "ACTIVE_TOKEN_REMINDER"
    }

    package var occasion = Occasion.unreported
    /// `SERVICES`, `ACQUISITION` or `CORE_TECHNOLOGY`. If nil, the field is omitted.
    package var tokenType: String?

    package init(_ occasion: Occasion = .unreported, tokenType: String? = nil) {
        self.occasion = occasion
        self.tokenType = tokenType
    }
}

/// A developer's change of an Advanced Commerce subscription.
package struct AdvancedCommerceChange: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case metadataUpdate = "METADATA_UPDATE"
        case migration = "MIGRATION"
        case priceChange = "PRICE_CHANGE"
    }

    package var kind: Kind
    package var displayName: String?
    package var description: String?
    /// The new price in thousandths of the currency unit; only for ``Kind/priceChange``.
    package var price: Int64?
    /// The SKUs of the subscription's items; only for ``Kind/migration``. By default the product's
    /// id.
    package var skus: [String]?

    package init(
        _ kind: Kind, displayName: String? = nil, description: String? = nil, price: Int64? = nil,
        skus: [String]? = nil
    ) {
        self.kind = kind
        self.displayName = displayName
        self.description = description
        self.price = price
        self.skus = skus
    }
}

extension World {
    /// Makes a test notification.
    mutating func testNotification(
        in environment: SimulatedEnvironment, at now: AppStoreDate
    ) -> NotificationDraft {
        draft(.test, nil, about: .test, in: environment, row: .test, at: now)
    }

    /// Makes a reminder of a purchase outside the App Store.
    mutating func externalPurchaseToken(
        _ order: ExternalTokenOrder, in environment: SimulatedEnvironment, at now: AppStoreDate
    ) -> NotificationDraft {
        var token = ExternalPurchaseToken()
        // Only the id's prefix shows the environment of the token.
        token.externalPurchaseId = (environment == .sandbox ? "SANDBOX_" : "") + numbers.newUUID()
        token.tokenCreationDate = now
        token.tokenType = order.tokenType
        token.appAppleId = environment == .production ? settings.appAppleID : nil
        token.bundleId = settings.bundleID
        return draft(
            .externalPurchaseToken, NotificationSubtype(rawValue: order.occasion.rawValue),
            about: .externalPurchaseToken(token), in: environment, row: .externalPurchaseToken,
            at: now)
    }

    /// Makes the notification that parents withdrew their consent to a child's use of the app.
    mutating func rescindConsent(
        of account: String, in environment: SimulatedEnvironment, at now: AppStoreDate
    ) throws(SimulatorProblem) -> NotificationDraft {
        let key = Account.Key(name: account, environment: environment)
        let app = try appTransaction(of: key, at: now)
        return draft(
            .rescindConsent, nil, about: .app(app), account: account, in: environment,
            row: .consentRescinded, at: now)
    }

    /// Changes a subscription as the Advanced Commerce API does. The first change must be a
    /// migration.
    mutating func changeAdvancedCommerce(
        _ id: String, _ change: AdvancedCommerceChange, at now: AppStoreDate
    ) throws(SimulatorProblem) -> NotificationDraft {
        var subscription = try running(id)
        guard (change.kind == .migration) == (subscription.advancedCommerce == nil) else {
            throw .wrongState(
                "The subscription \(id) \(change.kind == .migration ? "is" : "is not") one of "
                    + "Advanced Commerce.",
                remedy: "Send MIGRATION once, then METADATA_UPDATE and PRICE_CHANGE.")
        }
        var info =
            subscription.advancedCommerce?.value
            ?? newAdvancedCommerce(subscription, change.skus ?? [subscription.latest.product.id])
        if let name = change.displayName { info.descriptors?.displayName = name }
        if let text = change.description { info.descriptors?.description = text }
        info.requestReferenceId = numbers.newUUID()
        if change.kind == .priceChange { try reprice(&subscription, &info, change.price, at: now) }
        subscription.advancedCommerce = Box(info)
        subscription.writeAdvancedCommerce()
        let notice = draft(
            NotificationType(rawValue: change.kind.rawValue), of: subscription, at: now)
        save(subscription, at: now)
        return notice
    }

    private func newAdvancedCommerce(
        _ subscription: Subscription, _ skus: [String]
    ) -> AdvancedCommerceRenewal {
        let product = subscription.latest.product
        var info = AdvancedCommerceRenewal()
        info.descriptors = AdvancedCommerceDescriptors()
        info.descriptors?.displayName = product.displayName
        info.descriptors?.description = product.description
        info.period = product.subscription?.period.description
        info.items = skus.enumerated().map { place, sku in
            var part = AdvancedCommerceRenewalItem()
            part.sku = sku
            part.displayName = product.displayName
            part.description = product.description
            // The first item has the whole price.
            part.price = place == 0 ? subscription.nextPrice : 0
            return part
        }
        return info
    }

    private func reprice(
        _ subscription: inout Subscription, _ info: inout AdvancedCommerceRenewal, _ price: Int64?,
        at now: AppStoreDate
    ) throws(SimulatorProblem) {
        guard let price, price >= 0 else {
            throw .badRequest("The field price is missing.", remedy: "Send {\"price\": \"12.99\"}.")
        }
        info.items?[0].price = price
        subscription.priceRises.append(
            PriceRise(
                productID: subscription.nextProduct.id, price: price, from: subscription.paidUntil,
                needsConsent: false, announced: now))
    }

    /// Makes the notification about a one-time purchase. Returns none in production with the quirk
    /// `oneTimeChargeInSandboxOnly`, which follows Apple's first announcement of June 2025.
    mutating func oneTimeCharge(of transaction: StoreTransaction, at now: AppStoreDate)
        -> [NotificationDraft]
    {
        if settings.has(.oneTimeChargeInSandboxOnly), transaction.account.environment == .production
        {
            return []
        }
        return [draft(.oneTimeCharge, of: transaction, at: now)]
    }
}

extension Subscription {
    /// Writes the Advanced Commerce details into the latest transaction.
    mutating func writeAdvancedCommerce() {
        guard let renewal = advancedCommerce?.value else { return }
        let latest = latest
        var info = AdvancedCommerceTransaction()
        info.descriptors = renewal.descriptors
        info.period = renewal.period
        info.requestReferenceId = renewal.requestReferenceId
        info.taxExclusivePrice = latest.price
        info.estimatedTax = 0
        info.taxRate = "0"
        info.items = renewal.items?.enumerated().map { place, sold in
            var part = AdvancedCommerceTransactionItem()
            part.sku = sold.sku
            part.displayName = sold.displayName
            part.description = sold.description
            part.price = place == 0 ? latest.price : 0
            return part
        }
        transactions[transactions.count - 1].advancedCommerce = Box(info)
    }
}
