import AppStoreFormats
import Foundation

/// Why a document can never be trusted: what was expected, and what was found instead.
package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        case tooLong
        case notAJWS
        case headerUnreadable
        case criticalHeader
        case algorithm
        case certificateCount
        case certificateUnreadable
        case untrustedChain
        case missingMarker
        case wrongKeyUsage
        case badSignature
        case payloadUnreadable
        /// The document is not a receipt, or not in Apple's form.
        case receiptUnreadable
        case notValidAtSigning
        case fieldMissing
        case wrongBundle
        case wrongAppAppleID
        /// The receipt is for a different device from the one that claims to have sent it.
        case wrongDevice
        /// A version 1 notification does not contain the app's shared secret.
        case wrongSecret
        case wrongEnvironment
        /// The document was signed by Xcode or in a local test, where anybody can sign.
        case environmentNeverTrusted
    }

    /// The document that was refused: the received one, or one inside a notification.
    package enum Subject: String, Hashable, Sendable {
        case document = "The document"
        case receipt = "The receipt"
        case notification = "The notification"
        case transactionWithin = "The transaction within the notification"
        case renewalWithin = "The renewal information within the notification"
        case appTransactionWithin = "The app transaction within the notification"
    }

    /// The maximum number of characters of received text that a refusal repeats.
    package static let foundCharactersMax = 200

    /// Whether the document is a transaction or renewal info that Xcode's local store has signed.
    /// Receipts of Xcode can be accepted.
    package var isFromXcode: Bool {
        reason == .environmentNeverTrusted && subject != .receipt
    }

    /// Whether the document was not even read, because it is too large. Such a document may be
    /// genuine.
    package var isTooLong: Bool { reason == .tooLong }

    package var reason: Reason
    package var expected: String
    package var found: String
    package var subject: Subject

    package init(
        _ reason: Reason, expected: String, found: String, of subject: Subject = .document
    ) {
        self.reason = reason
        self.expected = expected
        self.found = Self.printable(found)
        self.subject = subject
    }

    /// One sentence for people, such as "The document is for bundle com.example.wrong, expected
    /// com.example."
    package var sentence: String {
        switch reason {
        case .notAJWS:
            "\(subject.rawValue) is not signed: it has \(found) instead of \(expected). Was it cut "
                + "off?"
        case .untrustedChain:
            found.contains(Self.simulatorName)
                ? "\(subject.rawValue) was signed by another simulator. This server trusts "
                    + "\(expected)."
                : "\(subject.rawValue) was not signed by Apple: its certificates lead to \(found). "
                    + "This server trusts \(expected)."
        default: "\(subject.rawValue) \(reason.verb) \(found), expected \(expected)."
        }
    }

    /// The beginning of the names of our simulator's certificates.
    package static let simulatorName = "Perennial Simulator"

    package var description: String { sentence }

    // The found value comes from an untrusted sender. The value may be very long, or contain line
    // breaks that look like lines of our log.
    private static func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(foundCharactersMax).map { scalar in
            scalar.properties.generalCategory == .control ? "\u{FFFD}" : Character(scalar)
        }
        return String(scalars)
    }
}

extension Refusal.Reason {
    /// Whether the document can be read, but is for another app or from another environment.
    var isAnotherApp: Bool {
        switch self {
        case .wrongBundle, .wrongAppAppleID, .wrongEnvironment, .environmentNeverTrusted: true
        default: false
        }
    }

    /// The words between the subject and the found value.
    fileprivate var verb: String {
        switch self {
        case .tooLong, .notAJWS, .criticalHeader: "has"
        case .headerUnreadable: "has a header that is"
        case .algorithm: "is signed with"
        case .certificateCount, .certificateUnreadable: "carries"
        case .untrustedChain: "has certificates that lead to"
        case .missingMarker, .wrongKeyUsage: "has"
        case .badSignature: "has"
        case .payloadUnreadable: "has a payload that is"
        case .receiptUnreadable: "is"
        case .notValidAtSigning: "was signed at"
        case .fieldMissing: "has"
        case .wrongBundle: "is for bundle"
        case .wrongAppAppleID: "is for the app with Apple id"
        case .wrongDevice: "is for"
        case .wrongSecret: "has"
        case .wrongEnvironment, .environmentNeverTrusted: "is from environment"
        }
    }
}

/// Why a properly signed document cannot be accepted now: it was signed later than our clock's
/// current time. Apple's clocks are reliable, so ours may be wrong, and the document should be
/// verified again later.
package struct ClockMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    package var signedAt: AppStoreDate
    package var now: AppStoreDate

    package init(signedAt: AppStoreDate, now: AppStoreDate) {
        self.signedAt = signedAt
        self.now = now
    }

    package var sentence: String {
        "The document was signed at \(signedAt.text), but our clock says \(now.text): "
            + "set the clock, then try again."
    }

    package var description: String { sentence }
}

extension AppStoreDate {
    /// RFC 3339, in UTC.
    var text: String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
