import AppStoreFormats
import Simulator

/// Makes any number of signed documents like those of the App Store, all different. The documents
/// are about weekly subscriptions with one notification per period.
struct DocumentMaker: Sendable {
    /// The number of notifications per subscription.
    static let periods = 6
    static let weekMilliseconds: Int64 = 604_800_000
    static let product = "pro.weekly"
    static let now = SimulatorSettings.defaultNow
    private static let firstNumber: Int64 = 2_000_000_000_000_000
    private static let firstLine: Int64 = 3_000_000_000_000_000

    let authority: SigningAuthority

    /// A subscription's number, from 0, and one of its periods. The last period is the current one.
    struct Subject: Hashable, Sendable {
        var number: Int
        var period: Int

        var original: String { "\(firstNumber + Int64(number * periods))" }
        var transaction: String { "\(firstNumber + Int64(number * periods + period))" }
        var line: String { "\(firstLine + Int64(number * periods + period))" }
        var from: Int64 { start(of: period) }
        /// The time of signing. It increases from notification to notification.
        var signedAt: AppStoreDate { AppStoreDate(milliseconds: from + Int64(number)) }

        var uuid: String {
            let digits = String(number * periods + period)
            let zeros = String(repeating: "0", count: 12 - digits.count)
            return "6f9619ff-8b86-4011-b42d-" + zeros + digits
        }
    }

    private static func start(of period: Int) -> Int64 {
        now.milliseconds - Int64(periods - period) * weekMilliseconds + weekMilliseconds / 2
    }

    func transaction(_ subject: Subject) -> TransactionPayload {
        var payload = TransactionPayload()
        payload.transactionId = subject.transaction
        payload.originalTransactionId = subject.original
        payload.webOrderLineItemId = subject.line
        payload.bundleId = ExampleShop.bundleID
        payload.productId = Self.product
        payload.subscriptionGroupIdentifier = "21400001"
        payload.purchaseDate = AppStoreDate(milliseconds: subject.from)
        payload.originalPurchaseDate = AppStoreDate(milliseconds: Self.start(of: 0))
        payload.expiresDate = AppStoreDate(milliseconds: subject.from + Self.weekMilliseconds)
        payload.quantity = 1
        payload.type = .autoRenewable
        payload.inAppOwnershipType = .purchased
        payload.signedDate = subject.signedAt
        payload.environment = .production
        payload.storefront = "USA"
        payload.storefrontId = "143441"
        payload.transactionReason = subject.period == 0 ? .purchase : .renewal
        payload.price = 2990
        payload.currency = "USD"
        payload.appTransactionId = "704\(subject.original.dropFirst())"
        return payload
    }

    func renewal(_ subject: Subject) -> RenewalPayload {
        var payload = RenewalPayload()
        payload.originalTransactionId = subject.original
        payload.productId = Self.product
        payload.autoRenewProductId = Self.product
        payload.autoRenewStatus = .on
        payload.renewalPrice = 2990
        payload.currency = "USD"
        payload.renewalDate = AppStoreDate(milliseconds: subject.from + Self.weekMilliseconds)
        payload.recentSubscriptionStartDate = AppStoreDate(milliseconds: Self.start(of: 0))
        payload.signedDate = subject.signedAt
        payload.environment = .production
        payload.appTransactionId = "704\(subject.original.dropFirst())"
        return payload
    }

    /// A signed transaction as a device has it.
    func signedTransaction(_ subject: Subject) throws -> String {
        try authority.sign(transaction(subject))
    }

    /// A signed notification: SUBSCRIBED for the first period, DID_RENEW for the others.
    func notification(_ subject: Subject) throws -> String {
        var content = NotificationData()
        content.appAppleId = ExampleShop.appAppleID
        content.bundleId = ExampleShop.bundleID
        content.bundleVersion = "1"
        content.environment = .production
        content.signedTransactionInfo = try signedTransaction(subject)
        content.signedRenewalInfo = try authority.sign(renewal(subject))
        content.status = .active
        var payload = NotificationPayload()
        payload.notificationType = subject.period == 0 ? .subscribed : .didRenew
        payload.subtype = subject.period == 0 ? .initialBuy : nil
        payload.notificationUUID = subject.uuid
        payload.version = "2.0"
        payload.signedDate = subject.signedAt
        payload.data = content
        return try authority.sign(payload)
    }

    /// The number of bytes that a notification's size is compared with: its decoded payload,
    /// without the headers of the inner documents, which contain only certificates.
    static func payloadBytes(of notification: String) throws -> Int {
        guard let payload = CompactJWS(notification)?.payload else {
            throw BenchFailure("a notification we made is not a JWS")
        }
        let data = try NotificationPayload(parsing: payload).data
        let inner = [data?.signedTransactionInfo, data?.signedRenewalInfo].compactMap(\.self)
        return payload.count
            - inner.reduce(0) { $0 + (CompactJWS($1)?.headerSegment.count ?? 0) }
    }
}
