import AppStoreFormats
import Crypto

/// An authenticator in this process, with one passkey. Tests change its parts to make mistakes.
package struct SoftAuthenticator: Sendable {
    /// The id of the passkey.
    package var id: [UInt8]
    package var key = P256.Signing.PrivateKey()
    /// The host for which it signs, and the origin of the page in the browser.
    package var host: String
    package var origin: String
    /// The handle of the person. It is set when the passkey is made.
    package var user: [UInt8] = []
    /// How often it has signed.
    package var counter: UInt32 = 0
    /// Whether it counts its signatures.
    package var counts = true
    package var isPresent = true
    package var isVerified = true
    /// Text that the browser adds to its report, such as `"crossOrigin":true`.
    package var more = ""

    package init(id: [UInt8] = [1, 2, 3], host: String, origin: String) {
        self.id = id
        self.host = host
        self.origin = origin
    }

    /// The fields of a form with a new passkey.
    ///
    /// - Parameter challenge: in base64url, as the page sends it.
    package mutating func register(_ challenge: String, user: String) -> [String: String] {
        self.user = Base64.url.decode(Array(user.utf8)) ?? []
        return [
            "client": Self.text(client("webauthn.create", challenge)),
            "attestation": Self.text(attestation(report(with: credential))),
        ]
    }

    /// The fields of a form that signs in.
    package mutating func sign(
        _ challenge: String, kind: String = "webauthn.get"
    ) throws -> [String: String] {
        let client = client(kind, challenge)
        let report = report()
        let signed = report + Array(SHA256.hash(data: client))
        let signature = try key.signature(for: signed).derRepresentation
        return [
            "credential": Self.text(id), "client": Self.text(client),
            "authenticator": Self.text(report), "signature": Self.text(Array(signature)),
            "user": Self.text(user),
        ]
    }

    package static func text(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.url.encode(bytes), as: UTF8.self)
    }

    // MARK: - Parts

    package func client(_ kind: String, _ challenge: String) -> [UInt8] {
        let end = more.isEmpty ? #""crossOrigin":false"# : more
        return Array(
            #"{"type":"\#(kind)","challenge":"\#(challenge)","origin":"\#(origin)",\#(end)}"#.utf8)
    }

    /// What the authenticator signs. It counts one more signature.
    package mutating func report(with credential: [UInt8] = []) -> [UInt8] {
        if counts { counter += 1 }
        let flags: UInt8 =
            (isPresent ? 0x01 : 0) | (isVerified ? 0x04 : 0) | (credential.isEmpty ? 0 : 0x40)
        let number = withUnsafeBytes(of: counter.bigEndian) { Array($0) }
        return Array(SHA256.hash(data: Array(host.utf8))) + [flags] + number + credential
    }

    /// The model, the id with its length, and the public key.
    private var credential: [UInt8] {
        let length = withUnsafeBytes(of: UInt16(id.count).bigEndian) { Array($0) }
        return [UInt8](repeating: 0, count: 16) + length + id + publicKey
    }

    /// The public key in COSE: a map with the type, the algorithm, the curve, x and y.
    package var publicKey: [UInt8] {
        let point = Array(key.publicKey.rawRepresentation)
        return [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + point.prefix(32)
            + [0x22, 0x58, 0x20] + point.suffix(32)
    }

    /// A map with `fmt`, `attStmt` and `authData`.
    package func attestation(_ report: [UInt8]) -> [UInt8] {
        let length = withUnsafeBytes(of: UInt16(report.count).bigEndian) { Array($0) }
        return [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8)
            + [0x67] + Array("attStmt".utf8) + [0xA0]
            + [0x68] + Array("authData".utf8) + [0x59] + length + report
    }
}
