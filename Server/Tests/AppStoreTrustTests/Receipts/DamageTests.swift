import AppStoreFormats
import Foundation
import Testing

@testable import AppStoreTrust

/// Random damage to receipts. Prints its seed, and takes it back from PERENNIAL_SEED; how many
/// rounds, from PERENNIAL_ROUNDS.
@Suite struct DamageTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["PERENNIAL_ROUNDS"].flatMap(Int.init) ?? 20_000

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

    @Test func `a damaged file is refused, or holds what can be written again`() throws {
        var generator = Damage(state: Self.seed)
        let file = try ReceiptMaker.shared.get().file(Self.receipt())
        var readable = 0
        for _ in 0..<Self.rounds {
            let damaged = generator.damaged(file)
            _ = XcodeReceipt.isOne(damaged)
            guard let envelope = try? ReceiptEnvelope(parsing: damaged) else { continue }
            readable += 1
            #expect(envelope.certificates.count <= ReceiptEnvelope.certificatesMax)
            for der in envelope.certificates {
                _ = PlainCertificate.isNamed(der, envelope.issuer, envelope.serialNumber)
            }
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    @Test func `a damaged payload is refused, or read and written without loss`() throws {
        var generator = Damage(state: Self.seed)
        let bytes = try Self.receipt().bytes
        var readable = 0
        for _ in 0..<Self.rounds {
            guard let receipt = try? AppReceipt(parsing: generator.damaged(bytes)) else { continue }
            readable += 1
            let again = try AppReceipt(parsing: receipt.bytes)
            #expect(Set(again.attributes) == Set(receipt.attributes))
            #expect(again.purchases.count == receipt.purchases.count)
            for purchase in receipt.purchases { _ = VerifyReceiptRow(purchase).json.bytes }
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    @Test func `a damaged transaction receipt is refused, or read`() throws {
        var generator = Damage(state: Self.seed)
        let list = TransactionReceiptFile(
            signedBytes: Array(
                "{ \"bid\" = \"com.example\"; \"purchase-date-ms\" = \"17\"; }".utf8),
            signature: [2] + [UInt8](repeating: 7, count: 128) + [0, 0, 0, 2, 0x30, 0],
            environment: .sandbox)
        var readable = 0
        for _ in 0..<Self.rounds {
            let damaged = generator.damaged(list.bytes)
            guard let file = try? TransactionReceiptFile(parsing: damaged) else { continue }
            readable += 1
            _ = try? TransactionReceiptSignature(parsing: file.signature)
            _ = try? TransactionReceipt(signedBytes: generator.damaged(file.signedBytes))
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    @Test func `damaged Base64 gives bytes, or nothing`() {
        var generator = Damage(state: Self.seed)
        let text = Array(ReceiptText.text(of: Array(0...255)).utf8)
        var readable = 0
        for _ in 0..<Self.rounds {
            let damaged = String(decoding: generator.damaged(text), as: UTF8.self)
            guard let bytes = ReceiptText.bytes(of: damaged) else { continue }
            readable += 1
            #expect(!bytes.isEmpty && ReceiptText.bytes(of: ReceiptText.text(of: bytes)) == bytes)
        }
        #expect((1..<Self.rounds).contains(readable))
    }
}

/// A small generator that gives the same numbers for the same seed (Vigna, splitmix64).
private struct Damage: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// The bytes with one to three places changed: tags and lengths of ASN.1 rather than others.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &self) where !bytes.isEmpty {
            let offset = Int.random(in: bytes.indices, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes.remove(at: offset)
            case 1: bytes.insert(bytes[offset], at: offset)
            case 2: bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 3:
                let marks: [UInt8] = [
                    0x30, 0x31, 0x04, 0x02, 0xA0, 0x80, 0x84, 0xFF, 0, 0x22, 0x3B,
                ]
                bytes[offset] = marks.randomElement(using: &self) ?? 0
            case 4:
                let end = min(offset + Int.random(in: 1...64, using: &self), bytes.count)
                bytes.insert(contentsOf: bytes[offset..<end], at: offset)
            default: bytes.removeSubrange(offset..<min(offset + 5, bytes.count))
            }
        }
        return bytes
    }
}
