import AppStoreFormats
import Crypto

/// A key of App Store Connect's for in-app purchases, and whose it is. Its text never shows the
/// key.
package struct AppStoreCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// Characters of a private key in PEM; Apple's have 257.
    private static let pemLengthMax = 4096

    package let keyID: String
    package let issuerID: String
    package let bundleID: String
    private let sign: @Sendable ([UInt8]) throws -> P256.Signing.ECDSASignature

    /// That a text is not the private key it should be.
    package struct Unusable: Error, Hashable, Sendable {
        package let remedy = "Use the .p8 file of an In-App Purchase key as it was downloaded."
    }

    /// - Parameter privateKey: the text of Apple's `.p8` file: PKCS#8 in PEM, P-256.
    package init(
        keyID: String, issuerID: String, bundleID: String, privateKey: String
    ) throws(Unusable) {
        guard privateKey.utf8.count <= Self.pemLengthMax,
            let key = try? P256.Signing.PrivateKey(pemRepresentation: privateKey)
        else { throw Unusable() }
        self.init(keyID: keyID, issuerID: issuerID, bundleID: bundleID) {
            try key.signature(for: $0)
        }
    }

    /// - Parameter sign: what signs with the key, by P-256 and SHA-256, wherever that is kept.
    package init(
        keyID: String, issuerID: String, bundleID: String,
        sign: @escaping @Sendable ([UInt8]) throws -> P256.Signing.ECDSASignature
    ) {
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
        self.sign = sign
    }

    package var description: String { "key \(keyID) for \(bundleID)" }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}

extension AppStoreCredentials {
    /// Claims in a compact JWS (RFC 7515), as Apple wants its tokens: ES256, and the key named.
    ///
    /// - Throws: where the key does not sign.
    func jws(_ claims: JSON) throws(AppStoreFailure) -> String {
        try CompactJWS.text(claims, by: keyID) { (bytes) throws(AppStoreFailure) in
            [UInt8](try signature(for: bytes).rawRepresentation)
        }
    }

    /// - Throws: where the key does not sign.
    func signature(
        for bytes: [UInt8]
    ) throws(AppStoreFailure) -> P256.Signing.ECDSASignature {
        do { return try sign(bytes) } catch {
            throw .unauthorized("The key \(keyID) does not sign: \(error).")
        }
    }
}
