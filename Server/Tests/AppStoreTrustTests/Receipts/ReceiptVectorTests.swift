import AppStoreFormats
import Foundation
import Testing

@testable import AppStoreTrust

/// Receipts that the App Store signed and that their owners published, verified against Apple's
/// real roots.
@Suite(.enabled(if: Vectors.arePresent, "skipped: no vectors"))
struct ReceiptVectorTests {
    private static let now = AppStoreDate(milliseconds: 1_790_000_000_000)
    private static let verifier = AppStoreTrust.Verifier(roots: .apple)

    private static func names(_ folder: String) -> [String] {
        let path = Vectors.directory.appending(path: "receipts/\(folder)").path
        let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return files.filter { $0.hasSuffix(".b64") }.map { String($0.dropLast(4)) }.sorted()
    }

    private static let apples = names("app-receipts").filter { !$0.contains("xcode") }
    private static let xcodes = names("app-receipts").filter { $0.contains("xcode") }
    private static let old = names("transaction-receipts")

    private func file(_ folder: String, _ name: String) throws -> [UInt8] {
        let text = try Vectors.bytes("receipts/\(folder)/\(name).b64").filter { $0 > 0x20 }
        return try #require(Base64.standard.decode(text))
    }

    private func decoded(_ name: String) throws -> JSON {
        try JSON(parsing: Vectors.bytes("receipts/decoded/\(name).json"))
    }

    private func app(
        _ bundleID: String?, _ environments: Set<StoreEnvironment> = [.sandbox]
    ) throws -> AppIdentity {
        AppIdentity(
            bundleID: try #require(bundleID), appAppleID: nil, environments: environments)
    }

    private func bundle(in decoded: JSON) -> String? {
        decoded["fields"]?.array?.first { $0["type"]?.integer == 2 }?["value"]?.string
    }

    @Test func `the test data has eleven receipts of Apple, three of Xcode, and five of iOS 6`() {
        #expect(Self.apples.count == 11 && Self.xcodes.count == 3 && Self.old.count == 5)
    }

    @Test(arguments: apples)
    func `an Apple receipt is verified, and all documented attributes are read`(
        name: String
    ) async throws {
        let expected = try decoded(name)
        let outcome = await Self.verifier.receipt(
            try file("app-receipts", name), for: try app(bundle(in: expected)), at: Self.now)
        let verified = try #require(outcome.verified, "\(String(describing: outcome.refusal))")
        #expect(verified.environment == .sandbox)
        #expect(verified.signedAt == verified.payload[.created]?.date)
        let fields = try #require(expected["fields"]?.array)
        try compare(verified.payload.attributes, fields)
        let purchases = try #require(expected["in_app"]?.array)
        #expect(verified.payload.purchases.count == purchases.count)
        for (purchase, fields) in zip(verified.payload.purchases, purchases) {
            try compare(purchase.attributes, try #require(fields.array))
        }
    }

    /// Compares every attribute, including unknown ones, by its number, version and value.
    private func compare(_ attributes: [ReceiptAttribute], _ fields: [JSON]) throws {
        #expect(attributes.count == fields.count)
        let byNumber = Dictionary(attributes.map { ($0.number, $0) }) { one, _ in one }
        for field in fields {
            let number = try #require(field["type"]?.integer)
            let attribute = try #require(byNumber[number], "\(number)")
            #expect(attribute.version == field["version"]?.integer, "\(number)")
            switch field["value"] {
            case .integer(let value)?: #expect(attribute.integer == value, "\(number)")
            case .string(let text)?:
                let raw = attribute.value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                #expect(attribute.text == text || raw.joined() == text, "\(number)")
            default: Issue.record("attribute \(number) has no documented value")
            }
        }
    }

    @Test(arguments: apples)
    func `a sandbox receipt is refused if only production is accepted`(
        name: String
    ) async throws {
        let outcome = await Self.verifier.receipt(
            try file("app-receipts", name), for: try app(bundle(in: decoded(name)), [.production]),
            at: Self.now)
        #expect(outcome.refusal?.reason == .wrongEnvironment)
    }

    @Test(arguments: xcodes)
    func `a receipt signed by Xcode is read but never trusted`(name: String) async throws {
        let everything: Set<StoreEnvironment> = [.production, .sandbox, .xcode, .localTesting]
        let expected = try decoded(name)
        let bytes = try file("app-receipts", name)
        let root = try Vectors.bytes("receipts/certs/StoreKitTestCertificate.cer")
        let verifier = AppStoreTrust.Verifier(roots: try TrustRoots(der: [root]))
        let outcome = await verifier.receipt(
            bytes, for: try app(bundle(in: expected), everything), at: Self.now)
        #expect(outcome.refusal?.reason == .environmentNeverTrusted)
        let payload = try #require(XcodeReceipt(bytes)?.payload)
        #expect(payload.purchases.count == expected["in_app"]?.array?.count)
    }

    /// A verifier for a simulated app whose developer has exported Xcode's certificate.
    private static func inDevelopment(_ certificate: [UInt8]) throws -> AppStoreTrust.Verifier {
        AppStoreTrust.Verifier(roots: .apple, xcode: try TrustRoots(der: [certificate]))
    }

    @Test(arguments: xcodes)
    func `in development, a receipt with Xcode's exported certificate counts as sandbox`(
        name: String
    ) async throws {
        let expected = try decoded(name)
        let bytes = try file("app-receipts", name)
        let root = try Vectors.bytes("receipts/certs/StoreKitTestCertificate.cer")
        let verifier = try Self.inDevelopment(root)
        let outcome = await verifier.receipt(
            bytes, for: try app(bundle(in: expected)), at: Self.now)
        let verified = try #require(outcome.verified, "\(outcome)")
        #expect(verified.environment == .sandbox)
        #expect(verified.payload.purchases.count == expected["in_app"]?.array?.count)
        #expect(verified.signedAt == verified.payload[.created]?.date)
    }

    @Test(arguments: xcodes)
    func `in development, the certificate, signature and bundle of Xcode's receipts are verified`(
        name: String
    ) async throws {
        let expected = try decoded(name)
        let bytes = try file("app-receipts", name)
        let app = try app(bundle(in: expected))
        let root = try Vectors.bytes("receipts/certs/StoreKitTestCertificate.cer")
        let other = try Vectors.bytes("receipts/certs/AppleIncRootCertificate.cer")
        func reason(
            _ certificate: [UInt8], _ bytes: [UInt8], _ app: AppIdentity
        ) async throws -> Refusal.Reason? {
            await (try Self.inDevelopment(certificate)).receipt(bytes, for: app, at: Self.now)
                .refusal?.reason
        }
        #expect(try await reason(other, bytes, app) == .untrustedChain)
        #expect(try await reason(root, bytes, try self.app("com.example.other")) == .wrongBundle)
        var forged = bytes
        let year = try #require(
            bytes.indices.first { bytes[$0...].starts(with: Array("202".utf8)) })
        forged[year + 3] ^= 1
        #expect(try await reason(root, forged, app) == .badSignature)
    }

    @Test func `in development, Apple's own receipts are still verified`() async throws {
        let root = try Vectors.bytes("receipts/certs/StoreKitTestCertificate.cer")
        let verifier = try Self.inDevelopment(root)
        let name = Self.g5
        let outcome = await verifier.receipt(
            try file("app-receipts", name), for: try app(bundle(in: decoded(name))), at: Self.now)
        #expect(outcome.verified != nil)
    }

    private static let g5 = "tpinappreceipt-receipt-sandbox-g5"

    @Test(arguments: [
        ("956328D9-CC6A-47F4-BE40-6953FB0AB6C7", true),
        ("956328D9-CC6A-47F4-BE40-6953FB0AB6C8", false),
    ])
    func `a receipt's device hash is compared if the device sends its identifier`(
        guid: String, isRight: Bool
    ) async throws {
        let id = try #require(UUID(uuidString: guid)).uuid
        let bytes = withUnsafeBytes(of: id) { Array($0) }
        let outcome = await Self.verifier.receipt(
            try file("app-receipts", Self.g5), for: try app(bundle(in: decoded(Self.g5))),
            guid: bytes,
            at: Self.now)
        #expect((outcome.verified != nil) == isRight)
        if !isRight { #expect(outcome.refusal?.reason == .wrongDevice) }
    }

    @Test func `a receipt from the future cannot be verified yet`() async throws {
        let outcome = await Self.verifier.receipt(
            try file("app-receipts", Self.g5), for: try app(bundle(in: decoded(Self.g5))),
            at: AppStoreDate(milliseconds: 1_700_000_000_000))
        #expect(outcome.uncertainty != nil)
    }

    @Test(arguments: old)
    func `a transaction receipt is verified by the certificate authority used at that time`(
        name: String
    ) async throws {
        let bytes = try file("transaction-receipts", name)
        let signed = try TransactionReceiptFile(parsing: bytes).signedBytes
        let bundle = try TransactionReceipt(signedBytes: signed).bundleID
        let outcome = await Self.verifier.transactionReceipt(
            bytes, for: try app(bundle), at: Self.now)
        let verified = try #require(outcome.verified, "\(String(describing: outcome.refusal))")
        #expect(verified.environment == .sandbox)
        #expect(verified.signedAt == verified.payload.purchased)
        let rootless = AppStoreTrust.Verifier(roots: try TrustRoots(der: []))
        let strange = await rootless.transactionReceipt(bytes, for: try app(bundle), at: Self.now)
        #expect(strange.refusal?.reason == .untrustedChain)
        let other = await Self.verifier.transactionReceipt(
            bytes, for: try app("com.example"), at: Self.now)
        #expect(other.refusal?.reason == .wrongBundle)
    }

    @Test(arguments: old)
    func `a transaction receipt's signer is cached only after a valid signature`(
        name: String
    ) async throws {
        let bytes = try file("transaction-receipts", name)
        var file = try TransactionReceiptFile(parsing: bytes)
        let app = try app(TransactionReceipt(signedBytes: file.signedBytes).bundleID)
        let verifier = AppStoreTrust.Verifier(roots: .apple)
        file.signedBytes[file.signedBytes.count / 2] ^= 1
        let forged = await verifier.transactionReceipt(file.bytes, for: app, at: Self.now)
        #expect(forged.refusal?.reason == .badSignature)
        #expect(verifier.transactionReceiptSigners.count == 0)
        for _ in 1...2 {
            let genuine = await verifier.transactionReceipt(bytes, for: app, at: Self.now)
            #expect(genuine.verified != nil)
            #expect(verifier.transactionReceiptSigners.count == 1)
        }
    }

    /// Two parts of a transaction receipt are not signed: the bytes around the property list, and
    /// the bytes that encode the list in Base64.
    @Test(arguments: old)
    func `a transaction receipt with a changed byte is refused, or its content is the same`(
        name: String
    ) async throws {
        let bytes = try file("transaction-receipts", name)
        let signed = try TransactionReceiptFile(parsing: bytes).signedBytes
        let receipt = try TransactionReceipt(signedBytes: signed)
        let app = try app(receipt.bundleID)
        var refused = 0
        for offset in stride(from: 0, to: bytes.count, by: 13) {
            var changed = bytes
            changed[offset] = changed[offset] == 65 ? 66 : 65
            let outcome = await Self.verifier.transactionReceipt(changed, for: app, at: Self.now)
            if outcome.verified == nil { refused += 1 }
            let isSame = outcome.verified.map {
                $0.payload == receipt && $0.environment == .sandbox
            }
            #expect(isSame ?? true, "at \(offset)")
        }
        #expect(refused > bytes.count / 13 * 9 / 10)
    }

    @Test(arguments: old)
    func `unsigned bytes of a transaction receipt do not change the receipt's digest`(
        name: String
    ) async throws {
        let bytes = try file("transaction-receipts", name)
        let receipt = try TransactionReceiptFile(parsing: bytes)
        let bundle = try TransactionReceipt(signedBytes: receipt.signedBytes).bundleID
        var digests: Set<[UInt8]> = []
        for changed in [bytes, bytes + [0x0A], receipt.bytes] {
            let outcome = await Self.verifier.transactionReceipt(
                changed, for: try app(bundle), at: Self.now)
            let verified = try #require(outcome.verified)
            digests.insert(verified.digest.signed)
            #expect(DocumentDigest(transactionReceipt: changed) == verified.digest)
        }
        #expect(digests.count == 1)
        // The environment is not part of the signed bytes. But a document without an environment
        // has another digest, because it claims to be from production.
        var other = receipt
        other.environment = nil
        let claimed = try #require(DocumentDigest(transactionReceipt: other.bytes))
        #expect(!digests.contains(claimed.signed))
    }

    /// The word "Sandbox" is not part of the signed bytes.
    @Test(arguments: old)
    func `a sandbox receipt is not accepted as production if its environment is removed`(
        name: String
    ) async throws {
        var receipt = try TransactionReceiptFile(parsing: try file("transaction-receipts", name))
        let bundle = try TransactionReceipt(signedBytes: receipt.signedBytes).bundleID
        receipt.environment = nil
        let outcome = await Self.verifier.transactionReceipt(
            receipt.bytes, for: try app(bundle, [.production, .sandbox]), at: Self.now)
        #expect(outcome.refusal?.found == "no app-item-id of production")
    }
}
