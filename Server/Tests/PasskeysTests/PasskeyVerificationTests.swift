import AppStoreFormats
import Crypto
import SoftAuthenticator
import Testing

@testable import Passkeys

/// Which answers of authenticators are accepted.
@Suite struct PasskeyVerificationTests {
    private static let challenge = [UInt8](repeating: 7, count: 32)

    private let site: RelyingParty
    private let authenticator: SoftAuthenticator

    init() throws {
        site = try #require(RelyingParty(origin: "https://store.example.com"))
        authenticator = SoftAuthenticator(
            host: "store.example.com", origin: "https://store.example.com")
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64.url.decode(Array(text.utf8)))
    }

    /// The failure of a registration by a changed authenticator. Nil if it is accepted.
    private func registrationFailure(
        _ change: (inout SoftAuthenticator) -> Void
    ) throws -> PasskeyFailure? {
        var changed = authenticator
        change(&changed)
        let fields = changed.register(SoftAuthenticator.text(Self.challenge), user: "")
        return failure(of: fields)
    }

    private func failure(of fields: [String: String]) -> PasskeyFailure? {
        do throws(PasskeyFailure) {
            let answer = try RegistrationAnswer(
                client: fields["client"] ?? "", attestation: fields["attestation"] ?? "")
            _ = try site.verify(answer, challenge: Self.challenge)
            return nil
        } catch { return error }
    }

    /// The failure of a sign-in. Nil if it is accepted.
    ///
    /// - Parameter kind: what the browser says that the answer is.
    private func signInFailure(
        after counter: UInt32 = 0, kind: String = "webauthn.get",
        _ change: (inout SoftAuthenticator) -> Void = { _ in }
    ) throws -> PasskeyFailure? {
        var changed = authenticator
        change(&changed)
        let fields = try changed.sign(SoftAuthenticator.text(Self.challenge), kind: kind)
        let key = try PasskeyPublicKey(parsing: authenticator.publicKey)
        do throws(PasskeyFailure) {
            let answer = try AssertionAnswer(fields)
            _ = try site.verify(answer, challenge: Self.challenge, key: key, counter: counter)
            return nil
        } catch { return error }
    }

    @Test(arguments: PasskeyVector.all)
    func `passkey answers of another implementation are accepted, and refused with one bit changed`(
        vector: PasskeyVector
    ) throws {
        let registration = try site.verify(
            RegistrationAnswer(
                client: vector.registrationClient, attestation: vector.attestation),
            challenge: Self.bytes(vector.registrationChallenge))
        #expect(registration.credential == (try Self.bytes(vector.credential)))
        #expect(registration.counter == 3)
        let answer = try AssertionAnswer([
            "credential": vector.credential, "client": vector.client,
            "authenticator": vector.authenticator, "signature": vector.signature,
            "user": vector.user,
        ])
        let challenge = try Self.bytes(vector.challenge)
        let assertion = try site.verify(
            answer, challenge: challenge, key: registration.key, counter: registration.counter)
        #expect(assertion.counter == 4 && assertion.credential == registration.credential)
        #expect(answer.user == (try Self.bytes(vector.user)))
        for position in answer.signature.indices {
            var changed = answer
            changed.signature[position] ^= 1
            #expect(throws: PasskeyFailure.invalidSignature) {
                try site.verify(
                    changed, challenge: challenge, key: registration.key, counter: 3)
            }
        }
        var changed = answer
        changed.authenticator[36] ^= 1
        #expect(throws: PasskeyFailure.invalidSignature) {
            try site.verify(changed, challenge: challenge, key: registration.key, counter: 3)
        }
    }

    @Test func `a new passkey must match the site, challenge and kind, with user verification`()
        throws
    {
        #expect(try registrationFailure { _ in } == nil)
        #expect(try registrationFailure { $0.origin = "https://evil.example" } == .otherOrigin)
        #expect(
            try registrationFailure { $0.origin = "https://store.example.com:444" }
                == .otherOrigin)
        #expect(try registrationFailure { $0.host = "example.com" } == .otherHost)
        #expect(try registrationFailure { $0.isPresent = false } == .notPresent)
        #expect(try registrationFailure { $0.isVerified = false } == .notVerified)
        #expect(try registrationFailure { $0.more = #""crossOrigin":true"# } == .framed)
        #expect(
            try registrationFailure { $0.more = #""topOrigin":"https://evil.example""# }
                == .framed)
        var other = authenticator
        let old = other.register(SoftAuthenticator.text([1]), user: "")
        #expect(failure(of: old) == .otherChallenge)
        var signed = other.register(SoftAuthenticator.text(Self.challenge), user: "")
        signed["client"] = SoftAuthenticator.text(
            other.client("webauthn.get", SoftAuthenticator.text(Self.challenge)))
        #expect(failure(of: signed) == .otherKind)
        // The report of a sign-in has no passkey.
        signed["client"] = SoftAuthenticator.text(
            other.client("webauthn.create", SoftAuthenticator.text(Self.challenge)))
        signed["attestation"] = SoftAuthenticator.text(other.attestation(other.report()))
        #expect(failure(of: signed) == .unreadable("it contains no passkey"))
    }

    @Test
    func `a passkey sign-in must match site, challenge, kind and key, with user verification`()
        throws
    {
        #expect(try signInFailure() == nil)
        #expect(try signInFailure { $0.origin = "http://store.example.com" } == .otherOrigin)
        #expect(try signInFailure { $0.host = "store.example.org" } == .otherHost)
        #expect(try signInFailure { $0.isPresent = false } == .notPresent)
        #expect(try signInFailure { $0.isVerified = false } == .notVerified)
        #expect(try signInFailure { $0.more = #""crossOrigin":true"# } == .framed)
        #expect(try signInFailure { $0.key = P256.Signing.PrivateKey() } == .invalidSignature)
        #expect(try signInFailure(kind: "webauthn.create") == .otherKind)
    }

    @Test func `a passkey's counter must grow, unless both counters are 0`() throws {
        #expect(try signInFailure(after: 4) { $0.counter = 4 } == nil)
        #expect(
            try signInFailure(after: 5) { $0.counter = 4 } == .counterBack(from: 5, to: 5))
        #expect(
            try signInFailure(after: 9) { $0.counter = 4 } == .counterBack(from: 9, to: 5))
        #expect(try signInFailure(after: 0) { $0.counts = false } == nil)
        #expect(
            try signInFailure(after: 9) { $0.counts = false } == .counterBack(from: 9, to: 0))
    }

    @Test func `passkeys work only at https addresses with a host name, and at localhost`() {
        let rows: [(String, String?)] = [
            ("https://store.example.com", "store.example.com"),
            ("https://store.example.com:8443", "store.example.com"),
            ("https://store", "store"), ("https://localhost", "localhost"),
            ("http://localhost:8080", "localhost"), ("http://store.example.com", nil),
            ("http://127.0.0.1:8080", nil), ("https://192.0.2.7", nil), ("https://[::1]", nil),
            ("https://store..example", nil), ("store.example.com", nil), ("https://", nil),
        ]
        for (origin, host) in rows {
            #expect(RelyingParty(origin: origin)?.id == host, "\(origin)")
        }
    }
}

extension AssertionAnswer {
    init(_ fields: [String: String]) throws(PasskeyFailure) {
        try self.init(
            credential: fields["credential"] ?? "", client: fields["client"] ?? "",
            authenticator: fields["authenticator"] ?? "", signature: fields["signature"] ?? "",
            user: fields["user"] ?? "")
    }
}
