package import PerennialContract

/// What the App Store on this device said about one transaction.
package struct StoreTransaction: Hashable, Sendable {
    package var id: String
    package var originalID: String
    package var productID: String
    package var kind: Kind
    package var purchasedAt: Timestamp
    /// When the paid time ends. Nil if the purchase has no end.
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    /// Whether the transaction was revoked because Family Sharing or an assignment ended. False if
    /// it was refunded.
    package var isRevokedByFamily: Bool
    package var isUpgraded: Bool
    package var isFamilyShared: Bool
    /// The number of units that the transaction bought.
    package var quantity: Int
    /// The seats of the transaction. Nil unless the customer bought several seats. Also nil for a
    /// member's transaction, because such a transaction only repeats the purchaser's numbers.
    package var seats: Seats?
    package var offer: Offer
    /// When the App Store signed this document.
    package var signedAt: Timestamp
    /// Whether the store's lists do not contain the transaction yet, because only the purchase call
    /// has returned it.
    package var isHeld: Bool
    /// Whether the server has confirmed that it recorded this document.
    package var isAcknowledged: Bool
    /// The customer for whom this device first saw the transaction. Nil if that customer was
    /// anonymous.
    package var firstSeenFor: String?
    package var details: Details

    package init(
        id: String, originalID: String, productID: String, kind: Kind, purchasedAt: Timestamp,
        expiresAt: Timestamp? = nil, revokedAt: Timestamp? = nil, isRevokedByFamily: Bool = false,
        isUpgraded: Bool = false, isFamilyShared: Bool = false, quantity: Int = 1,
        seats: Seats? = nil, offer: Offer = .none,
        signedAt: Timestamp, isHeld: Bool = false, isAcknowledged: Bool = false,
        firstSeenFor: String? = nil, details: Details = Details()
    ) {
        self.id = id
        self.originalID = originalID
        self.productID = productID
        self.kind = kind
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.isRevokedByFamily = isRevokedByFamily
        self.isUpgraded = isUpgraded
        self.isFamilyShared = isFamilyShared
        self.quantity = quantity
        self.seats = seats
        self.offer = offer
        self.signedAt = signedAt
        self.isHeld = isHeld
        self.isAcknowledged = isAcknowledged
        self.firstSeenFor = firstSeenFor
        self.details = details
    }

    package enum Kind: String, Hashable, Sendable {
        case renewing
        case nonRenewing = "non_renewing"
        case nonConsumable = "non_consumable"
        case consumable
    }

    package enum Offer: String, Hashable, Sendable {
        case none
        case trial
        case other
    }

    /// The seats of one transaction. A period has several transactions if seats were added within
    /// the period.
    package struct Seats: Hashable, Sendable {
        package var bought: Int
        /// The number of seats that a refund revoked.
        package var revoked: Int

        package init(bought: Int, revoked: Int = 0) {
            self.bought = bought
            self.revoked = revoked
        }
    }

    /// Values that no rule uses, but that an app may want to show. The values are in Apple's words,
    /// and Apple may add words.
    package struct Details: Hashable, Sendable {
        /// The kind of the offer in Apple's numbers: 1 introductory, 2 promotional, 3 code, 4
        /// win-back. Nil without an offer.
        package var offerType: Int?
        package var offerID: String?
        /// How the offer is paid, such as `FREE_TRIAL`. Nil if the document does not say.
        package var paymentMode: String?
        /// The length of the offer's period in ISO 8601, such as `P1M`. Nil if the document does
        /// not say.
        package var offerPeriod: String?
        /// How the customer got the purchase, such as `FAMILY_SHARED`. Nil if the document does not
        /// say.
        package var ownership: String?
        /// The product of the bundle that contains the subscription. Nil if no bundle contains it.
        package var bundleProductID: String?
        /// The commitment to monthly payments for a longer time. Nil if there is no commitment.
        package var commitment: Commitment?

        package init(
            offerType: Int? = nil, offerID: String? = nil, paymentMode: String? = nil,
            offerPeriod: String? = nil, ownership: String? = nil, bundleProductID: String? = nil,
            commitment: Commitment? = nil
        ) {
            self.offerType = offerType
            self.offerID = offerID
            self.paymentMode = paymentMode
            self.offerPeriod = offerPeriod
            self.ownership = ownership
            self.bundleProductID = bundleProductID
            self.commitment = commitment
        }
    }

    /// The month of a commitment to several monthly payments.
    package struct Commitment: Hashable, Sendable {
        /// The number of this month in the commitment, from 1.
        package var month: Int
        package var months: Int
        /// When the last month of the commitment ends. Nil if the document does not say.
        package var until: Timestamp?

        package init(month: Int, months: Int, until: Timestamp?) {
            self.month = month
            self.months = months
            self.until = until
        }
    }
}

extension StoreTransaction {
    /// Whether the transaction is a paid period of a subscription, and a given time is within the
    /// period.
    package func isRunningSubscription(at now: Timestamp) -> Bool {
        kind == .renewing && revokedAt == nil && !isUpgraded
            && (expiresAt.map { $0 > now } ?? true)
    }

    /// Whether two transactions are payments for the same period: the later payment added seats to
    /// the period.
    package func isPart(ofPeriodOf other: StoreTransaction) -> Bool {
        id == other.id
            || originalID == other.originalID && productID == other.productID && expiresAt != nil
                && expiresAt == other.expiresAt
    }

    /// The number of seats of this transaction that are not refunded. 1 if the transaction is for
    /// one person.
    package var seatsLeft: Int {
        guard revokedAt == nil, !isUpgraded else { return 0 }
        return seats.map { max(0, $0.bought - max(0, $0.revoked)) } ?? 1
    }
}

extension Collection<StoreTransaction> {
    /// The number of seats of the period of a transaction. Nil unless the customer bought seats.
    package func seats(inPeriodOf transaction: StoreTransaction) -> Int? {
        let parts = filter { $0.isPart(ofPeriodOf: transaction) }
        guard parts.contains(where: { $0.seats != nil }) else { return nil }
        return parts.map(\.seatsLeft).reduce(0) { sum, left in
            let (total, isTooMany) = sum.addingReportingOverflow(left)
            return isTooMany ? .max : total
        }
    }

    /// The document of the subscription's latest period: the first payment for that period that was
    /// not refunded. If all payments were refunded, the latest payment. Nil if there are no
    /// documents.
    package var latestPeriod: StoreTransaction? {
        let inOrder = filter { !$0.isUpgraded }.sorted {
            ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id)
        }
        guard let newest = inOrder.last else { return nil }
        return inOrder.first { $0.isPart(ofPeriodOf: newest) && $0.revokedAt == nil } ?? newest
    }
}

/// What the App Store on this device said about the renewal of one subscription.
package struct StoreStatus: Hashable, Sendable {
    package var originalID: String
    package var state: State
    /// Whether the subscription renews. Nil if the App Store has not said.
    package var willRenew: Bool?
    /// The product of the next period. Nil if no period follows, or if the App Store has not said.
    package var renewsTo: String?
    /// Whether another commitment follows the present one. Nil if there is no commitment.
    package var commitmentRenews: Bool?
    /// The number of seats that are planned for the next period. Nil if the App Store has not said.
    package var seatsAtRenewal: Int?
    package var graceUntil: Timestamp?
    /// When the renewal info was signed.
    package var signedAt: Timestamp
    /// Whether a lapse was seen again 30 seconds after it was first seen, or at the next launch. An
    /// unconfirmed lapse proves nothing, because devices report a lapse for an instant while they
    /// renew.
    package var isConfirmed: Bool
    /// When a lapse was first seen. Nil if the status reports no lapse.
    package var firstLapse: Sighting?

    package init(
        originalID: String, state: State, willRenew: Bool?, renewsTo: String? = nil,
        commitmentRenews: Bool? = nil, seatsAtRenewal: Int? = nil, graceUntil: Timestamp? = nil,
        signedAt: Timestamp, isConfirmed: Bool, firstLapse: Sighting? = nil
    ) {
        self.originalID = originalID
        self.state = state
        self.willRenew = willRenew
        self.renewsTo = renewsTo
        self.commitmentRenews = commitmentRenews
        self.seatsAtRenewal = seatsAtRenewal
        self.graceUntil = graceUntil
        self.signedAt = signedAt
        self.isConfirmed = isConfirmed
        self.firstLapse = firstLapse
    }

    package enum State: String, Hashable, Sendable {
        case subscribed
        case expired
        case retry
        case grace
        case revoked
    }
}

extension StoreStatus {
    /// Whether the status was signed after the given period began. An older status describes an
    /// earlier period.
    package func isAbout(_ period: StoreTransaction) -> Bool { signedAt >= period.purchasedAt }
}

/// When the device first saw a state that counts only if the device sees it again.
package struct Sighting: Hashable, Sendable {
    package var seenAt: Timestamp
    /// The launch of the app in which the device saw the state: a number that differs in each
    /// process.
    package var launch: Int

    package init(seenAt: Timestamp, launch: Int) {
        self.seenAt = seenAt
        self.launch = launch
    }
}

/// All evidence of the App Store on this device, and when the App Store last answered.
package struct StoreEvidence: Hashable, Sendable {
    /// The newest document of each transaction, by transaction id.
    package var transactions: [String: StoreTransaction]
    /// What the App Store says about the renewal of each subscription, by original transaction id.
    package var statuses: [String: StoreStatus]
    /// The original transaction ids of purchases that were missing twice from lists that were not
    /// empty.
    package var absent: Set<String>
    /// When each purchase was first missing from the store's lists, by original transaction id. The
    /// table has only purchases that are missing from the last list that was not empty.
    package var missing: [String: Sighting]
    /// When the store last returned an answer that was not empty. Nil if there was no such answer.
    package var answeredAt: Timestamp?
    /// Whether this evidence can be trusted: the store has answered in this process, or only this
    /// device has changed the file that contains the evidence. Untrusted evidence gives no access.
    package var isTrusted: Bool

    package init(
        transactions: [String: StoreTransaction] = [:], statuses: [String: StoreStatus] = [:],
        absent: Set<String> = [], missing: [String: Sighting] = [:],
        answeredAt: Timestamp? = nil, isTrusted: Bool = false
    ) {
        self.transactions = transactions
        self.statuses = statuses
        self.absent = absent
        self.missing = missing
        self.answeredAt = answeredAt
        self.isTrusted = isTrusted
    }
}
