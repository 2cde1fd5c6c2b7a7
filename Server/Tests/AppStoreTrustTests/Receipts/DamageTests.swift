import AppStoreFormats
import Dice
import Foundation
import Signing
import Testing

@testable import AppStoreTrust

/// Random damage to receipts. Prints its seed. PERENNIAL_SEED sets it, and PERENNIAL_ROUNDS sets
/// the number of rounds.
@Suite struct DamageTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["PERENNIAL_ROUNDS"].flatMap(Int.init) ?? 20_000

    /// The tags and lengths of ASN.1, and the bytes that end a text.
    private static let marks: [UInt8] = [
        0x30, 0x31, 0x04, 0x02, 0xA0, 0x80, 0x84, 0xFF, 0, 0x22, 0x3B,
    ]
    private static let seed: UInt64 = {
        let seed =
            environment["PERENNIAL_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)
        print("DamageTests: PERENNIAL_SEED=\(seed)")
        return seed
    }()

    private static func receipt() throws -> AppReceipt {
        typealias Field = InAppReceipt.Field
        var receipt = ReceiptMaker.payload()
        receipt.purchases = (0..<3).map { number in
            InAppReceipt(attributes: [
                .text(Field.transactionID, "\(number)"), .text(Field.productID, "pro.monthly"),
                .date(Field.purchased, Moment.year2026.onWire), .date(Field.expires, nil),
                .integer(Field.webOrderLineItemID, 2_000_000_123_357_229),
            ])
        }
        return receipt
    }

    @Test func `a damaged receipt file is refused, or read within the limits`() throws {
        var generator = Dice(seed: Self.seed)
        let file = try ReceiptMaker.shared.get().file(Self.receipt())
        var readable = 0
        for _ in 0..<Self.rounds {
            let damaged = generator.damaged(file, marks: Self.marks)
            _ = XcodeReceipt.isXcodeReceipt(damaged)
            guard let envelope = try? ReceiptEnvelope(parsing: damaged) else { continue }
            readable += 1
            #expect(envelope.certificates.count <= ReceiptEnvelope.certificatesMax)
            for der in envelope.certificates {
                _ = RSACertificate.matches(der, envelope.issuer, envelope.serialNumber)
            }
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    @Test func `a damaged receipt payload is refused, or read and written without loss`() throws {
        var generator = Dice(seed: Self.seed)
        let bytes = try Self.receipt().bytes
        var readable = 0
        for _ in 0..<Self.rounds {
            guard
                let receipt = try? AppReceipt(parsing: generator.damaged(bytes, marks: Self.marks))
            else { continue }
            readable += 1
            let again = try AppReceipt(parsing: receipt.bytes)
            #expect(Set(again.attributes) == Set(receipt.attributes))
            #expect(again.purchases.count == receipt.purchases.count)
            for purchase in receipt.purchases { _ = VerifyReceiptRow(purchase).json.bytes }
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    @Test func `a damaged transaction receipt is refused or read`() throws {
        var generator = Dice(seed: Self.seed)
        let list = TransactionReceiptFile(
            signedBytes: Array(
                "{ \"bid\" = \"com.example\"; \"purchase-date-ms\" = \"17\"; }".utf8),
            signature: [2] + [UInt8](repeating: 7, count: 128) + [0, 0, 0, 2, 0x30, 0],
            environment: .sandbox)
        var readable = 0
        for _ in 0..<Self.rounds {
            let damaged = generator.damaged(list.bytes, marks: Self.marks)
            guard let file = try? TransactionReceiptFile(parsing: damaged) else { continue }
            readable += 1
            _ = try? TransactionReceiptSignature(parsing: file.signature)
            _ = try? TransactionReceipt(
                signedBytes: generator.damaged(file.signedBytes, marks: Self.marks))
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    @Test func `damaged Base64 is refused, or its decoded bytes can be encoded again`() {
        var generator = Dice(seed: Self.seed)
        let text = Array(ReceiptText.text(of: Array(0...255)).utf8)
        var readable = 0
        for _ in 0..<Self.rounds {
            let damaged = String(
                decoding: generator.damaged(text, marks: Self.marks), as: UTF8.self)
            guard let bytes = ReceiptText.bytes(of: damaged) else { continue }
            readable += 1
            #expect(!bytes.isEmpty && ReceiptText.bytes(of: ReceiptText.text(of: bytes)) == bytes)
        }
        #expect((1..<Self.rounds).contains(readable))
    }
}
