import AppStoreFormats
import Ledger

/// Translates Apple's documents into facts. This is the only module that knows both vocabularies.
///
/// Pure. The caller has verified the document first. The other content of a notification (its type,
/// its status) makes no separate fact, because it follows from the transaction and the renewal info
/// in the notification. Also, a fact must not depend on which of several notifications happened to
/// arrive. There is one exception: see ``graceLengths``.
package enum Intake {
    /// The payment that a signed transaction attests.
    ///
    /// - Throws: ``IntakeFailure`` if a field is missing that a payment needs.
    package static func fact(
        of transaction: TransactionPayload, signedAt: AppStoreDate
    ) throws(IntakeFailure) -> Fact {
        let id = try required(transaction.transactionId, "transactionId")
        let environment = try environment(transaction.environment)
        let original = try required(transaction.originalTransactionId, "originalTransactionId")
        let refunds = ItemRefunds(transaction)
        let seats = SeatPurchase(transaction)
        let total = if let seats { seats.total } else { transaction.price }
        let revocation = revocation(of: transaction, refunds, total)
        let kind = kind(of: transaction.type)
        let dates = PurchaseDates(
            purchased: instant(try required(transaction.purchaseDate, "purchaseDate")),
            original: transaction.originalPurchaseDate.map(instant), kind,
            ends: transaction.expiresDate != nil, isOriginal: id == original)
        let payment = Payment(
            transaction: TransactionID(rawValue: id), line: transaction.webOrderLineItemId,
            product: ProductID(rawValue: try required(transaction.productId, "productId")),
            kind: kind, from: dates.from, until: transaction.expiresDate.map(instant),
            terms: terms(of: transaction),
            offer: offer(transaction.offerType, transaction.offerIdentifier),
            commitment: commitment(of: transaction), quantity: quantity(of: transaction),
            price: money(
                price(total, seats, revocation == nil ? refunds : nil, revocation),
                transaction.currency),
            ownership: ownership(of: transaction.inAppOwnershipType),
            isRenewal: transaction.transactionReason == .renewal,
            isUpgraded: transaction.isUpgraded ?? false, revocation: revocation,
            accountToken: transaction.appAccountToken?.lowercased(),
            group: transaction.subscriptionGroupIdentifier, storefront: transaction.storefront,
            restoredAt: dates.restoredAt, seats: seats?.seats)
        return Fact(
            about: PurchaseID(TransactionID(rawValue: original), in: environment),
            attestedAt: instant(signedAt),
            .payment(payment))
    }

    /// The facts in signed renewal info about the purchase that it names.
    ///
    /// - Parameters:
    ///   - notification: the notification that contains the renewal info.
    ///   - answered: the status beside the renewal info in a response.
    /// - Throws: ``IntakeFailure`` if a field is missing that a renewal needs.
    package static func fact(
        of renewal: RenewalPayload, in notification: NotificationPayload? = nil,
        beside answered: SubscriptionStatus? = nil, signedAt: AppStoreDate
    ) throws(IntakeFailure) -> Fact {
        let original = try required(renewal.originalTransactionId, "originalTransactionId")
        let environment = try environment(renewal.environment)
        let status = try required(renewal.autoRenewStatus, "autoRenewStatus")
        let meant = Renewal(
            // If the status is unknown, renewal is not assumed to be off.
            willRenew: status != .off,
            renewsTo: renewal.autoRenewProductId.map(ProductID.init(rawValue:)),
            isRetrying: renewal.isInBillingRetryPeriod ?? false,
            graceUntil: graceEnd(
                of: renewal, signedAt: signedAt,
                isReported: answered == .gracePeriod || notification?.reportsGrace == true),
            ending: renewal.expirationIntent.map(ending),
            renewsAt: renewal.renewalDate.map(instant),
            price: money(SeatPurchase.renewalPrice(of: renewal), renewal.currency),
            offer: offer(renewal.offerType, renewal.offerIdentifier),
            commitmentRenews: renewal.commitmentInfo?.commitmentAutoRenewStatus.map { $0 != .off },
            priceRise: renewal.priceIncreaseStatus.flatMap(priceRise),
            seats: SeatPurchase.renewalSeats(of: renewal))
        return Fact(
            about: PurchaseID(TransactionID(rawValue: original), in: environment),
            attestedAt: instant(signedAt), .renewal(meant))
    }
}

extension Intake {
    /// The purchase of the app itself that a signed app transaction attests.
    ///
    /// - Throws: ``IntakeFailure`` if a field is missing. Documents from before 2025 lack the
    ///   number of the account's copy.
    package static func fact(
        of app: AppTransactionPayload, signedAt: AppStoreDate
    ) throws(IntakeFailure) -> Fact {
        let id = try required(app.appTransactionId, "appTransactionId")
        let copy = AppPurchase(
            transaction: TransactionID(rawValue: id),
            from: instant(try required(app.originalPurchaseDate, "originalPurchaseDate")),
            version: app.originalApplicationVersion, isOnMac: app.originalPlatform == .macOS)
        return Fact(
            about: PurchaseID(ofApp: copy.transaction, in: try environment(app.receiptType)),
            attestedAt: instant(signedAt), .appPurchase(copy))
    }

    /// The two purchases of a transaction that names a replaced purchase: the replaced purchase,
    /// and the purchase to which the transaction belongs. Returns nil if the transaction names no
    /// replaced purchase, or names its own purchase as the replaced purchase.
    package static func succession(
        of transaction: TransactionPayload
    ) -> (from: PurchaseID, to: PurchaseID)? {
        guard let previous = transaction.previousOriginalTransactionId,
            let original = transaction.originalTransactionId, previous != original,
            let environment = try? environment(transaction.environment)
        else { return nil }
        return (
            PurchaseID(TransactionID(rawValue: previous), in: environment),
            PurchaseID(TransactionID(rawValue: original), in: environment)
        )
    }
}

/// A verified document lacks a field that a fact needs. The document is stored nevertheless.
package struct IntakeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var field: String
    package var found: String

    package init(field: String, found: String) {
        self.field = field
        self.found = found
    }

    package var description: String { "\(field): \(found)" }
}

extension Intake {
    static func required<Value>(
        _ value: Value?, _ field: String
    ) throws(IntakeFailure) -> Value {
        guard let value else {
            throw IntakeFailure(field: field, found: "absent, or not as documented")
        }
        return value
    }

    static func environment(
        _ environment: StoreEnvironment?
    ) throws(IntakeFailure) -> Environment {
        switch try required(environment, "environment") {
        case .production: return .production
        case .sandbox: return .sandbox
        case let other: throw IntakeFailure(field: "environment", found: other.rawValue)
        }
    }

    /// The range of years from 1 to 9999. A date outside of this range is clamped to the range.
    private static let dates: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    static func instant(_ date: AppStoreDate) -> Instant {
        Instant(
            milliseconds: min(max(date.milliseconds, dates.lowerBound), dates.upperBound))
    }

    /// Whether a fact contains everything that the App Store has said, including the unsigned
    /// status beside the signed renewal info. The fact is incomplete if the status says that there
    /// is a grace period, and the renewal info does not contain its end. Such a fact alone would
    /// mean that the App Store retries the payment without a grace period.
    package static func isComplete(_ fact: Fact, beside status: SubscriptionStatus) -> Bool {
        guard status == .gracePeriod, case .renewal(let renewal) = fact.statement else {
            return true
        }
        return renewal.graceUntil != nil
    }

    private static func money(_ milliunits: Int64?, _ currency: String?) -> Money? {
        guard let milliunits, let currency else { return nil }
        return Money(milliunits: milliunits, currency: currency)
    }

    private static func kind(of type: ProductType?) -> ProductKind {
        switch type {
        case .autoRenewable?: .autoRenewable
        case .nonRenewing?: .nonRenewing
        case .nonConsumable?: .nonConsumable
        case .consumable?: .consumable
        default: .unknown
        }
    }

    private static func terms(of transaction: TransactionPayload) -> Terms {
        if isFree(transaction) { return .trial }
        return transaction.offerType == nil ? .full : .offer
    }

    /// Whether an offer of any kind makes the period free. If the document does not say how the
    /// offer is paid, the price decides. A one-time purchase has no period.
    private static func isFree(_ transaction: TransactionPayload) -> Bool {
        guard transaction.expiresDate != nil else { return false }
        switch transaction.offerDiscountType {
        case .freeTrial?: return true
        case .payAsYouGo?, .payUpFront?, .oneTime?: return false
        default: return transaction.offerType != nil && transaction.price == 0
        }
    }

    private static func offer(_ type: OfferType?, _ id: String?) -> Offer? {
        type.map { type in
            switch type {
            case .introductory: Offer(.introductory, id: id)
            case .promotional: Offer(.promotional, id: id)
            case .code: Offer(.code, id: id)
            case .winBack: Offer(.winBack, id: id)
            case .retention: Offer(.retention, id: id)
            default: Offer(.unknown, id: id)
            }
        }
    }

    private static func commitment(of transaction: TransactionPayload) -> Commitment? {
        guard let told = transaction.commitmentInfo,
            let month = told.billingPeriodNumber.flatMap({ Int(exactly: $0) }),
            let months = told.totalBillingPeriods.flatMap({ Int(exactly: $0) })
        else { return nil }
        return Commitment(
            month: month, months: months, until: told.commitmentExpiresDate.map(instant),
            price: money(told.commitmentPrice, transaction.currency))
    }

    /// The maximum quantity of a transaction: Apple's type is `int32`.
    static let quantityMax = Int64(Int32.max)

    /// The quantity of a transaction. Returns 1 if the App Store gives no quantity or an invalid
    /// one. Also returns 1 for a member of a group: a member has one seat, although the member's
    /// transaction repeats the purchaser's number.
    static func quantity(of transaction: TransactionPayload) -> Int {
        guard transaction.inAppOwnershipType != .assigned else { return 1 }
        guard let told = transaction.quantity, (1...quantityMax) ~= told else { return 1 }
        return Int(told)
    }

    static func priceRise(_ status: PriceIncreaseStatus) -> Renewal.PriceRise? {
        switch status {
        case .notAnswered: .waiting
        case .agreed: .agreed
        default: nil
        }
    }

    private static func ownership(of type: OwnershipType?) -> Ownership {
        switch type {
        case .familyShared?: .familyShared
        case .assigned?: .assigned
        default: .purchased
        }
    }

    /// - Parameter refunds: the refunds of a purchase that stays open although money was refunded.
    ///   The price of such a purchase is the remainder.
    private static func price(
        _ total: Int64?, _ seats: SeatPurchase?, _ refunds: ItemRefunds?, _ revocation: Revocation?
    ) -> Int64? {
        if let seats, seats.seats.refunded > 0 {
            return seats.price(isRevoked: revocation != nil)
        }
        guard let total, let refunds else { return total }
        return refunds.remainder(of: total)
    }

    private static func revocation(
        of transaction: TransactionPayload, _ refunds: ItemRefunds?, _ total: Int64?
    ) -> Revocation? {
        guard let date = transaction.revocationDate ?? refunds?.revokedAt else { return nil }
        let isSharing: Bool
        switch transaction.revocationType {
        case .familyRevoke?, .assignmentRevoke?: isSharing = true
        case .refundFull?, .refundProrated?: isSharing = false
        default: isSharing = ownership(of: transaction.inAppOwnershipType) != .purchased
        }
        return Revocation(
            at: instant(date), kind: isSharing ? .sharingEnded : .refund,
            percentage: transaction.revocationPercentage
                ?? refunds?.percentage(of: total))
    }

    static func ending(_ intent: ExpirationIntent) -> Renewal.Ending {
        switch intent {
        case .cancelled: .cancelled
        case .billingError: .billing
        case .noConsentToPriceIncrease: .priceNotAgreed
        case .productUnavailable: .productUnavailable
        default: .other
        }
    }
}

extension NotificationPayload {
    /// Whether the notification reports that access continues although nothing was paid.
    fileprivate var reportsGrace: Bool {
        guard notificationType != .gracePeriodExpired else { return false }
        return subtype == .gracePeriod || data?.status == .gracePeriod
    }
}
