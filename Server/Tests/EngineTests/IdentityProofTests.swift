import AppStoreFormats
import Engine
import Ledger
import Testing

/// Proofs for the customer "anna", made with Python's `hmac` and `cryptography`.
@Suite struct IdentityProofTests {
    private static let secret = AppSecret("0123456789abcdef0123456789abcdef")
    /// The expiry of all tokens of these tests.
    private static let expiry = Instant(milliseconds: 1_700_000_600_000)
    private static let now = expiry - .seconds(1)

    private static let code = "d662e85040070d4d15c292ca6947ef75c6ce569dbb36194cd0b7747d1d10dbb5"
    private static let claims = "eyJzdWIiOiJhbm5hIiwiZXhwIjoxNzAwMDAwNjAwfQ"
    private static let hs256 =
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\(claims)."
        + "uXEy_vIeenEXUE4M_R3yn-RYeYXM3n5FAYwIfI5jm30"
    /// A token that is signed with the secret, although its header says `"alg": "none"`.
    private static let none =
        "eyJhbGciOiJub25lIn0.\(claims).22558arvnlldVmfJ1QnxvJVa8jnNts_KC4gX9ZYzRVg"
    private static let es256 =
        "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.\(claims)."
        + "HwRg3dOplive9GC_Ew5v_oKUtptGsCngGH1vFVaoh5oOiI9bXD5VTT3UxzWJhY4qCscS7q991O9OFdYobf1u5g"
    private static let pem = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+evkZBR8wQLZIyTQmdknwaUOQtV6
        CKEW/+wKKYGdjGVwuvfRKIiQKmoMHWet0QMSPIWatpv46UMck4STDUt+7g==
        -----END PUBLIC KEY-----
        """

    /// The signed text is "anna", a line break and the expiry in seconds.
    private static let ending =
        "1700000600.8821359f236e130c0af0dfe8b742112a64b2898e2e66d36e651896f9ce9f3606"

    @Test func `a proof code with an expiry is valid until the expiry, for one customer only`() {
        let code = String(Self.ending.dropFirst("1700000600.".count))
        for proof in [IdentityProof.hmac(Self.secret), .hmac(Self.secret, endless: true)] {
            #expect(proof.defect(in: Self.ending, of: "anna", at: Self.now) == nil)
            #expect(proof.defect(in: Self.ending, of: "anna", at: Self.expiry) == .expired)
            for wrong in [
                "1700000601.\(code)", "01700000600.\(code)", ".\(code)", "1700000600.",
                "1.\(Self.ending)", "\(Self.ending).", code, "1700000600.\(Self.code)",
            ] {
                #expect(proof.defect(in: wrong, of: "anna", at: Self.now) == .wrong, "\(wrong)")
            }
            #expect(proof.defect(in: Self.ending, of: "ben", at: Self.now) == .wrong)
        }
    }

    @Test func `a proof code without an expiry is refused unless the app allows it`() {
        let proof = IdentityProof.hmac(Self.secret)
        #expect(proof.defect(in: Self.code, of: "anna", at: Self.now) == .endless)
        #expect(proof.defect(in: Self.code, of: "ben", at: Self.now) == .wrong)
    }

    @Test func `a proof code is valid for one customer only`() {
        let proof = IdentityProof.hmac(Self.secret, endless: true)
        #expect(proof.defect(in: Self.code, of: "anna", at: Self.now) == nil)
        #expect(proof.defect(in: Self.code.uppercased(), of: "anna", at: Self.now) == nil)
        #expect(proof.defect(in: Self.code, of: "ben", at: Self.now) == .wrong)
        #expect(proof.defect(in: String(Self.code.dropLast(2)), of: "anna", at: Self.now) == .wrong)
        #expect(proof.defect(in: "+" + Self.code.dropFirst(), of: "anna", at: Self.now) == .wrong)
        #expect(proof.defect(in: nil, of: "anna", at: Self.now) == .missing)
        #expect(proof.defect(in: "", of: "anna", at: Self.now) == .missing)
    }

    @Test func `an identity token is valid for its customer until it expires`() throws {
        let key = try IdentityProof.publicKey(pem: Self.pem)
        for (proof, token) in [
            (IdentityProof.token(Self.secret), Self.hs256),
            (.signedToken(publicKey: key), Self.es256),
        ] {
            #expect(proof.defect(in: token, of: "anna", at: Self.now) == nil)
            #expect(proof.defect(in: token, of: "ben", at: Self.now) == .wrong)
            #expect(proof.defect(in: token, of: "anna", at: Self.expiry) == .expired)
            let last: Character = token.hasSuffix("Q") ? "A" : "Q"
            let middle = token.index(token.endIndex, offsetBy: -20)
            var damaged = token
            damaged.replaceSubrange(middle...middle, with: [token[middle] == last ? "b" : last])
            #expect(proof.defect(in: damaged, of: "anna", at: Self.now) == .wrong)
        }
    }

    /// A token with the header of HS256.
    private static func signed(_ claims: String, _ signature: String) -> String {
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\(claims).\(signature)"
    }

    @Test
    func `a date in an identity token must be a number, and may have a fraction or an exponent`() {
        let proof = IdentityProof.token(Self.secret)
        // {"sub":"anna","iat":1700000000.25,"nbf":1.7e9,"exp":1700000600.5}
        let fraction = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiaWF0IjoxNzAwMDAwMDAwLjI1LCJuYmYiOjEuN2U5LCJleHAiOjE3MDAwMDA2MDAu"
                + "NX0", "_9Hfx2QMj5p1X3asUtJS-dHDIoQRHl287wD3zZnlNP8")
        #expect(proof.defect(in: fraction, of: "anna", at: Self.expiry) == nil)
        let half = Self.expiry + .milliseconds(500)
        #expect(proof.defect(in: fraction, of: "anna", at: half - .milliseconds(1)) == nil)
        #expect(proof.defect(in: fraction, of: "anna", at: half) == .expired)
        // {"sub":"anna","exp":1.7000006e9}
        let exponent = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoxLjcwMDAwMDZlOX0",
            "6tJFQ5D_FYvdcGe5lacOAbSIT0vALZb33VPx11kiEFs")
        #expect(proof.defect(in: exponent, of: "anna", at: Self.now) == nil)
        #expect(proof.defect(in: exponent, of: "anna", at: Self.expiry) == .expired)
        // {"sub":"anna","exp":"1700000600"}
        let text = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoiMTcwMDAwMDYwMCJ9",
            "mCQq7jkJrxDH1JoNSz9cuSyV1ZmAtZRnZwsVRc7sXHk")
        #expect(proof.defect(in: text, of: "anna", at: Self.now) == .wrong)
    }

    @Test func `the audience and issuer of an identity token are checked if they are configured`() {
        // {"sub":"anna","exp":1700000600,"iss":"https://id.example.com","aud":"birds"}
        let birds = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoxNzAwMDAwNjAwLCJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUuY29tIiwi"
                + "YXVkIjoiYmlyZHMifQ", "dDPTUNdYn5kS4jQBTDozzHm09s68mQPWIXDvjPR3eMo")
        // These claims have "aud":["cats","birds"] instead.
        let both = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoxNzAwMDAwNjAwLCJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUuY29tIiwi"
                + "YXVkIjpbImNhdHMiLCJiaXJkcyJdfQ", "lQvVogYmGn4SkFA9IZkuusKhTvdZ_jwIKUQAOMJR190")
        func lack(
            _ token: String, _ audience: String? = nil, _ issuer: String? = nil
        ) -> IdentityProof.Defect? {
            IdentityProof.token(Self.secret, .init(audience: audience, issuer: issuer))
                .defect(in: token, of: "anna", at: Self.now)
        }
        let issuer = "https://id.example.com"
        for token in [birds, both] {
            #expect(lack(token) == nil)
            #expect(lack(token, "birds", issuer) == nil)
            #expect(lack(token, "fish") == .wrong)
            #expect(lack(token, "birds", "https://id.example.org") == .wrong)
        }
        #expect(lack(both, "cats") == nil && lack(birds, "cats") == .wrong)
        #expect(lack(Self.hs256) == nil)
        #expect(lack(Self.hs256, "birds") == .wrong && lack(Self.hs256, nil, issuer) == .wrong)
    }

    @Test func `an identity token is valid from its nbf, with 60 seconds of tolerance`() {
        let proof = IdentityProof.token(Self.secret)
        // {"sub":"anna","exp":1700000600,"nbf":1700000300}
        let token = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoxNzAwMDAwNjAwLCJuYmYiOjE3MDAwMDAzMDB9",
            "L2lRvpVYsn87jYZJj07N4Y8HC4rYcRlvXBr6lED3pF8")
        let start = Self.expiry - .seconds(300)
        #expect(proof.defect(in: token, of: "anna", at: start - .seconds(60)) == nil)
        #expect(proof.defect(in: token, of: "anna", at: start - .seconds(61)) == .notYet)
        // {"sub":"anna","exp":1700000600,"nbf":"soon"}
        let text = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoxNzAwMDAwNjAwLCJuYmYiOiJzb29uIn0",
            "IaB5QoEFyuQXZJ6rukk9dbLoz7vHUdgNXdVpp_2XiYw")
        #expect(proof.defect(in: text, of: "anna", at: Self.now) == .wrong)
    }

    @Test func `an identity token cannot choose the algorithm that verifies it`() throws {
        let secret = IdentityProof.token(Self.secret)
        #expect(secret.defect(in: Self.none, of: "anna", at: Self.now) == .wrong)
        #expect(secret.defect(in: Self.es256, of: "anna", at: Self.now) == .wrong)
        let key = IdentityProof.signedToken(
            publicKey: try IdentityProof.publicKey(pem: Self.pem))
        #expect(key.defect(in: Self.hs256, of: "anna", at: Self.now) == .wrong)
        // The public key is not secret, so a token whose HMAC was made with this key is refused.
        let confused = IdentityProof.token(AppSecret(Self.pem))
        #expect(confused.defect(in: Self.es256, of: "anna", at: Self.now) == .wrong)
    }

    /// The header says that `app`, which is "cats", is critical.
    private static let critical =
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImNyaXQiOlsiYXBwIl0sImFwcCI6ImNhdHMifQ"
        + ".\(claims).BwNMDayFXyfuu-IBM8NSMHfyOZB8rtoAEKrAqXnOX0k"

    @Test func `an identity token with a critical header is refused`() {
        let proof = IdentityProof.token(Self.secret)
        #expect(proof.defect(in: Self.critical, of: "anna", at: Self.now) == .wrong)
    }

    @Test func `an id counts as anonymous only if it consists of the prefix anon_ and a UUID`() {
        #expect(("anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f" as CustomerID).isAnonymous)
        #expect(!("anon_1" as CustomerID).isAnonymous)
        #expect(!("0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f" as CustomerID).isAnonymous)
    }
}
