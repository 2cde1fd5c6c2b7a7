import AppStoreFormats
import Ledger
import Simulator

/// What a document says, read without verification and without the server's code. The oracles use
/// these values.
struct ObservedDocument: Sendable, CustomStringConvertible {
    /// The notification's UUID; nil for other documents.
    var uuid: String?
    /// The kind of document, for people.
    var label: String
    /// The signed text. Empty for a part of an older document.
    var payload: String
    var signedAt: Int64?
    var transaction: TransactionPayload?
    var renewal: RenewalPayload?
    /// Whether this is an older document. Such a document has no separate signing time for each of
    /// its statements.
    var isLegacy = false

    /// Creates a part of an older document, which has no separate signed text.
    init(
        legacy words: String, transaction: TransactionPayload? = nil,
        renewal: RenewalPayload? = nil
    ) {
        self.label = words
        self.transaction = transaction
        self.renewal = renewal
        payload = ""
        isLegacy = true
    }

    /// Reads a notification's body. Returns nil if the body cannot be read.
    init?(notification body: [UInt8]) {
        guard let payload = try? NotificationBody(parsing: body).signedPayload,
            let notification: NotificationPayload = Self.content(of: payload)
        else { return nil }
        self.payload = payload
        uuid = notification.notificationUUID
        signedAt = notification.signedDate?.milliseconds
        let type = notification.notificationType?.rawValue ?? "-"
        label = notification.subtype.map { "\(type)/\($0.rawValue)" } ?? type
        transaction = notification.data?.signedTransactionInfo.flatMap { Self.content(of: $0) }
        renewal = notification.data?.signedRenewalInfo.flatMap { Self.content(of: $0) }
    }

    /// The payload of a JWS. Returns nil if the payload cannot be read.
    private static func content<Payload: WireObject>(of text: String) -> Payload? {
        CompactJWS(text)?.payload.flatMap { try? Payload(parsing: $0) }
    }

    /// A signed transaction, as a device posts it.
    init?(transaction text: String) {
        guard let transaction: TransactionPayload = Self.content(of: text) else { return nil }
        payload = text
        label = "a transaction"
        self.transaction = transaction
    }

    /// A signed renewal info, as a device posts it.
    init?(renewal text: String) {
        guard let renewal: RenewalPayload = Self.content(of: text) else { return nil }
        payload = text
        label = "renewal information"
        self.renewal = renewal
    }

    /// The notifications in a response, each with its documents.
    static func notifications(in answer: [UInt8]) -> [ObservedDocument] {
        let items = (try? JSON(parsing: answer))?["notificationHistory"]?.array ?? []
        return items.compactMap { item in
            guard let payload = item["signedPayload"]?.string else { return nil }
            let body: JSON = ["signedPayload": .string(payload)]
            return ObservedDocument(notification: body.bytes)
        }
    }

    /// The documents in a response about subscriptions or a history.
    static func documents(in answer: [UInt8]) -> [ObservedDocument] {
        guard let json = try? JSON(parsing: answer) else { return [] }
        let chains = (json["data"]?.array ?? []).flatMap { $0["lastTransactions"]?.array ?? [] }
        let transactions =
            (json["signedTransactions"]?.array ?? [])
            + chains.compactMap { $0["signedTransactionInfo"] }
        return transactions.compactMap { $0.string.flatMap { ObservedDocument(transaction: $0) } }
            + chains.compactMap {
                $0["signedRenewalInfo"]?.string.flatMap { ObservedDocument(renewal: $0) }
            }
    }

    /// The label, and the transaction that the document contains, if any.
    var description: String {
        guard let transaction else { return label }
        let from =
            transaction.purchaseDate.map { "\(Instant(milliseconds: $0.milliseconds))" } ?? "-"
        let until =
            transaction.expiresDate.map { "\(Instant(milliseconds: $0.milliseconds))" } ?? "-"
        return
            "\(label) of \(original ?? "-"), \(transaction.productId ?? "-"), \(from) to \(until)"
            + (transaction.revocationDate == nil ? "" : ", revoked")
    }

    /// The original transaction id of the purchase that the document is about.
    var original: String? {
        transaction?.originalTransactionId ?? renewal?.originalTransactionId
    }

    /// The last moment until which the document says that something is paid, granted, or due.
    var horizon: Int64? {
        let moments = [
            transaction?.expiresDate, renewal?.gracePeriodExpiresDate, renewal?.renewalDate,
        ]
        return moments.compactMap(\.self).map(\.milliseconds).max()
    }
}

/// The evidence that has reached the server, tracked by the trial that delivered it.
struct Evidence: Sendable {
    /// One period of one purchase, identified by its start.
    private struct Period: Hashable {
        var original: String
        var from: Int64
    }

    private var periods: [Period: TransactionPayload] = [:]
    /// When each period was first signed. A period can be bought long before it begins.
    private var firstSigned: [Period: Int64] = [:]
    private var renewals: [String: RenewalPayload] = [:]
    /// For each purchase, the renewal infos that may have arrived after the accepted renewal info.
    /// Any of them may be the latest.
    private var possibleRenewals: [String: [RenewalPayload]] = [:]
    private var possiblePeriods: [Period: [TransactionPayload]] = [:]
    /// Periods that older documents may have ended. It cannot be determined which of those
    /// documents is the latest.
    private var ambiguousPeriods: Set<Period> = []
    private var ambiguousRenewals: Set<String> = []
    private var horizons: [String: Int64] = [:]
    private var lastHeardAt: [String: Int64] = [:]
    private var lastPeriods: [String: TransactionPayload] = [:]
    private var lastSigned: [String: Int64] = [:]
    /// Notifications that the server responded to with 200.
    private(set) var acknowledged: Set<String> = []
    /// Documents that the server accepted, by their text.
    private(set) var accepted: Set<String> = []
    /// Transactions that were reported as shared with a family member.
    private(set) var shared: Set<String> = []

    /// Records a document that was sent and may have arrived.
    mutating func recordPossible(_ letter: ObservedDocument, at now: Int64) {
        guard let original = letter.original else { return }
        lastHeardAt[original] = now
        if let signed = letter.signedAt {
            lastSigned[original] = max(lastSigned[original] ?? signed, signed)
        }
        if let horizon = letter.horizon { extendHorizon(original, to: horizon, at: now) }
        if letter.isLegacy { markAmbiguous(letter, of: original) }
        if let new = letter.transaction, let from = new.purchaseDate {
            let period = Period(original: original, from: from.milliseconds)
            if let signed = new.signedDate?.milliseconds {
                firstSigned[period] = min(firstSigned[period] ?? signed, signed)
            }
            if Self.isLater(new.signedDate, than: periods[period]?.signedDate) {
                possiblePeriods[period, default: []].append(new)
            }
        }
        if let new = letter.renewal,
            Self.isLater(new.signedDate, than: renewals[original]?.signedDate)
        {
            possibleRenewals[original, default: []].append(new)
        }
    }

    private mutating func markAmbiguous(_ letter: ObservedDocument, of original: String) {
        if let renewal = letter.renewal,
            renewal.autoRenewStatus != .on || renewal.expirationIntent != nil
        {
            ambiguousRenewals.insert(original)
        }
        guard let new = letter.transaction, let from = new.purchaseDate else { return }
        let period = Period(original: original, from: from.milliseconds)
        let others = [periods[period]].compactMap(\.self) + (possiblePeriods[period] ?? [])
        let isOtherwise = others.contains {
            $0.expiresDate != nil && $0.expiresDate != new.expiresDate
        }
        if new.revocationDate != nil || new.isUpgraded == true || isOtherwise {
            ambiguousPeriods.insert(period)
        }
    }

    /// Whether a document that was signed later than this document was sent before it.
    func isOlder(_ letter: ObservedDocument) -> Bool {
        guard let signed = letter.signedAt, let last = letter.original.flatMap({ lastSigned[$0] })
        else { return false }
        return signed < last
    }

    /// Records that the server may know that a purchase lasts until `horizon`.
    mutating func extendHorizon(_ original: String, to horizon: Int64, at now: Int64) {
        lastHeardAt[original] = now
        horizons[original] = max(horizons[original] ?? horizon, horizon)
    }

    /// Records that the server may know everything that the ground truth contains about a purchase.
    mutating func extendHorizon(_ booked: TruePurchase, at now: Int64) {
        let moments = [booked.until, booked.graceUntil, booked.period?.upperBound]
        guard let last = moments.compactMap(\.self).map(\.milliseconds).max() else { return }
        extendHorizon(booked.originalTransactionID, to: last, at: now)
    }

    /// Records a document that the server has certainly accepted.
    mutating func recordAccepted(_ letter: ObservedDocument, at now: Int64) {
        recordPossible(letter, at: now)
        accepted.insert(letter.payload)
        if let uuid = letter.uuid { acknowledged.insert(uuid) }
        if let new = letter.transaction, new.inAppOwnershipType == .familyShared,
            let id = new.transactionId
        {
            shared.insert(id)
        }
        if let new = letter.transaction, let original = new.originalTransactionId,
            let from = new.purchaseDate
        {
            let period = Period(original: original, from: from.milliseconds)
            if Self.isLater(new.signedDate, than: periods[period]?.signedDate) {
                periods[period] = new
                possiblePeriods[period]?.removeAll {
                    Self.isLater(new.signedDate, than: $0.signedDate)
                }
            }
            if Self.isLater(new.purchaseDate, than: lastPeriods[original]?.purchaseDate) {
                lastPeriods[original] = periods[period]
            }
        }
        if let new = letter.renewal, let original = new.originalTransactionId,
            Self.isLater(new.signedDate, than: renewals[original]?.signedDate)
        {
            renewals[original] = new
            possibleRenewals[original]?.removeAll {
                Self.isLater(new.signedDate, than: $0.signedDate)
            }
        }
    }

    private static func isLater(_ one: AppStoreDate?, than other: AppStoreDate?) -> Bool {
        guard let one else { return false }
        return other.map { one >= $0 } ?? true
    }

    /// The latest accepted report of a period.
    func period(of original: String, from: Int64) -> TransactionPayload? {
        periods[Period(original: original, from: from)]
    }

    /// The accepted period that begins last.
    func lastPeriod(of original: String) -> TransactionPayload? { lastPeriods[original] }

    func renewal(of original: String) -> RenewalPayload? { renewals[original] }

    /// False if a document that was accepted, or may have arrived, reports a refund or revocation
    /// of a period.
    func isUnrevoked(_ told: TransactionPayload) -> Bool {
        guard let original = told.originalTransactionId, let from = told.purchaseDate else {
            return true
        }
        let period = Period(original: original, from: from.milliseconds)
        guard !ambiguousPeriods.contains(period) else { return false }
        return ([told] + (possiblePeriods[period] ?? [])).allSatisfy {
            $0.revocationDate == nil && $0.isUpgraded != true
        }
    }

    /// False if a document that was accepted, or may have arrived, reports that a purchase does not
    /// renew after a period.
    func isRenewing(after last: TransactionPayload) -> Bool {
        guard let original = last.originalTransactionId, !ambiguousRenewals.contains(original)
        else { return false }
        let told = renewals[original].map { [$0] } ?? []
        return (told + (possibleRenewals[original] ?? [])).allSatisfy {
            $0.autoRenewStatus == .on && $0.expirationIntent == nil
                || isPast($0, for: last)
        }
    }

    /// Whether a renewal info was signed before a period was bought, or is about an earlier failed
    /// payment.
    private func isPast(_ told: RenewalPayload, for last: TransactionPayload) -> Bool {
        guard let signed = told.signedDate?.milliseconds, let from = start(of: last),
            let end = last.expiresDate?.milliseconds
        else { return false }
        let period = last.originalTransactionId.map { Period(original: $0, from: from) }
        if signed < min(from, period.flatMap { firstSigned[$0] } ?? from) { return true }
        let charged = end - min(Self.chargedAheadMax, (end - from) / 2)
        return told.expirationIntent == .billingError && signed < charged
    }

    /// When the period of a payment began. Purchases of added seats are left out, because they do
    /// not begin a period.
    private func start(of last: TransactionPayload) -> Int64? {
        let from = last.purchaseDate?.milliseconds
        guard last.additionalTransactionReason == .seatAddition else { return from }
        return periods.filter {
            $0.key.original == last.originalTransactionId
                && $0.value.productId == last.productId && $0.value.expiresDate == last.expiresDate
        }.map(\.key.from).min() ?? from
    }

    /// The App Store begins to charge for the next period this long before a period ends, in
    /// milliseconds.
    private static let chargedAheadMax: Int64 = 86_400_000

    /// The last time at which the server may have received something about a purchase.
    func lastHeard(of original: String) -> Int64? { lastHeardAt[original] }

    /// The time until which the server may believe that a purchase lasts. Nil if the server cannot
    /// know the purchase.
    func horizon(of original: String) -> Int64? { horizons[original] }
}
