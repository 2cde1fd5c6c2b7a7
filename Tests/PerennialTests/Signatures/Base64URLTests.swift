import Testing

@testable import Perennial

struct Base64URLTests {
    @Test(
        arguments: [
            ("", []), ("AA", [0]), ("AAA", [0, 0]), ("AAAA", [0, 0, 0]), ("_-8", [0xFF, 0xEF]),
            ("Zm9vYmFy", Array("foobar".utf8)),
        ] as [(String, [UInt8])])
    func `a canonical base64url text is decoded and encoded`(text: String, bytes: [UInt8]) {
        #expect(Base64URL.decode(text.utf8) == bytes)
        #expect(Base64URL.encode(bytes) == text)
    }

    @Test(arguments: [
        "A", "AAAAA", "AA==", "AA=", "A A", " AA", "AA\n", "A+AA", "A/AA", "AB", "AAB", "_-9",
        "A.AA", "ÄAA", "A\0",
    ])
    func `a base64url text that is not canonical is refused`(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test func `each sequence of bytes has exactly one base64url text`() {
        // The test tries all texts of two letters: 256 of the 4,096 are canonical.
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var texts: [[UInt8]: Int] = [:]
        for one in letters {
            for two in letters {
                if let bytes = Base64URL.decode([one, two]) { texts[bytes, default: 0] += 1 }
            }
        }
        #expect(texts.count == 256)
        #expect(texts.values.allSatisfy { $0 == 1 })
    }
}
