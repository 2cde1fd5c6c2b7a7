package import PerennialContract

/// What the App Store on this device said about one transaction.
package struct StoreTransaction: Hashable, Sendable {
    package var id: String
    package var originalID: String
    package var productID: String
    package var kind: Kind
    package var purchasedAt: Timestamp
    /// Nil if the purchase does not end by itself.
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    /// Whether it was revoked because Family Sharing or an assignment ended, not by a refund.
    package var isRevokedByFamily: Bool
    package var isUpgraded: Bool
    package var isFamilyShared: Bool
    /// How many units were bought at once.
    package var quantity: Int
    /// Nil unless the customer bought several seats. Nil for a member's transaction too, because it
    /// only repeats the purchaser's numbers.
    package var seats: Seats?
    package var offer: Offer
    /// When the App Store signed this document.
    package var signedAt: Timestamp
    /// True while only the purchase call has returned it, and the store's lists do not contain it
    /// yet.
    package var isHeld: Bool
    /// Whether the server has confirmed that it recorded this document.
    package var isAcknowledged: Bool
    /// The customer for whom this device first saw it; nil if that customer was anonymous.
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
    /// it.
    package struct Seats: Hashable, Sendable {
        package var bought: Int
        /// How many of the seats a refund revoked.
        package var revoked: Int

        package init(bought: Int, revoked: Int = 0) {
            self.bought = bought
            self.revoked = revoked
        }
    }

    /// Values that no rule uses, and that an app may want to show. They are Apple's values; new
    /// ones are possible.
    package struct Details: Hashable, Sendable {
        /// 1 introductory, 2 promotional, 3 code, 4 win-back. Nil without an offer.
        package var offerType: Int?
        package var offerID: String?
        /// Such as `FREE_TRIAL`.
        package var paymentMode: String?
        /// As ISO 8601 writes it, such as `P1M`.
        package var offerPeriod: String?
        /// Such as `FAMILY_SHARED`. Nil if the document does not say.
        package var ownership: String?
        /// The product of the bundle that contains the subscription.
        package var bundleProductID: String?
        /// Nil unless the customer has committed to monthly payments for a longer time.
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
    /// Whether this is a subscription's paid period that includes a moment.
    package func isRunningSubscription(at now: Timestamp) -> Bool {
        kind == .renewing && revokedAt == nil && !isUpgraded
            && (expiresAt.map { $0 > now } ?? true)
    }

    /// Whether two transactions are payments for one period: the later one added seats to it.
    package func isPart(ofPeriodOf other: StoreTransaction) -> Bool {
        id == other.id
            || originalID == other.originalID && productID == other.productID && expiresAt != nil
                && expiresAt == other.expiresAt
    }

    /// The seats of this transaction that are not refunded. One if the transaction is for one
    /// person.
    package var seatsLeft: Int {
        guard revokedAt == nil, !isUpgraded else { return 0 }
        return seats.map { max(0, $0.bought - max(0, $0.revoked)) } ?? 1
    }
}

extension Collection<StoreTransaction> {
    /// How many seats the period of a transaction has. Nil unless the customer bought seats.
    package func seats(inPeriodOf transaction: StoreTransaction) -> Int? {
        let parts = filter { $0.isPart(ofPeriodOf: transaction) }
        guard parts.contains(where: { $0.seats != nil }) else { return nil }
        return parts.map(\.seatsLeft).reduce(0) { sum, left in
            let (total, isTooMany) = sum.addingReportingOverflow(left)
            return isTooMany ? .max : total
        }
    }

    /// The document of the subscription's latest period: the first payment for that period that was
    /// not refunded. If all were refunded, the latest one. Nil if there is none.
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
    /// Nil if the App Store has not said.
    package var willRenew: Bool?
    /// The product of the next period, if there is one. Nil if the App Store has not said.
    package var renewsTo: String?
    /// Whether another commitment follows the present one. Nil without a commitment.
    package var commitmentRenews: Bool?
    /// How many seats are planned for the next period. Nil if the App Store has not said.
    package var seatsAtRenewal: Int?
    package var graceUntil: Timestamp?
    /// When the renewal info was signed.
    package var signedAt: Timestamp
    /// Whether a lapse was seen again 30 seconds after it was first seen, or at the next launch. An
    /// unconfirmed lapse proves nothing: devices report one for an instant while they renew.
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
    /// Whether the status was signed after a period began. A status that was signed before
    /// describes an earlier period.
    package func isAbout(_ period: StoreTransaction) -> Bool { signedAt >= period.purchasedAt }
}

/// When the device first saw something that counts only if it is seen again.
package struct Sighting: Hashable, Sendable {
    package var seenAt: Timestamp
    /// The launch of the app in which it was seen: a number that differs in each process.
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
    /// By original transaction id.
    package var statuses: [String: StoreStatus]
    /// Purchases that were missing twice from lists that were not empty.
    package var absent: Set<String>
    /// Purchases that were missing from the last list that was not empty, and when that was first
    /// seen. By original transaction id.
    package var missing: [String: Sighting]
    /// When the store last returned an answer that was not empty. Nil if it never did.
    package var answeredAt: Timestamp?
    /// Whether this evidence can be trusted: the store has answered in this process, or nobody but
    /// this device has changed the file that contains it. Untrusted evidence opens nothing.
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
