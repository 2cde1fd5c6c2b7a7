/// Why the answer of an authenticator is refused.
package enum PasskeyFailure: Error, Hashable, Sendable {
    /// A part of the answer is malformed or too long. The text says what is wrong with the answer.
    case unreadable(String)
    /// The answer is of another kind: a sign-in instead of a new passkey, or the other way round.
    case otherKind
    case otherChallenge
    /// The answer was made on a page of another site.
    case otherOrigin
    /// The answer was made in a frame within a page of another site.
    case framed
    /// The answer is for another host.
    case otherHost
    /// Nobody touched the authenticator.
    case notPresent
    /// The authenticator did not verify who the person is, by a PIN, a finger or a face.
    case notVerified
    /// The key is of a kind that this server does not verify, or is invalid.
    case unsupportedKey
    case invalidSignature
    /// The counter of signatures did not grow, so the passkey may have been copied.
    case counterBack(from: UInt32, to: UInt32)

    /// What is wrong, as a sentence for the person who uses the passkey.
    package var sentence: String {
        switch self {
        case .unreadable(let what): "The browser's answer cannot be read: \(what)."
        case .otherKind: "The browser's answer is of another kind."
        case .otherChallenge: "The browser's answer is for another request, or an earlier one."
        case .otherOrigin: "The browser's answer was made on a page of another site."
        case .framed: "The browser's answer was made within a page of another site."
        case .otherHost: "The passkey is for another host."
        case .notPresent: "The device did not ask you to touch it."
        case .notVerified: "The device did not check your PIN, finger or face."
        case .unsupportedKey: "The passkey has a kind of key that this server does not know."
        case .invalidSignature: "The signature of the passkey is wrong."
        case .counterBack: "The passkey was refused, because it may have been copied."
        }
    }
}
