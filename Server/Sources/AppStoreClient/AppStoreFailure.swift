import AppStoreFormats

/// Why a call has no result. A failure never proves that a customer is not entitled.
package enum AppStoreFailure: Error, Hashable, Sendable {
    /// This environment does not know the id now. Occasionally the App Store responds with 404 for
    /// an id that exists, so this means "unknown", never "not entitled".
    case unknownID
    /// 401: the App Store did not accept the token, and does not say why. For verifyReceipt: the
    /// App Store did not accept the shared secret.
    case unauthorized(String, remedy: String = keyRemedy)
    /// No call may be made before this time, because Apple or our own rate limit says so.
    case rateLimited(until: AppStoreDate)
    /// A network failure, a status of 5xx, or an error code for which Apple says to retry the
    /// request.
    case unavailable(String)
    /// One of Apple's error codes for which a retry is useless.
    case refused(code: Int64, message: String)
    /// The response is not what the call expects.
    case unreadable(String)

    package static let keyRemedy =
        "Compare key_id, issuer_id and bundle_id with App Store Connect, the key file with its "
        + "id, and check this machine's clock. Production also refuses every key until the app "
        + "has first been released."
}

extension AppStoreFailure {
    /// The pause if Apple does not say when to try again.
    static let pauseMilliseconds: Int64 = 60_000
    /// The longest pause that we accept from Apple: its limits are counted by the hour.
    static let pauseMillisecondsMax: Int64 = 3_600_000
    /// The maximum number of response characters quoted in a message.
    private static let quotedLengthMax = 200

    /// Interprets a response. Returns nil if the response is successful.
    ///
    /// Error codes take precedence over HTTP statuses: the same 404 can be an unknown id, a failure
    /// to retry, or a setting missing in App Store Connect.
    ///
    /// - Parameter keyID: the key used for the request; nil if it was made without a key.
    init?(_ response: AppStoreResponse, keyID: String?, now: AppStoreDate) {
        guard response.body.count <= AppStoreResponse.bodyBytesMax else {
            self = .unreadable("more than \(AppStoreResponse.bodyBytesMax) bytes")
            return
        }
        switch response.status {
        case 200...299: return nil
        case 401:
            self =
                keyID.map { .unauthorized("The App Store does not accept the key \($0).") }
                ?? .unreadable(Self.text(of: response))
        case 429: self = .rateLimited(until: Self.moment(response, now: now))
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
        if ErrorCode.unknownIDs.contains(code) { return .unknownID }
        return .refused(code: number, message: json["errorMessage"]?.string ?? "")
    }

    private static func text(of response: AppStoreResponse) -> String {
        let body = String(decoding: response.body.prefix(quotedLengthMax), as: UTF8.self)
        return "status \(response.status)\(body.isEmpty ? "" : ": \(body)")"
    }

    /// Returns when to try again, according to `Retry-After`: Unix time in milliseconds
    /// ("Identifying rate limits"). A proxy may send other values: a number too small to be a Unix
    /// time counts seconds from now, and a date counts from the date of the response (RFC 9110
    /// §10.2.3).
    static func moment(_ response: AppStoreResponse, now: AppStoreDate) -> AppStoreDate {
        let text = response.retryAfter
        let number = text.flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        let date = text.flatMap { HTTPDate.moment($0) }
        let wait: Int64
        switch number {
        case nil:
            wait =
                date.map { $0.milliseconds - (response.date ?? now).milliseconds }
                ?? pauseMilliseconds
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
        case .unknownID: "The App Store does not know this id."
        case .unauthorized(let reason, _): reason
        case .rateLimited(let until):
            "Apple's rate limit, or our own, allows no call until "
                + "\(until.milliseconds) ms since 1970."
        case .unavailable(let reason): "The App Store is unavailable: \(reason)."
        case .refused(let code, let message): "The App Store refused with \(code): \(message)"
        case .unreadable(let what): "This is not a valid App Store response: \(what)."
        }
    }

    /// What an operator can do about the failure.
    package var remedy: String {
        switch self {
        case .unknownID: "Try the other environment, or try again later."
        case .unauthorized(_, let remedy): remedy
        case .rateLimited: "None needed: the call is retried then."
        case .unavailable: "None needed unless it persists: then check the outgoing network."
        case .refused(let code, _):
            ErrorCode(rawValue: code).remedy
                ?? (VerifyReceiptStatus.range.contains(code)
                    ? "See the number on Apple's page “status” (of verifyReceipt's responseBody)."
                    : "See the number on Apple's page “Error codes”.")
        case .unreadable: "Check whether a proxy responds instead of Apple."
        }
    }
}
