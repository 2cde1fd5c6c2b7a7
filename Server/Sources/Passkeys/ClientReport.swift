import AppStoreFormats

/// What the browser says about a request to an authenticator: the page that made it, and its
/// challenge (Web Authentication Level 3, 5.8.1).
struct ClientReport: Hashable, Sendable {
    enum Kind: String {
        case registration = "webauthn.create"
        case assertion = "webauthn.get"
    }

    /// The maximum size of a report, in bytes.
    static let bytesMax = 4_096

    let kind: String
    let challenge: [UInt8]
    let origin: String
    /// Whether the page was in a frame of another site.
    let isFramed: Bool

    init(parsing bytes: [UInt8]) throws(PasskeyFailure) {
        guard bytes.count <= Self.bytesMax, let json = try? JSON(parsing: bytes),
            let kind = json["type"]?.string, let origin = json["origin"]?.string,
            let text = json["challenge"]?.string,
            let challenge = Base64.url.decode(Array(text.utf8))
        else { throw .unreadable("the browser's part is not the JSON that browsers write") }
        self.kind = kind
        self.challenge = challenge
        self.origin = origin
        isFramed = (json["crossOrigin"]?.bool ?? false) || json["topOrigin"] != nil
    }

    func require(
        _ kind: Kind, challenge: [UInt8], origin: String
    ) throws(PasskeyFailure) {
        guard self.kind == kind.rawValue else { throw .otherKind }
        guard self.challenge == challenge else { throw .otherChallenge }
        guard self.origin == origin else { throw .otherOrigin }
        guard !isFramed else { throw .framed }
    }
}
