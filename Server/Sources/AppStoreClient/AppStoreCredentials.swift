import Crypto

/// A key of App Store Connect's for in-app purchases, and whose it is. Its text never shows the
/// key.
package struct AppStoreCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// Characters of a private key in PEM; Apple's have 257.
    package static let pemLengthMax = 4096

    package let keyID: String
    package let issuerID: String
    package let bundleID: String
    let key: P256.Signing.PrivateKey

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
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
        self.key = key
    }

    package var description: String { "key \(keyID) for \(bundleID)" }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}
