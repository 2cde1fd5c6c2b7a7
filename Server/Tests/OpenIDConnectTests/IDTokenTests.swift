import AppStoreFormats
import Ledger
import OpenIDProvider
import Testing

@testable import OpenIDConnect

@Suite struct IDTokenTests {
    typealias Change = @Sendable (inout OpenIDProvider.Behaviour) -> Void

    @Test(arguments: [TokenSigner.rsa, .elliptic])
    func `a valid ID token gives the person's subject, names and groups`(signer: TokenSigner)
        async throws
    {
        let flow = try ProviderFlow()
        flow.provider.change { $0.signer = signer }
        let identity = try await flow.identity()
        #expect(identity.issuer == OpenIDProvider.issuer && identity.subject == "a1")
        #expect(identity.groups == ["staff", "admins"])
        #expect(identity.userName == "anna" && identity.fullName == "Anna")
    }

    /// What a hostile or broken provider changes, and why the token is then not accepted.
    static let attacks: [(String, IDTokenDefect, Change)] = [
        ("alg none", .algorithm, { $0.header = ["alg": "none"] }),
        ("alg None", .algorithm, { $0.header = ["alg": "None"] }),
        ("no signature", .form, { $0.signer = .none }),
        ("HS256 with the public key", .algorithm, { $0.signer = .hmacWithPublicKey }),
        (
            "HS256 that says RS256", .signature,
            {
                $0.signer = .hmacWithPublicKey
                $0.header = ["alg": "RS256"]
            }
        ),
        ("RS384", .algorithm, { $0.header = ["alg": "RS384"] }),
        ("another key with the same id", .signature, { $0.signer = .otherRSA }),
        (
            "the algorithm of another key", .unknownKey,
            { $0.header = ["alg": "ES256"] }
        ),
        ("an unknown key", .unknownKey, { $0.header = ["kid": "other"] }),
        (
            "no key id, and two keys", .unknownKey,
            {
                $0.header = ["kid": .null]
                $0.published = [.rsa, .otherRSA]
            }
        ),
        ("a critical header", .criticalHeader, { $0.header = ["crit": ["b64"]] }),
        ("another issuer", .issuer, { $0.claims = ["iss": "https://login.example.com/"] }),
        ("no issuer", .issuer, { $0.claims = ["iss": .null] }),
        ("another client", .audience, { $0.claims = ["aud": "other"] }),
        ("no client", .audience, { $0.claims = ["aud": .null] }),
        ("several clients", .authorizedParty, { $0.claims = ["aud": ["perennial", "other"]] }),
        (
            "several clients, for another", .authorizedParty,
            { $0.claims = ["aud": ["perennial", "other"], "azp": "other"] }
        ),
        ("for another client", .authorizedParty, { $0.claims = ["azp": "other"] }),
        ("azp is no text", .authorizedParty, { $0.claims = ["azp": 1] }),
        ("expired", .expired, { $0.claims = ["exp": 1_795_247_940] }),
        ("no end", .expired, { $0.claims = ["exp": .null] }),
        ("an end that is no number", .expired, { $0.claims = ["exp": "1795248300"] }),
        ("an end beyond all time", .expired, { $0.claims = ["exp": .decimal("1e400")] }),
        ("issued in the future", .issuedAt, { $0.claims = ["iat": 1_795_248_061] }),
        ("issued long ago", .issuedAt, { $0.claims = ["iat": 1_795_247_340] }),
        ("not issued", .issuedAt, { $0.claims = ["iat": .null] }),
        ("not valid yet", .notYet, { $0.claims = ["nbf": 1_795_248_061] }),
        ("another nonce", .nonce, { $0.claims = ["nonce": "other"] }),
        ("no nonce", .nonce, { $0.claims = ["nonce": .null] }),
        ("a hash of another token", .accessTokenHash, { $0.claims = ["at_hash": "AAAA"] }),
        ("a hash that is no text", .accessTokenHash, { $0.claims = ["at_hash": 1] }),
        ("no subject", .subject, { $0.claims = ["sub": .null] }),
        ("an empty subject", .subject, { $0.claims = ["sub": ""] }),
        (
            "a long subject", .subject,
            { $0.claims = ["sub": .string(String(repeating: "a", count: 256))] }
        ),
        ("a subject with a line break", .subject, { $0.claims = ["sub": "a\nb"] }),
        (
            "two subjects", .repeatedClaim,
            { $0.repeatedClaims = [JSON.Member("sub", "b2")] }
        ),
    ]

    @Test(arguments: attacks.indices)
    func `an ID token that breaks any rule is refused`(index: Int) async throws {
        let (name, defect, change) = Self.attacks[index]
        let flow = try ProviderFlow()
        flow.provider.change(change)
        await #expect(throws: OpenIDFailure.rejected(defect), "\(name)") {
            try await flow.identity()
        }
    }

    /// Tokens at the edges of the rules, which are accepted.
    static let allowed: [(String, Change)] = [
        ("a list with this client", { $0.claims = ["aud": ["perennial"]] }),
        (
            "several clients, for this one",
            { $0.claims = ["aud": ["other", "perennial"], "azp": "perennial"] }
        ),
        ("expired within the leeway", { $0.claims = ["exp": 1_795_247_941] }),
        ("times with fractions", { $0.claims = ["iat": .decimal("1795248000.5")] }),
        ("issued within the leeway", { $0.claims = ["iat": 1_795_248_060] }),
        ("the hash of the access token", { $0.claims = ["at_hash": "oFYf1knNtrqnhAVfBRuteQ"] }),
        (
            "no key id, and one key",
            {
                $0.header = ["kid": .null]
                $0.published = [.rsa, .elliptic]
            }
        ),
        ("unknown claims", { $0.claims = ["acr": "1", "x": ["y": 1]] }),
    ]

    @Test(arguments: allowed.indices)
    func `an ID token that is unusual but valid is accepted`(index: Int) async throws {
        let (name, change) = Self.allowed[index]
        let flow = try ProviderFlow()
        flow.provider.change(change)
        let identity = try await flow.identity()
        #expect(identity.subject == "a1", "\(name)")
    }

    @Test func `groups are read from the configured claim, which may be inside an object`()
        async throws
    {
        let rows: [(claim: String, value: [String: JSON], groups: Set<String>)] = [
            ("groups", ["groups": "one"], ["one"]),
            ("groups", ["groups": ["one", 2, "three"]], ["one", "three"]),
            ("groups", ["groups": 5], []),
            ("groups", [:], []),
            ("groups", ["groups": [.string(String(repeating: "g", count: 257)), "a"]], ["a"]),
            ("realm_access.roles", ["realm_access": ["roles": ["one"]]], ["one"]),
            ("realm_access.roles", ["realm_access.roles": ["two"]], ["two"]),
            ("https://example.com/groups", ["https://example.com/groups": ["one"]], ["one"]),
            ("hd", ["hd": "example.com"], ["example.com"]),
            ("email", ["email": "a@example.com", "email_verified": true], ["a@example.com"]),
            ("email", ["email": "a@example.com", "email_verified": false], []),
            ("email", ["email": "a@example.com"], []),
        ]
        for row in rows {
            let flow = try ProviderFlow(groupsClaim: row.claim)
            let person = row.value.merging(["sub": "a1"]) { one, _ in one }
            let identity = try await flow.identity(as: person)
            #expect(identity.groups == row.groups, "\(row.claim) \(row.value)")
        }
    }

    @Test
    func `control characters are removed from a person's names, and long names are shortened`()
        async throws
    {
        let long = String(repeating: "n", count: 300)
        let person: [String: JSON] = [
            "sub": "a1", "name": "An\u{0}na\n\u{7}", "preferred_username": .string(long),
            "email": "",
        ]
        let identity = try await ProviderFlow().identity(as: person)
        #expect(identity.fullName == "Anna" && identity.userName?.count == 200)
        #expect(identity.mail == nil)
    }
}
