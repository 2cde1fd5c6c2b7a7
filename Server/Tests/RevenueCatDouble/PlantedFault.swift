import AppStoreFormats

/// A mistake of the double about one customer, made on purpose. Each mistake is visible in the
/// answers at the moment at which it was planted.
package struct PlantedFault: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The last notifications of a purchase are applied only later.
        case late
        /// The last notifications of a purchase are never applied.
        case lost
        /// A promotional entitlement that nobody gave.
        case wrongGrant
        /// An id of the customer that RevenueCat does not know.
        case lostAlias
        /// A refund that is not applied.
        case refundIgnored
        /// A purchase of the family that is shown as the customer's own.
        case familyMistaken
        /// A sandbox purchase that is shown as one of production.
        case sandboxMistaken
        /// A purchase that is shown with another product.
        case wrongProduct
        /// A grace period that is not applied.
        case graceIgnored
    }

    package let kind: Kind
    /// The customer's first id, by which lists contain the customer.
    package let customer: String
    /// All ids of the customer, also a lost one.
    package let ids: [String]
    /// The original transaction id of the purchase. Nil for a grant and for an alias.
    package var purchase: String?
    /// The first notification that is late or lost was signed at this time.
    package var from: AppStoreDate?
    /// When a late notification is applied.
    package var until: AppStoreDate?
    /// The name of the wrongly granted entitlement.
    package var entitlement: String?
    /// The wrong product.
    package var product: String?
    /// The lost id.
    package var alias: String?
    var grant: PromotionalGrant?

    init(_ kind: Kind, of customer: KnownCustomer, purchase: String? = nil) {
        self.kind = kind
        self.customer = customer.originalID
        ids = customer.aliases.map(\.id)
        self.purchase = purchase
    }

    package var description: String {
        let more = [purchase, entitlement, product, alias].compactMap(\.self)
        return ([kind.rawValue, customer] + more).joined(separator: " ")
    }

    /// Whether this fault holds back a notification at a moment.
    func holds(_ notice: AppleFacts, at now: AppStoreDate) -> Bool {
        guard let from, notice.signed >= from else { return false }
        return until.map { now < $0 } ?? true
    }
}
