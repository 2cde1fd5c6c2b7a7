import AppStoreFormats
import Crypto

/// A private key of App Store Connect (an In-App Purchase key, or a team key for reports) with its
/// ids. The text representation never contains the private key.
package struct AppStoreCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// The maximum length of a private key in PEM; Apple's have 257 characters.
    private static let pemLengthMax = 4096

    package let keyID: String
    package let issuerID: String
    /// The bundle id of the key's app. Nil for a team key, which belongs to no single app.
    package let bundleID: String?
    private let sign: @Sendable ([UInt8]) throws -> P256.Signing.ECDSASignature

    /// Thrown if a text is not a valid private key.
    package struct UnusableKey: Error, Hashable, Sendable {
        package let remedy = "Use the .p8 file of an In-App Purchase key, unchanged."
    }

    /// - Parameter privateKey: the text of Apple's `.p8` file: PKCS#8 in PEM, P-256.
    package init(
        keyID: String, issuerID: String, bundleID: String?, privateKey: String
    ) throws(UnusableKey) {
        guard privateKey.utf8.count <= Self.pemLengthMax,
            let key = try? P256.Signing.PrivateKey(pemRepresentation: privateKey)
        else { throw UnusableKey() }
        self.init(keyID: keyID, issuerID: issuerID, bundleID: bundleID) {
            try key.signature(for: $0)
        }
    }

    /// - Parameter sign: signs bytes with the key (P-256 and SHA-256), wherever the key is stored.
    package init(
        keyID: String, issuerID: String, bundleID: String?,
        sign: @escaping @Sendable ([UInt8]) throws -> P256.Signing.ECDSASignature
    ) {
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
        self.sign = sign
    }

    package var description: String { "key \(keyID) for \(bundleID ?? "the team")" }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}

extension AppStoreCredentials {
    /// Signs claims as a compact JWS (RFC 7515) in the form of Apple's tokens: ES256, with the key
    /// id.
    ///
    /// - Throws: if signing fails.
    func jws(_ claims: JSON) throws(AppStoreFailure) -> String {
        try CompactJWS.text(claims, by: keyID) { (bytes) throws(AppStoreFailure) in
            [UInt8](try signature(for: bytes).rawRepresentation)
        }
    }

    /// Signs bytes with the key (P-256 and SHA-256).
    ///
    /// - Throws: if signing fails.
    func signature(
        for bytes: [UInt8]
    ) throws(AppStoreFailure) -> P256.Signing.ECDSASignature {
        do { return try sign(bytes) } catch {
            throw .unauthorized("Signing with key \(keyID) failed: \(error).")
        }
    }
}
