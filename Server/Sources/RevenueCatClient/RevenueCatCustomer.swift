import AppStoreFormats
import Ledger
import Rehearsal

/// The names of a project's entitlements and products. They are needed because RevenueCat's other
/// answers contain only its own ids.
package struct RevenueCatCatalogue: Hashable, Sendable {
    /// The entitlements by RevenueCat's id.
    package var entitlements: [String: EntitlementID]
    /// The products by RevenueCat's id.
    package var products: [String: ProductID]

    package init(entitlements: [String: EntitlementID], products: [String: ProductID]) {
        self.entitlements = entitlements
        self.products = products
    }
}

/// RevenueCat's data about a customer.
package struct RevenueCatCustomer: Hashable, Sendable {
    package var id: CustomerID
    /// All ids of the customer. Empty if the ids were not requested.
    package var aliases: [CustomerID] = []
    /// The open entitlements. The value is nil if the entitlement never ends.
    package var active: [EntitlementID: Instant?] = [:]
    /// The subscriptions and purchases. Empty if the subscriptions and purchases were not
    /// requested.
    package var holdings: [RevenueCatHolding] = []

    package init(id: CustomerID) { self.id = id }

    /// RevenueCat's opinion about an entitlement.
    ///
    /// - Parameter transactions: the transactions of the purchases that give or gave the
    ///   entitlement at Perennial. If RevenueCat does not give the entitlement, these transactions
    ///   show which of RevenueCat's subscriptions is the same purchase.
    /// - Parameter environment: the environment that is rehearsed.
    package func opinion(
        of entitlement: EntitlementID, in environment: Environment,
        knowing transactions: Set<TransactionID>
    ) -> RehearsalOpinion {
        guard let end = active[entitlement] else {
            let past = holding(transactions, giving: entitlement)
            var opinion = past?.opinion(isOpen: false, until: nil, in: environment) ?? .none
            opinion.willRenew = nil
            return opinion
        }
        guard let source = source(of: entitlement, until: end) else {
            return RehearsalOpinion(isOpen: true, until: end, basis: .nothing)
        }
        return source.opinion(isOpen: true, until: end, in: environment)
    }

    /// The subscription or purchase that gives an open entitlement. This is the holding that ends
    /// at the same time as the entitlement. If there is none, it is the holding that ends last.
    package func source(of entitlement: EntitlementID, until end: Instant?) -> RevenueCatHolding? {
        let giving = holdings.filter { $0.givesAccess && $0.entitlements.contains(entitlement) }
        return giving.first { $0.until == end }
            ?? giving.max { one, other in
                guard let mine = one.until else { return false }
                return other.until.map { mine < $0 } ?? true
            }
    }

    private func holding(
        _ transactions: Set<TransactionID>, giving entitlement: EntitlementID
    ) -> RevenueCatHolding? {
        // A purchase may have changed its product without RevenueCat's knowledge. Its former
        // product gave other entitlements. In that case RevenueCat knows nothing about this
        // entitlement.
        holdings.first { holding in
            holding.entitlements.contains(entitlement)
                && holding.transaction.map(transactions.contains) ?? false
        }
    }
}

/// RevenueCat's data about a subscription or a purchase of a customer.
package struct RevenueCatHolding: Hashable, Sendable {
    package var transaction: TransactionID?
    package var product: ProductID?
    /// The store: `app_store`, `promotional`, `play_store`, …
    package var store: String
    package var isSandbox: Bool
    package var isFamilyShared: Bool?
    package var givesAccess: Bool
    /// When the subscription or purchase ends. Nil if it does not end, or if RevenueCat does not
    /// say.
    package var until: Instant?
    package var willRenew: Bool?
    package var billing: RehearsalOpinion.Billing
    package var entitlements: Set<EntitlementID>
    /// The members of RevenueCat's answer from which this value was made, as JSON.
    package var text: String

    private static let appleStores: Set = ["app_store", "mac_app_store"]

    /// Whether the purchase was made in one of Apple's stores.
    package var isApple: Bool { Self.appleStores.contains(store) }

    fileprivate func opinion(
        isOpen: Bool, until end: Instant?, in environment: Environment
    ) -> RehearsalOpinion {
        let basis: RehearsalOpinion.Basis =
            switch store {
            case "promotional": .grant
            case _ where !isApple: .otherStore(store)
            case _ where isSandbox && environment == .production: .sandbox
            default: .payment
            }
        return RehearsalOpinion(
            isOpen: isOpen, until: end, willRenew: isApple ? willRenew : nil,
            product: isApple ? product : nil, isFamilyShared: isApple ? isFamilyShared : nil,
            transaction: isApple ? transaction : nil, basis: basis, billing: billing)
    }
}

// MARK: - JSON

extension RevenueCatHolding {
    /// The members that a report shows as evidence. Other members, such as money, are left out.
    private static let shownMembers: Set = [
        "id", "product_id", "status", "gives_access", "auto_renewal_status",
        "current_period_ends_at", "ends_at", "environment", "store",
        "store_subscription_identifier", "store_purchase_identifier", "ownership",
    ]

    private static func text(_ json: JSON) -> String {
        JSON.object((json.members ?? []).filter { shownMembers.contains($0.key) }).text
    }

    /// - Returns: nil if the JSON is not a subscription.
    init?(subscription json: JSON, _ catalogue: RevenueCatCatalogue) {
        guard json.members != nil, let store = json["store"]?.string else { return nil }
        self.store = store
        transaction = json["store_subscription_identifier"]?.identifier
        product = json["product_id"]?.string.flatMap { catalogue.products[$0] }
        isSandbox = json["environment"]?.string == "sandbox"
        isFamilyShared = json["ownership"]?.string.map { $0 == "family_shared" }
        givesAccess = json["gives_access"]?.bool ?? false
        until = json["current_period_ends_at"]?.instant ?? json["ends_at"]?.instant
        switch json["auto_renewal_status"]?.string {
        case "will_renew", "has_already_renewed": willRenew = true
        case "will_not_renew": willRenew = false
        default: willRenew = nil
        }
        switch json["status"]?.string {
        case "in_grace_period": billing = .grace
        case "in_billing_retry": billing = .retry
        default: billing = .settled
        }
        entitlements = json.entitlements(catalogue)
        text = Self.text(json)
    }

    /// - Returns: nil if the JSON is not a purchase.
    init?(purchase json: JSON, _ catalogue: RevenueCatCatalogue) {
        guard json.members != nil, let store = json["store"]?.string else { return nil }
        self.store = store
        transaction = json["store_purchase_identifier"]?.identifier
        product = json["product_id"]?.string.flatMap { catalogue.products[$0] }
        isSandbox = json["environment"]?.string == "sandbox"
        isFamilyShared = json["ownership"]?.string.map { $0 == "family_shared" }
        givesAccess = json["status"]?.string == "owned"
        (until, willRenew, billing) = (nil, nil, .settled)
        entitlements = json.entitlements(catalogue)
        text = Self.text(json)
    }
}

extension JSON {
    /// The number as a moment, in milliseconds since 1970.
    var instant: Instant? { integer.map { Instant(milliseconds: $0) } }

    /// The id of a transaction, which is a text, or a number in older answers.
    fileprivate var identifier: TransactionID? {
        (string ?? integer.map { "\($0)" }).map { TransactionID(rawValue: $0) }
    }

    fileprivate func entitlements(_ catalogue: RevenueCatCatalogue) -> Set<EntitlementID> {
        Set(
            (self["entitlements"]?["items"]?.array ?? []).compactMap { entitlement in
                entitlement["lookup_key"]?.string.map { EntitlementID(rawValue: $0) }
                    ?? entitlement["id"]?.string.flatMap { catalogue.entitlements[$0] }
            })
    }
}
