import HTTPTypes
import PerennialContract

/// Everything that a response says about a failure: the status, title and remedy of each problem
/// code. Each code has one entry, which states its status. Variants of the entry have the same
/// status.
///
/// A 5xx status means that the same request may succeed later; the App Store then sends its
/// notification again. A 4xx status means that the same request never succeeds. There are two
/// exceptions: after 429 it may succeed later, and after 408 it may succeed if it is sent faster.
enum ProblemCatalogue {
    static let retryAfterSeconds = 30

    /// What a response says about one failure.
    struct Entry: Sendable {
        let code: ProblemCode
        let status: HTTPResponse.Status
        var title: String
        /// What exactly is wrong with this request. If the thrown problem has a detail, that
        /// replaces this text.
        var detail: String?
        var remedy: String
        var headers: HTTPFields

        init(
            _ code: ProblemCode, _ status: HTTPResponse.Status, _ title: String,
            detail: String? = nil, remedy: String, headers: HTTPFields = [:]
        ) {
            (self.code, self.status) = (code, status)
            (self.title, self.detail, self.remedy) = (title, detail, remedy)
            self.headers = headers
            if status == .serviceUnavailable {
                self.headers[.retryAfter] = String(ProblemCatalogue.retryAfterSeconds)
            }
        }

        /// Returns the entry for a special case of the same code. A text that is nil stays as in
        /// the entry.
        func variant(
            _ title: String? = nil, detail: String? = nil, remedy: String? = nil
        ) -> Self {
            var variant = self
            variant.title = title ?? self.title
            variant.detail = detail ?? self.detail
            variant.remedy = remedy ?? self.remedy
            return variant
        }
    }

    /// The entry of each code that a route can send. If an entry depends on the request, this is an
    /// example.
    static let entries =
        requestEntries + customerEntries + documentEntries + seatEntries + serverEntries

    fileprivate static let entriesByCode = Dictionary(
        uniqueKeysWithValues: (entries + pageEntries).map { ($0.code, $0) })

    /// Problems of the server: the same request may succeed later.
    private static let serverEntries: [Entry] = [
        Entry(
            .limitReached, .tooManyRequests, "A limit is reached.",
            remedy: "Wait as long as Retry-After says, then repeat the request."),
        Entry(
            .serverBusy, .serviceUnavailable,
            "The database is busy: too many requests wait for it, or this one took too long.",
            remedy: "Send the same request again later."),
        Entry(
            .storageUnavailable, .serviceUnavailable, "The server cannot use its database now.",
            remedy: "Send the same request again later."),
        Entry(
            .serverNotReady, .serviceUnavailable, "The server is not ready.",
            remedy: "Wait, then try again."),
        Entry(
            .serverFailed, .internalServerError, "The server failed.",
            remedy: "Try again. If it fails again, send this request_id to the operator."),
        Entry(
            .appNotConfigured, .internalServerError, "The app of this key is not configured.",
            remedy: "Add it to perennial.yaml again, or use a key of another app."),
        Entry(
            .signingTimeInFuture, .serviceUnavailable,
            "The server cannot verify right now whether this is genuine.",
            remedy: "Send it again later."),
        Entry(
            .forwardNotAccepted, .serviceUnavailable,
            "A forwarding target has not accepted the notification.",
            remedy: "Send it again later, or set forward_policy to own."),
    ]
}

extension ProblemCatalogue.Entry {
    /// Returns the entry of a code. A test ensures that each code has an entry.
    static func of(_ code: ProblemCode) -> Self {
        guard let entry = ProblemCatalogue.entriesByCode[code] else {
            preconditionFailure("The problem code \(code.rawValue) has no entry.")
        }
        return entry
    }

    static let tooManyBodyBytes = of(.serverBusy).variant(
        "The server holds too many request bodies at the moment.")

    static let tooManyWaits = of(.serverBusy).variant(
        "Too many requests are waiting for a change.",
        remedy: "Send the same request later, or leave out wait.")

    /// One caller has reached a limit.
    static func limitReached(_ limit: CallerLimit, max: Int) -> Self {
        let entry = of(.limitReached)
        return entry.variant(
            detail: limit.sentence(max: max),
            remedy: [
                entry.remedy, limit.alternative,
                "The operator can set \(limit.rawValue) below limits in perennial.yaml.",
            ].compactMap(\.self).joined(separator: " "))
    }

    static func tooManyStreams(max: Int) -> Self {
        of(.serverBusy).variant(
            "Too many event streams are open.", detail: "At most \(max) are open at one time.",
            remedy: "Close unused streams, or connect later. GET /v1/events?wait=30 "
                + "gives the same events without a stream.")
    }
}
