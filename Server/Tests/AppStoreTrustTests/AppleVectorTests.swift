import AppStoreFormats
import AppStoreTrust
import Signing
import Testing

/// Apple's own examples, from the tests of its server library.
@Suite(.enabled(if: Vectors.arePresent, "skipped: no vectors"))
struct AppleVectorTests {
    private static let now = AppStoreDate(milliseconds: 1_700_000_000_000)

    private func example(
        _ environments: Set<StoreEnvironment> = [.sandbox], id: Int64 = 1234
    ) -> AppIdentity {
        AppIdentity(bundleID: "com.example", appAppleID: id, environments: environments)
    }

    private func verifier() throws -> AppStoreTrust.Verifier {
        let root = try Vectors.bytes("apple-library/certs/testCA.der")
        return AppStoreTrust.Verifier(roots: try TrustRoots(der: [root]))
    }

    private func mock(_ name: String) throws -> [UInt8] {
        try Vectors.bytes("apple-library/mock_signed_data/" + name)
    }

    private func certificate(_ name: String) throws -> [UInt8] {
        try Vectors.bytes("apple-library/certs-extracted/\(name).der")
    }

    @Test func `Apple's example is verified although its third certificate is not a trusted root`()
        async throws
    {
        let outcome = try await verifier().transaction(
            mock("transactionInfo"), for: example(), at: Self.now)
        #expect(outcome.verified?.payload.bundleId == "com.example")
        #expect(outcome.verified?.signedAt == AppStoreDate(milliseconds: 1_672_956_154_000))
    }

    @Test func `Apple's example renewal information is verified`() async throws {
        let outcome = try await verifier().renewal(
            mock("renewalInfo"), for: example(), at: Self.now)
        #expect(outcome.verified?.environment == .sandbox)
    }

    @Test(arguments: [Int64(1234), 1235])
    func `in the sandbox, the example notification is accepted with any Apple id of the app`(
        id: Int64
    ) async throws {
        let outcome = try await verifier().notification(
            mock("testNotification"), for: example(id: id), at: Self.now)
        #expect(outcome.contents?.notification.payload.notificationType == .test)
    }

    @Test func `in production, a test notification of the sandbox is refused`() async throws {
        let outcome = try await verifier().notification(
            mock("testNotification"), for: example([.production]), at: Self.now)
        #expect(outcome.refusal?.reason == .wrongEnvironment)
    }

    @Test func `a notification for another bundle id is refused`() async throws {
        let outcome = try await verifier().notification(
            mock("wrongBundleId"), for: example(), at: Self.now)
        #expect(outcome.refusal?.reason == .wrongBundle)
        #expect(outcome.refusal?.found == "com.example.wrong")
    }

    @Test func `a JWS whose header has no certificates is refused`() async throws {
        let outcome = try await verifier().notification(
            mock("missingX5CHeaderClaim"), for: example(), at: Self.now)
        #expect(outcome.refusal?.reason == .certificateCount)
    }

    @Test func `Apple's real roots verify none of the example documents`() async throws {
        let outcome = await AppStoreTrust.Verifier(roots: .apple).transaction(
            try mock("transactionInfo"), for: example(), at: Self.now)
        #expect(outcome.refusal?.reason == .untrustedChain)
    }

    @Test func `documents signed by Xcode are always refused`() async throws {
        let everything: Set<StoreEnvironment> = [.production, .sandbox, .xcode, .localTesting]
        let app = AppIdentity(
            bundleID: "com.example.naturelab.backyardbirds.example", appAppleID: nil,
            environments: everything)
        let verifier = try verifier()
        let directory = "apple-library/xcode/xcode-signed-"
        let transaction = try Vectors.bytes(directory + "transaction")
        let renewal = try Vectors.bytes(directory + "renewal-info")
        let appTransaction = try Vectors.bytes(directory + "app-transaction")
        let reasons = [
            await verifier.transaction(transaction, for: app, at: Self.now).refusal?.reason,
            await verifier.renewal(renewal, for: app, at: Self.now).refusal?.reason,
            await verifier.appTransaction(appTransaction, for: app, at: Self.now).refusal?.reason,
        ]
        #expect(reasons == Array(repeating: .environmentNeverTrusted, count: 3))
    }

    @Test func `Apple's real chain leads to the embedded root`() async throws {
        let chain = try await ChainVerifier(roots: .apple).chain(
            leaf: certificate("real_apple_signing_certificate"),
            intermediate: certificate("real_apple_intermediate"))
        try chain.requireValid(at: AppStoreDate(milliseconds: 1_761_962_975_000))
        #expect(throws: Refusal.self) {
            try chain.requireValid(at: AppStoreDate(milliseconds: 1_850_000_000_000))
        }
    }

    @Test func `the valid example chain yields the public key of its leaf until the chain expires`()
        async throws
    {
        let root = try TrustRoots(der: [certificate("root_ca")])
        let chain = try await ChainVerifier(roots: root).chain(
            leaf: certificate("leaf_cert"), intermediate: certificate("intermediate_ca"))
        let key = try certificate("leaf_cert_public_key")
        #expect(Array(chain.leafKey.derRepresentation) == key)
        #expect(throws: Refusal.self) {
            try chain.requireValid(at: AppStoreDate(milliseconds: 2_280_946_846_000))
        }
    }

    @Test(arguments: [
        ("leaf_cert_invalid_oid", "intermediate_ca"),
        ("leaf_cert_for_intermediate_ca_invalid_oid", "intermediate_ca_invalid_oid"),
    ])
    func `example chains without Apple's marker extensions are refused`(
        leaf: String, intermediate: String
    ) async throws {
        let chains = ChainVerifier(roots: try TrustRoots(der: [certificate("root_ca")]))
        let refusal = await #expect(throws: Refusal.self) {
            _ = try await chains.chain(
                leaf: certificate(leaf), intermediate: certificate(intermediate))
        }
        #expect(refusal?.reason == .missingMarker)
    }
}
