import AppStoreFormats

/// A browser's answer to the request to sign with a passkey.
package struct AssertionAnswer: Hashable, Sendable {
    /// The id of the passkey.
    package var credential: [UInt8]
    /// The handle of the person, as it was when the passkey was made. Empty if the authenticator
    /// does not say it.
    package var user: [UInt8]
    var client: [UInt8]
    var authenticator: [UInt8]
    var signature: [UInt8]

    /// All texts are in base64url without padding.
    ///
    /// - Parameter client: `clientDataJSON`.
    /// - Parameter authenticator: `authenticatorData`.
    /// - Parameter user: `userHandle`; may be empty.
    package init(
        credential: String, client: String, authenticator: String, signature: String, user: String
    ) throws(PasskeyFailure) {
        self.credential = try credential.passkeyBytes(max: RelyingParty.idBytesMax)
        self.client = try client.passkeyBytes(max: ClientReport.bytesMax)
        self.authenticator = try authenticator.passkeyBytes(max: AuthenticatorReport.bytesMax)
        self.signature = try signature.passkeyBytes(max: RelyingParty.signatureBytesMax)
        self.user = try user.passkeyBytes(max: RelyingParty.userBytesMax)
    }
}

extension String {
    /// The bytes of which this text is the base64url.
    func passkeyBytes(max: Int) throws(PasskeyFailure) -> [UInt8] {
        guard utf8.count <= Base64.url.count(of: max),
            let bytes = Base64.url.decode(Array(utf8))
        else { throw .unreadable("a part is not base64url, or is too long") }
        return bytes
    }
}
