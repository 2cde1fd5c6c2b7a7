import Crypto

/// The site for which passkeys are made: its host and its origin. It verifies the answers of
/// authenticators (Web Authentication Level 3, 7).
///
/// The checks, in this order: the kind, the challenge, the origin and the frame, which the browser
/// reports; the host, the presence and the verification of the person, which the authenticator
/// reports; the key, or the signature; the counter. Attestation is not requested, and statements of
/// it are ignored: the server does not care which company made an authenticator.
package struct RelyingParty: Hashable, Sendable {
    /// The maximum size of a passkey's id, in bytes (Web Authentication Level 3, 4).
    package static let idBytesMax = 1_023
    /// The maximum size of a person's handle, in bytes.
    static let userBytesMax = 64
    static let attestationBytesMax = 8_192
    static let signatureBytesMax = 1_024

    /// The host, for which passkeys are valid.
    package let id: String
    /// Scheme, host and port of the pages, as browsers write an origin.
    package let origin: String

    /// - Parameter origin: such as `https://store.example.com`. The result is nil if browsers make
    ///   no passkeys there: they need https and a name, or `localhost`.
    package init?(origin: String) {
        let parts = origin.split(separator: "://", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let host = parts[1].prefix { $0 != ":" }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        // Browsers take a host for an address of IP if its last part is a number.
        guard let last = labels.last, !labels.contains(""), !last.allSatisfy(\.isNumber),
            !host.contains("["), host == "localhost" || parts[0] == "https"
        else { return nil }
        id = String(host)
        self.origin = origin
    }

    /// Verifies the answer with a new passkey.
    ///
    /// - Parameter challenge: the bytes that the page sent to the browser.
    package func verify(
        _ answer: RegistrationAnswer, challenge: [UInt8]
    ) throws(PasskeyFailure) -> VerifiedRegistration {
        try ClientReport(parsing: answer.client)
            .require(.registration, challenge: challenge, origin: origin)
        var reader = CBORReader(answer.attestation)
        let attestation = try reader.value()
        guard reader.isAtEnd, let bytes = attestation[.text("authData")]?.bytes,
            attestation[.text("fmt")]?.text != nil
        else { throw .unreadable("it is not an attestation object") }
        let report = try AuthenticatorReport(parsing: bytes)
        try report.require(host: id)
        guard let credential = report.credential else {
            throw .unreadable("it contains no passkey")
        }
        return VerifiedRegistration(
            credential: credential.id, key: credential.key, counter: report.counter)
    }

    /// Verifies the answer of a sign-in.
    ///
    /// - Parameter challenge: the bytes that the page sent to the browser.
    /// - Parameter key: the stored key of the passkey.
    /// - Parameter counter: the counter of the passkey's last answer.
    package func verify(
        _ answer: AssertionAnswer, challenge: [UInt8], key: PasskeyPublicKey, counter: UInt32
    ) throws(PasskeyFailure) -> VerifiedAssertion {
        try ClientReport(parsing: answer.client)
            .require(.assertion, challenge: challenge, origin: origin)
        let report = try AuthenticatorReport(parsing: answer.authenticator)
        try report.require(host: id)
        let signed = answer.authenticator + Array(SHA256.hash(data: answer.client))
        guard key.isValid(answer.signature, for: signed) else { throw .invalidSignature }
        // Passkeys that are copied to all devices of a person do not count: both are 0.
        guard report.counter > counter || (report.counter == 0 && counter == 0) else {
            throw .counterBack(from: counter, to: report.counter)
        }
        return VerifiedAssertion(credential: answer.credential, counter: report.counter)
    }
}

/// A new passkey whose registration was verified. Only ``RelyingParty`` can make this value.
package struct VerifiedRegistration: Hashable, Sendable {
    package let credential: [UInt8]
    package let key: PasskeyPublicKey
    package let counter: UInt32

    fileprivate init(credential: [UInt8], key: PasskeyPublicKey, counter: UInt32) {
        self.credential = credential
        self.key = key
        self.counter = counter
    }
}

/// A signature of a passkey that was verified. Only ``RelyingParty`` can make this value.
package struct VerifiedAssertion: Hashable, Sendable {
    package let credential: [UInt8]
    package let counter: UInt32

    fileprivate init(credential: [UInt8], counter: UInt32) {
        self.credential = credential
        self.counter = counter
    }
}
