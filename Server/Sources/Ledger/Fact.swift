/// A statement of a document about one purchase, as of the moment when the document was signed.
///
/// A fact is a snapshot. If two facts are about the same thing, the fact that was attested later
/// wins, whichever arrived first.
package struct Fact: Hashable, Sendable {
    package var purchase: PurchaseID
    package var attestedAt: Instant
    package var grade: Grade
    package var statement: Statement

    package enum Statement: Hashable, Sendable {
        case payment(Payment)
        case renewal(Renewal)
        case appPurchase(AppPurchase)
    }

    package init(
        about purchase: PurchaseID, attestedAt: Instant, grade: Grade = .signed,
        _ statement: Statement
    ) {
        self.purchase = purchase
        self.attestedAt = attestedAt
        self.grade = grade
        self.statement = statement
    }
}

/// The kind of document that attests a fact.
package enum Grade: String, Hashable, Sendable, CaseIterable {
    /// A document that is signed and dated for this statement alone and has all fields.
    case signed
    /// A receipt, or a legacy response or notification. Such a document has one date for all its
    /// statements, or no date. It lacks prices and other fields.
    case legacy
}

/// One transaction: which product was bought, for which stretch of time, and whether it was
/// revoked.
package struct Payment: Hashable, Sendable {
    package var transaction: TransactionID
    /// The App Store's identifier of the period itself (Apple: `webOrderLineItemId`). One renewal
    /// can be reported under several transaction numbers; this identifier stays the same.
    package var line: String?
    package var product: ProductID
    package var kind: ProductKind
    package var from: Instant
    /// The end of the paid time. Nil if it has no end.
    package var until: Instant?
    package var terms: Terms
    package var offer: Offer?
    /// The position in a commitment. Nil unless the customer pays monthly for a longer commitment.
    package var commitment: Commitment?
    /// The number of units bought at once: more than one only for consumables, and for
    /// subscriptions that were bought with several seats.
    package var quantity: Int
    /// The price of all units together. If a part was refunded and the period continues, the
    /// refunded amount is subtracted.
    package var price: Money?
    /// The seats that the payment is for. Nil unless the payment is for several seats, or its
    /// period has several payments for seats.
    package var seats: Seats?
    package var ownership: Ownership
    package var isRenewal: Bool
    /// Whether a later payment of the same chain, for a higher product, has replaced this payment.
    package var isUpgraded: Bool
    package var revocation: Revocation?
    /// The account that the app named when the customer bought (Apple: `appAccountToken`), in lower
    /// case.
    package var accountToken: String?
    package var group: String?
    package var storefront: String?
    /// When a restore made this transaction. Nil if no restore made it. Only for one-time
    /// purchases.
    package var restoredAt: Instant?

    package init(
        transaction: TransactionID, line: String? = nil, product: ProductID,
        kind: ProductKind = .autoRenewable, from: Instant, until: Instant?, terms: Terms = .full,
        offer: Offer? = nil, commitment: Commitment? = nil, quantity: Int = 1,
        price: Money? = nil, ownership: Ownership = .purchased,
        isRenewal: Bool = false, isUpgraded: Bool = false, revocation: Revocation? = nil,
        accountToken: String? = nil, group: String? = nil, storefront: String? = nil,
        restoredAt: Instant? = nil, seats: Seats? = nil
    ) {
        self.transaction = transaction
        self.line = line
        self.product = product
        self.kind = kind
        self.from = from
        self.until = until
        self.terms = terms
        self.offer = offer
        self.commitment = commitment
        self.quantity = quantity
        self.price = price
        self.ownership = ownership
        self.isRenewal = isRenewal
        self.isUpgraded = isUpgraded
        self.revocation = revocation
        self.accountToken = accountToken
        self.group = group
        self.storefront = storefront
        self.restoredAt = restoredAt
        self.seats = seats
    }
}

package enum ProductKind: String, Hashable, Sendable, CaseIterable {
    case autoRenewable
    case nonRenewing
    case nonConsumable
    case consumable
    /// A kind of product that Perennial does not know yet. A purchase of such a product is
    /// recorded. If it has an end, it gives access during its period.
    case unknown
}

/// The terms on which a period was obtained.
package enum Terms: String, Hashable, Sendable, CaseIterable {
    case full
    /// An offer of any kind makes the period free.
    case trial
    /// An offer reduces the price of the period.
    case offer
}

package enum Ownership: String, Hashable, Sendable, CaseIterable {
    case purchased
    case familyShared
    /// The customer has a seat that somebody else pays for.
    case assigned
}

package struct Revocation: Hashable, Sendable {
    package var at: Instant
    package var kind: Kind
    /// How much of the price was refunded, in thousandths of a percent. Nil if the App Store does
    /// not report the share.
    package var percentage: Int64?

    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case refund
        /// Sharing ended; no money was refunded.
        case sharingEnded
    }

    package init(at: Instant, kind: Kind, percentage: Int64? = nil) {
        self.at = at
        self.kind = kind
        self.percentage = percentage
    }
}

/// What the App Store intends to do at the end of the current period.
package struct Renewal: Hashable, Sendable {
    package var willRenew: Bool
    /// The product of the next period.
    package var renewsTo: ProductID?
    /// Whether the App Store could not collect the payment and keeps trying.
    package var isRetrying: Bool
    /// The end of the grace period: until then access continues although nothing was paid. Nil if
    /// the renewal info names none.
    package var graceUntil: Instant?
    package var ending: Ending?
    package var renewsAt: Instant?
    /// The price of all seats of the next period together.
    package var price: Money?
    /// The number of people for whom the next period will be paid. Nil if the App Store does not
    /// report it.
    package var seats: Int?
    /// The offer of the next period.
    package var offer: Offer?
    /// Whether another commitment follows the current one. Nil without a commitment.
    package var commitmentRenews: Bool?
    /// The customer's answer to a price increase that the App Store announced. Nil if it announced
    /// no price increase.
    package var priceRise: PriceRise?
    /// When the legacy document arrived, if it does not say when its content was true. Its content
    /// became true after the attested moment and before this arrival. Nil for any other document.
    package var receivedAt: Instant?

    package enum PriceRise: String, Hashable, Sendable, CaseIterable {
        /// The customer must agree, and has not done so yet.
        case waiting
        case agreed
    }

    /// Why there will be no next period.
    package enum Ending: String, Hashable, Sendable, CaseIterable {
        case cancelled
        case billing
        case priceNotAgreed
        case productUnavailable
        case other
    }

    package init(
        willRenew: Bool, renewsTo: ProductID? = nil, isRetrying: Bool = false,
        graceUntil: Instant? = nil, ending: Ending? = nil, renewsAt: Instant? = nil,
        price: Money? = nil, offer: Offer? = nil, commitmentRenews: Bool? = nil,
        priceRise: PriceRise? = nil, receivedAt: Instant? = nil, seats: Int? = nil
    ) {
        self.willRenew = willRenew
        self.renewsTo = renewsTo
        self.isRetrying = isRetrying
        self.graceUntil = graceUntil
        self.ending = ending
        self.renewsAt = renewsAt
        self.price = price
        self.offer = offer
        self.commitmentRenews = commitmentRenews
        self.priceRise = priceRise
        self.receivedAt = receivedAt
        self.seats = seats
    }
}
