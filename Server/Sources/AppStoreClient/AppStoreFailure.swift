import AppStoreFormats

/// Why a call has no answer. None of these says that a customer may not use something.
package enum AppStoreFailure: Error, Hashable, Sendable {
    /// This store does not know the id, or not just now: 404 is also answered, seldom, for an id
    /// that exists. So it means "unknown", never "not entitled".
    case unknownThere
    /// 401: the token, which Apple does not explain. Of verifyReceipt: the shared secret.
    case unauthorized(String, remedy: String = keyRemedy)
    /// Not before then: by Apple's word, or by our own budget.
    case tooMany(until: AppStoreDate)
    /// Network, a status of 5xx, or a code that Apple says to try again.
    case unavailable(String)
    /// A code of Apple's that a repeat does not change.
    case refused(code: Int64, message: String)
    /// What came is not what was asked for.
    case unreadable(String)

    package static let keyRemedy =
        "Compare key_id, issuer_id and bundle_id with App Store Connect, the key's file with its "
        + "id, and this machine's clock with the time. Production also answers so until the app "
        + "has first been released."
}

extension AppStoreFailure {
    /// Where Apple says nothing usable about when to come back.
    static let pauseMilliseconds: Int64 = 60_000
    /// The longest rest we take at Apple's word: its limits are counted by the hour.
    static let pauseMillisecondsMax: Int64 = 3_600_000
    /// Characters of an answer that are told to an operator.
    private static let quotedLengthMax = 200

    /// What an answer means; nil where it is a good one.
    ///
    /// Codes count more than statuses: the same 404 is an unknown id, a failure to be tried again,
    /// or a setting that is missing in App Store Connect.
    ///
    /// - Parameter keyID: the key that the question was asked with; nil where it was asked without.
    init?(_ response: AppStoreResponse, keyID: String?, now: AppStoreDate) {
        guard response.body.count <= AppStoreResponse.bodyBytesMax else {
            self = .unreadable("over \(AppStoreResponse.bodyBytesMax) bytes")
            return
        }
        switch response.status {
        case 200...299: return nil
        case 401:
            self =
                keyID.map { .unauthorized("The App Store does not accept the key \($0).") }
                ?? .unreadable(Self.text(of: response))
        case 429: self = .tooMany(until: Self.moment(response.retryAfter, now: now))
        case 408, 500...599: self = .unavailable(Self.text(of: response))
        case 400...499: self = Self.refusal(response)
        default: self = .unreadable(Self.text(of: response))
        }
    }

    private static func refusal(_ response: AppStoreResponse) -> Self {
        guard let json = try? JSON(parsing: response.body), let number = json["errorCode"]?.integer
        else { return .unreadable(text(of: response)) }
        let code = ErrorCode(rawValue: number)
        if ErrorCode.retryable.contains(code) { return .unavailable(text(of: response)) }
        if ErrorCode.unknownIDs.contains(code) { return .unknownThere }
        return .refused(code: number, message: json["errorMessage"]?.string ?? "")
    }

    private static func text(of response: AppStoreResponse) -> String {
        let body = String(decoding: response.body.prefix(quotedLengthMax), as: UTF8.self)
        return "status \(response.status)\(body.isEmpty ? "" : ": \(body)")"
    }

    /// `Retry-After` is Unix time in milliseconds ("Identifying rate limits"). What is far too
    /// small for that is a proxy's, and seconds from now (RFC 9110 §10.2.3).
    static func moment(_ retryAfter: String?, now: AppStoreDate) -> AppStoreDate {
        let number = retryAfter.flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        let wait: Int64
        switch number {
        case nil: wait = pauseMilliseconds
        case let number? where number <= pauseMillisecondsMax: wait = number * 1000
        case let number?: wait = number - now.milliseconds
        }
        return AppStoreDate(
            milliseconds: now.milliseconds + min(max(wait, 1000), pauseMillisecondsMax))
    }
}

extension AppStoreFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownThere: "The App Store does not know this id."
        case .unauthorized(let reason, _): reason
        case .tooMany(let until):
            "The calls that Apple, or our own pace, allows are used up until "
                + "\(until.milliseconds) ms since 1970."
        case .unavailable(let reason): "The App Store is not to be had: \(reason)."
        case .refused(let code, let message): "The App Store refuses with \(code): \(message)"
        case .unreadable(let what): "This is no answer of the App Store: \(what)."
        }
    }

    /// What an operator can do.
    package var remedy: String {
        switch self {
        case .unknownThere: "Ask the other store, or again later."
        case .unauthorized(_, let remedy): remedy
        case .tooMany: "Nothing: it is asked again then."
        case .unavailable: "Nothing, unless it lasts: then look at this machine's way out."
        case .refused(let code, _):
            ErrorCode(rawValue: code).remedy
                ?? (VerifyReceiptStatus.range.contains(code)
                    ? "Look the number up in Apple's “status”, of what verifyReceipt answers."
                    : "Look the number up in Apple's “Error codes”.")
        case .unreadable: "See whether a proxy answers instead of Apple."
        }
    }
}
