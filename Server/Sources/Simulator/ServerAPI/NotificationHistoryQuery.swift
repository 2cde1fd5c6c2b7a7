import AppStoreFormats

/// A filter of notifications, as defined on the page "NotificationHistoryRequest".
struct NotificationHistoryQuery: Hashable, Sendable {
    private static let dayMilliseconds: Int64 = 86_400_000

    let start: Int64
    let end: Int64
    let type: NotificationType?
    let subtype: NotificationSubtype?
    /// A transaction id of any kind, to list only one customer's notifications. Nil lists all.
    let transactionID: String?
    let onlyFailures: Bool

    init(
        _ body: JSON, in environment: SimulatedEnvironment, at now: AppStoreDate
    ) throws(APIError) {
        guard let start = body["startDate"]?.integer, start >= 0 else { throw .invalidStartDate }
        guard let end = body["endDate"]?.integer, end >= 0 else { throw .invalidEndDate }
        let past = now.milliseconds - Self.daysKept(in: environment) * Self.dayMilliseconds
        guard start >= past else { throw .startDateTooFarInPast }
        guard start < end else { throw .startDateAfterEndDate }
        self.start = start
        self.end = end
        type = try Self.word(body["notificationType"], among: NotificationType.known)
        subtype = try Self.word(body["notificationSubtype"], among: NotificationSubtype.known)
        transactionID = body["transactionId"]?.string
        onlyFailures = body["onlyFailures"]?.bool ?? false
        if transactionID != nil, type != nil { throw .multipleFiltersSupplied }
        if subtype != nil, type == nil { throw .invalidNotificationType }
    }

    private static func daysKept(in environment: SimulatedEnvironment) -> Int64 {
        switch environment {
        case .production: 180
        case .sandbox: 30
        }
    }

    private static func word<Word: OpenEnumeration>(
        _ value: JSON?, among known: Set<Word>
    ) throws(APIError) -> Word? {
        guard let value, value != .null else { return nil }
        guard let word = Word(json: value), known.contains(word) else {
            throw .invalidNotificationType
        }
        return word
    }

    /// Whether a notification matches. `account` is the owner of the query's transaction id.
    func includes(_ sent: SentNotification, account: Account.Key?) -> Bool {
        let notice = sent.draft
        return (start...end).contains(notice.at.milliseconds)
            && (type == nil || type == notice.type)
            && (subtype == nil || subtype == notice.subtype)
            && (account == nil || account?.name == notice.account)
            && (!onlyFailures || !sent.attempts.contains { $0.result.isSuccess })
    }

    // MARK: - Pages

    /// The token of the page after a notification. The token is valid for this query only.
    func token(after uuid: String) -> String {
        String(decoding: Base64.url.encode(Array("\(uuid) \(fingerprint)".utf8)), as: UTF8.self)
    }

    /// The uuid of the last notification before the page that a token names.
    func uuid(in token: String) throws(APIError) -> String {
        guard let bytes = Base64.url.decode(Array(token.utf8)) else {
            throw .invalidPaginationToken
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let space = text.firstIndex(of: " "), text[space...].dropFirst() == fingerprint else {
            throw .invalidPaginationToken
        }
        return String(text[..<space])
    }

    private var fingerprint: String {
        "\(start) \(end) \(type?.rawValue ?? "") \(subtype?.rawValue ?? "") "
            + "\(transactionID ?? "") \(onlyFailures)"
    }
}

extension NotificationType {
    fileprivate static let known: Set<Self> = [
        .consumptionRequest, .didChangeRenewalPref, .didChangeRenewalStatus, .didFailToRenew,
        .didRenew, .expired, .externalPurchaseToken, .gracePeriodExpired, .metadataUpdate,
        .migration, .offerRedeemed, .oneTimeCharge, .priceChange, .priceIncrease, .refund,
        .refundDeclined, .refundReversed, .renewalExtended, .renewalExtension, .rescindConsent,
        .revoke, .subscribed, .test,
    ]
}

extension NotificationSubtype {
    fileprivate static let known: Set<Self> = [
        .accepted, .activeTokenReminder, .autoRenewDisabled, .autoRenewEnabled, .billingRecovery,
        .billingRetry, .created, .downgrade, .failure, .gracePeriod, .initialBuy, .pending,
        .priceIncrease, .productNotForSale, .resubscribe, .summary, .unreported, .upgrade,
        .voluntary,
    ]
}
