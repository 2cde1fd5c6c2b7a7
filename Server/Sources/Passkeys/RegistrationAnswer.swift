/// A browser's answer to the request to make a passkey.
package struct RegistrationAnswer: Hashable, Sendable {
    var client: [UInt8]
    var attestation: [UInt8]

    /// - Parameter client: `clientDataJSON`, in base64url without padding.
    /// - Parameter attestation: `attestationObject`, in base64url without padding.
    package init(client: String, attestation: String) throws(PasskeyFailure) {
        self.client = try client.passkeyBytes(max: ClientReport.bytesMax)
        self.attestation = try attestation.passkeyBytes(max: RelyingParty.attestationBytesMax)
    }
}
