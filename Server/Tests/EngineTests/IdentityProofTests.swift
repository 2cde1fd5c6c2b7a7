import AppStoreFormats
import Engine
import Ledger
import Testing

/// Proofs that Python's `hmac` and `cryptography` made, of the customer "anna".
@Suite struct IdentityProofTests {
    private static let secret = AppSecret("0123456789abcdef0123456789abcdef")
    /// All tokens expire then.
    private static let expiry = Instant(milliseconds: 1_700_000_600_000)
    private static let now = expiry - .seconds(1)

    private static let code = "d662e85040070d4d15c292ca6947ef75c6ce569dbb36194cd0b7747d1d10dbb5"
    private static let claims = "eyJzdWIiOiJhbm5hIiwiZXhwIjoxNzAwMDAwNjAwfQ"
    private static let hs256 =
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\(claims)."
        + "uXEy_vIeenEXUE4M_R3yn-RYeYXM3n5FAYwIfI5jm30"
    /// Signed with the secret, and says that it needs no signature.
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

    @Test func `a code is good for the one customer it was made for`() {
        let proof = IdentityProof.hmac(Self.secret)
        #expect(proof.lack(in: Self.code, of: "anna", at: Self.now) == nil)
        #expect(proof.lack(in: Self.code.uppercased(), of: "anna", at: Self.now) == nil)
        #expect(proof.lack(in: Self.code, of: "ben", at: Self.now) == .wrong)
        #expect(proof.lack(in: String(Self.code.dropLast(2)), of: "anna", at: Self.now) == .wrong)
        #expect(proof.lack(in: "+" + Self.code.dropFirst(), of: "anna", at: Self.now) == .wrong)
        #expect(proof.lack(in: nil, of: "anna", at: Self.now) == .missing)
        #expect(proof.lack(in: "", of: "anna", at: Self.now) == .missing)
    }

    @Test func `a token is good for its customer, until it expires`() throws {
        let key = try IdentityProof.publicKey(pem: Self.pem)
        for (proof, token) in [
            (IdentityProof.token(Self.secret), Self.hs256),
            (.signedToken(publicKey: key), Self.es256),
        ] {
            #expect(proof.lack(in: token, of: "anna", at: Self.now) == nil)
            #expect(proof.lack(in: token, of: "ben", at: Self.now) == .wrong)
            #expect(proof.lack(in: token, of: "anna", at: Self.expiry) == .expired)
            let last: Character = token.hasSuffix("Q") ? "A" : "Q"
            let middle = token.index(token.endIndex, offsetBy: -20)
            var damaged = token
            damaged.replaceSubrange(middle...middle, with: [token[middle] == last ? "b" : last])
            #expect(proof.lack(in: damaged, of: "anna", at: Self.now) == .wrong)
        }
    }

    /// By HS256 with the secret.
    private static func signed(_ claims: String, _ signature: String) -> String {
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\(claims).\(signature)"
    }

    @Test func `a date in a token may have a fraction or an exponent, and is a number`() {
        let proof = IdentityProof.token(Self.secret)
        // {"sub":"anna","iat":1700000000.25,"nbf":1.7e9,"exp":1700000600.5}
        let fraction = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiaWF0IjoxNzAwMDAwMDAwLjI1LCJuYmYiOjEuN2U5LCJleHAiOjE3MDAwMDA2MDAu"
                + "NX0", "_9Hfx2QMj5p1X3asUtJS-dHDIoQRHl287wD3zZnlNP8")
        #expect(proof.lack(in: fraction, of: "anna", at: Self.expiry) == nil)
        let half = Self.expiry + .milliseconds(500)
        #expect(proof.lack(in: fraction, of: "anna", at: half - .milliseconds(1)) == nil)
        #expect(proof.lack(in: fraction, of: "anna", at: half) == .expired)
        // {"sub":"anna","exp":1.7000006e9}
        let exponent = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoxLjcwMDAwMDZlOX0",
            "6tJFQ5D_FYvdcGe5lacOAbSIT0vALZb33VPx11kiEFs")
        #expect(proof.lack(in: exponent, of: "anna", at: Self.now) == nil)
        #expect(proof.lack(in: exponent, of: "anna", at: Self.expiry) == .expired)
        // {"sub":"anna","exp":"1700000600"}
        let text = Self.signed(
            "eyJzdWIiOiJhbm5hIiwiZXhwIjoiMTcwMDAwMDYwMCJ9",
            "mCQq7jkJrxDH1JoNSz9cuSyV1ZmAtZRnZwsVRc7sXHk")
        #expect(proof.lack(in: text, of: "anna", at: Self.now) == .wrong)
    }

    @Test func `which algorithm is used is not the token's to say`() throws {
        let secret = IdentityProof.token(Self.secret)
        #expect(secret.lack(in: Self.none, of: "anna", at: Self.now) == .wrong)
        #expect(secret.lack(in: Self.es256, of: "anna", at: Self.now) == .wrong)
        let key = IdentityProof.signedToken(
            publicKey: try IdentityProof.publicKey(pem: Self.pem))
        #expect(key.lack(in: Self.hs256, of: "anna", at: Self.now) == .wrong)
        // A public key is no secret: what is signed with it as one is worth nothing.
        let confused = IdentityProof.token(AppSecret(Self.pem))
        #expect(confused.lack(in: Self.es256, of: "anna", at: Self.now) == .wrong)
    }

    @Test func `only an id that nobody can guess speaks for itself`() {
        #expect(("anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f" as CustomerID).isAnonymous)
        #expect(!("anon_1" as CustomerID).isAnonymous)
        #expect(!("0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f" as CustomerID).isAnonymous)
    }
}
