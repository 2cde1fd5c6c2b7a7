import AppStoreFormats
import Crypto
import SwiftASN1
import Testing
import X509
import _CryptoExtras

@testable import Simulator

/// Receipts that Apple signed, and Apple's answers about them.
@Suite struct GoldenReceiptTests {
    private func receipt(_ name: String) throws -> AppReceipt {
        let file = try LegacyVectors.decoded("receipts/app-receipts/\(name).b64")
        let envelope = try require(ReceiptEnvelope(parsing: file), "\(name) is no envelope")
        return try AppReceipt(parsing: envelope.content)
    }

    private static let pairs = [
        "linjunpop-receipt", "linjunpop-auto_renewable_receipt",
        "revenuecat-base64encodedreceiptsample1",
    ]

    /// These fields are not in a receipt: `request_date`, which is copied from the answer, and at
    /// the top level `status`, `environment` and `latest_…`. All other fields are equal, including
    /// the order of rows and keys.
    @Test(.enabled(if: LegacyVectors.arePresent), arguments: pairs)
    func `a decoded receipt equals Apple's answer in all keys and their order`(name: String) throws
    {
        let answered = try LegacyVectors.json("receipts/expected/\(name).verifyReceipt.json")
        let apple = try require(answered["receipt"], "no receipt")
        let date = try require(apple["request_date_ms"]?.string.flatMap { Int64($0) }, "no date")
        let ours = VerifyReceiptApp(
            try receipt(name), at: AppStoreDate(milliseconds: date))
        #expect(ours.json == apple)
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `latest_receipt_info lists the receipt's purchases by date, each with its group`() throws {
        let name = Self.pairs[2]
        let answered = try LegacyVectors.json("receipts/expected/\(name).verifyReceipt.json")
        let rows = try receipt(name).purchases.map { purchase in
            var row = VerifyReceiptRow(purchase)
            row.subscriptionGroupID = "20662382"
            return row
        }
        let byAge = rows.sorted {
            ($0.purchased?.milliseconds ?? 0) < $1.purchased?.milliseconds ?? 0
        }
        #expect(JSON.array(byAge.map(\.json)) == answered["latest_receipt_info"])
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `Apple's receipts are encoded to the bytes that were read, in the order of DER`() throws {
        let files = LegacyVectors.files("receipts/app-receipts", ending: ".b64")
        #expect(files.count > 10)
        for path in files where !path.contains("xcode") {
            let file = try LegacyVectors.decoded(path)
            let envelope = try require(ReceiptEnvelope(parsing: file), path)
            #expect(try AppReceipt(parsing: envelope.content).bytes == envelope.content, "\(path)")
            #expect(try envelope.der() == file, "\(path)")
        }
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `the first certificate of a receipt has signed the bytes of the content`() throws {
        let files = LegacyVectors.files("receipts/app-receipts", ending: ".b64")
        #expect(!files.isEmpty)
        for path in files {
            let envelope = try require(
                ReceiptEnvelope(parsing: LegacyVectors.decoded(path)), path)
            let leaf = try Certificate(derEncoded: envelope.certificates[0])
            let key = try require(_RSA.Signing.PublicKey(leaf.publicKey), path)
            let signature = _RSA.Signing.RSASignature(rawRepresentation: envelope.signature)
            let isValid =
                switch envelope.digest {
                case .sha1:
                    key.isValidSignature(
                        signature, for: Insecure.SHA1.hash(data: envelope.content),
                        padding: .insecurePKCS1v1_5)
                case .sha256:
                    key.isValidSignature(
                        signature, for: SHA256.hash(data: envelope.content),
                        padding: .insecurePKCS1v1_5)
                }
            #expect(isValid, "\(path)")
        }
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `Xcode's receipts are read, and are not accepted as genuine`() throws {
        let authority = try Stage.authority.get().receipts
        let files = LegacyVectors.files("receipts/app-receipts", ending: ".b64")
        #expect(!files.isEmpty)
        for path in files {
            let file = try LegacyVectors.decoded(path)
            let refusal: ReceiptRefusal = path.contains("xcode") ? .malformed : .notAuthentic
            #expect(throws: refusal, "\(path)") { try authority.receipt(in: file) }
        }
        let bought = try receipt("tpinappreceipt-receipt-xcode-with-purchases")
        #expect(bought.purchases.first?[.productID]?.text == "pass.premium")
        let old = try receipt("tpinappreceipt-receipt-xcode")
        #expect(try old[.created]?.date == moment("2020-07-22T17:33:15Z"))
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `the device hash covers the identifier, the opaque value and the bundle id's DER`()
        throws
    {
        let receipt = try receipt("tpinappreceipt-receipt-sandbox-g5")
        let guid = "956328D9CC6A47F4BE406953FB0AB6C7"
        let bytes = stride(from: 0, to: 32, by: 2).compactMap { place in
            UInt8(guid.dropFirst(place).prefix(2), radix: 16)
        }
        let hashed = try require(receipt.hashedBytes(guid: bytes), "nothing to hash")
        #expect(Array(Insecure.SHA1.hash(data: hashed)) == receipt[.deviceHash]?.value)
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `transaction receipts are read and their signatures are valid`() throws {
        let files = LegacyVectors.files("receipts/transaction-receipts", ending: ".b64")
        #expect(!files.isEmpty)
        for path in files {
            let file = try TransactionReceiptFile(parsing: LegacyVectors.decoded(path))
            let signature = try TransactionReceiptSignature(parsing: file.signature)
            #expect(signature.bytes == file.signature)
            let key = try publicKey(of: signature.certificate)
            let signed = [signature.version] + file.signedBytes
            let isValid = key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature.signature),
                for: Insecure.SHA1.hash(data: signed), padding: .insecurePKCS1v1_5)
            #expect(isValid, "\(path)")
            let receipt = try TransactionReceipt(signedBytes: file.signedBytes)
            #expect(receipt.unknown.isEmpty, "\(path): \(receipt.unknown)")
            #expect(try TransactionReceipt(signedBytes: receipt.signedBytes) == receipt)
        }
    }

    /// The key has 1024 bits, which X509 does not read.
    private func publicKey(of certificate: [UInt8]) throws -> _RSA.Signing.PublicKey {
        func children(_ node: ASN1Node) -> [ASN1Node] {
            guard case .constructed(let nodes) = node.content else { return [] }
            return Array(nodes)
        }
        let parts = try children(require(children(BER.parse(certificate)).first, "no certificate"))
        let key = try require(parts.dropFirst(6).first, "no key").encodedBytes
        return try _RSA.Signing.PublicKey(unsafeDERRepresentation: Array(key))
    }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `our answer for a transaction receipt has the same keys as Apple's answer`() throws {
        let name = "mbaasy-transaction_sandbox"
        let path = "receipts/transaction-receipts/\(name).b64"
        let file = try TransactionReceiptFile(parsing: LegacyVectors.decoded(path))
        #expect(file.environment == .sandbox)
        let ours = try TransactionReceipt(signedBytes: file.signedBytes).json.members ?? []
        let apple = try LegacyVectors.json("receipts/expected/\(name).json").members ?? []
        #expect(Set(ours) == Set(apple))
    }
}
