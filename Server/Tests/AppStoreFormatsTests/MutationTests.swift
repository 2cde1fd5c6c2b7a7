import AppStoreFormats
import Dice
import Foundation
import Testing

/// Random damage to real texts. Prints its seed; PERENNIAL_SEED sets it.
@Suite struct MutationTests {
    private static let rounds = 4000

    private static let marks = Array("{}[]\",:.\\0e-".utf8)
    private static let seed: UInt64 = {
        let given = ProcessInfo.processInfo.environment["PERENNIAL_SEED"].flatMap(UInt64.init)
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("MutationTests: PERENNIAL_SEED=\(seed)")
        return seed
    }()

    private static let text =
        #"{"bundleId":"com.example","data":{"appAppleId":41234,"status":1,"environment":"Moon"},"#
        + #""signedDate":1697679936049.7297,"isUpgraded":false,"x5c":["QQ=="],"alg":null,"#
        + #""advancedCommerceInfo":{"items":[{"SKU":"a","refunds":[{"refundAmount":-5000}]}],"#
        + #""taxRate":"0.15"},"offerIdentifier":"\u00e9\ud83d\ude00","#
        + #""eligibleWinBackOfferIds":["é","😀"]}"#

    private static var jws: [UInt8] {
        func segment(_ bytes: [UInt8]) -> String {
            String(decoding: Base64.url.encode(bytes), as: UTF8.self)
        }
        let header = segment(Array(#"{"alg":"ES256"}"#.utf8))
        let inner = "\(header).\(segment(Array(text.utf8))).\(segment([1, 2, 3]))"
        return Array("\(header).\(segment(Array("{\"a\":\"\(inner)\"}".utf8))).AAEC".utf8)
    }

    @Test func `damaged JSON is refused, or read and written without loss`() throws {
        var generator = Dice(seed: Self.seed)
        var readable = 0
        for _ in 0..<Self.rounds {
            let bytes = generator.damaged(Array(Self.text.utf8), marks: Self.marks)
            guard let json = try? JSON(parsing: bytes) else { continue }
            readable += 1
            #expect(try JSON(parsing: json.bytes) == json)
            try check(TransactionPayload.self, json)
            try check(RenewalPayload.self, json)
            try check(NotificationPayload.self, json)
            try check(AppTransactionPayload.self, json)
            try check(JWSHeader.self, json)
        }
        #expect((1..<Self.rounds).contains(readable))
    }

    private func check<Value: WireObject>(_: Value.Type, _ json: JSON) throws {
        guard let value = Value(json: json) else {
            #expect(json.members == nil)
            return
        }
        let again = try Value(parsing: value.json.bytes)
        #expect(again == value)
        #expect(value.json.members?.count == json.members?.count)
    }

    @Test func `damaged signed text is unchanged after packing and unpacking`() {
        var generator = Dice(seed: Self.seed)
        var decodedCount = 0
        for _ in 0..<Self.rounds {
            let bytes = generator.damaged(Self.jws, marks: Self.marks)
            #expect(PackedDocument(packing: bytes).unpacked == bytes)
            guard let jws = CompactJWS(bytes) else { continue }
            for (segment, decoded) in [
                (jws.headerSegment, jws.header), (jws.payloadSegment, jws.payload),
                (jws.signatureSegment, jws.signature),
            ] {
                guard let decoded else { continue }
                decodedCount += 1
                #expect(Base64.url.encode(decoded) == Array(segment))
            }
        }
        #expect((1..<3 * Self.rounds).contains(decodedCount))
    }

    @Test func `random bytes are unchanged after packing and unpacking`() {
        var generator = Dice(seed: Self.seed)
        let pieces = [Array("eyJ".utf8), Array(".".utf8), Array("e30".utf8), Self.jws]
        for _ in 0..<Self.rounds / 8 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...20, using: &generator) {
                bytes += pieces.randomElement(using: &generator) ?? []
                bytes += (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
            }
            #expect(PackedDocument(packing: bytes).unpacked == bytes)
        }
    }

    @Test func `reading a packed document with damaged parts never traps`() {
        var generator = Dice(seed: Self.seed)
        let packed = PackedDocument(packing: Self.jws)
        var readable = 0
        for _ in 0..<Self.rounds {
            let parts = generator.damaged(packed.parts, marks: Self.marks)
            let damaged = PackedDocument(parts: parts, headers: packed.headers)
            if damaged.unpacked != nil { readable += 1 }
        }
        // Some damage changes only literal bytes, so the parts stay readable; other damage does
        // not.
        #expect((1..<Self.rounds).contains(readable))
    }
}
