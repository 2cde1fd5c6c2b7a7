import AppStoreFormats
import Testing

@Suite struct Base64Tests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The examples in RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `the RFC's examples are converted in both alphabets`(plain: String, standard: String) {
        let url = standard.filter { $0 != "=" }
        #expect(text(Base64.standard.encode(plain.utf8)) == standard)
        #expect(text(Base64.url.encode(plain.utf8)) == url)
        #expect(Base64.standard.decode(standard.utf8) == Array(plain.utf8))
        #expect(Base64.url.decode(url.utf8) == Array(plain.utf8))
    }

    @Test func `the two base64 alphabets differ in two characters`() {
        #expect(text(Base64.standard.encode([0xFB, 0xEF, 0xFF])) == "++//")
        #expect(text(Base64.url.encode([0xFB, 0xEF, 0xFF])) == "--__")
        #expect(Base64.url.decode("++//".utf8) == nil)
        #expect(Base64.standard.decode("--__".utf8) == nil)
    }

    @Test(arguments: [
        "Z", "Zg", "Zm8", "Zg=", "Zg===", "====", "=", "Z===", "Zm=v", "Zg==Zg==", "Zm9v=",
        "Zm9v====", "Zh==", "Zm9=", "Zm 9v", "Zm9\n", "Zm9v\n", "Zm9é", "Zm9*",
    ])
    func `base64 text that is not canonical is refused`(text: String) {
        #expect(Base64.standard.decode(text.utf8) == nil)
    }

    @Test(arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "Zm 9", "Zm9v\n", "Zm9.", "é", "Zm9vYmF"])
    func `base64url text that is not canonical is refused`(text: String) {
        #expect(Base64.url.decode(text.utf8) == nil)
    }

    @Test func `data of any length and with any byte is unchanged after encoding and decoding`() {
        for length in 0...256 {
            let bytes = (0..<length).map { UInt8(($0 * 31 + length) & 255) }
            for alphabet in [Base64.url, .standard] {
                #expect(alphabet.decode(alphabet.encode(bytes)) == bytes)
            }
        }
    }

    /// Packed documents rely on this rule: they store the decoded bytes instead of the text.
    @Test func `different accepted Base64 texts never decode to the same bytes`() {
        let head = Array("Zm9v".utf8)
        for first in UInt8.min...(.max) {
            for second in UInt8.min...(.max) {
                for tail in [
                    [first], [first, second], [65, first, second], [66, 65, first, second],
                ] {
                    let text = head + tail
                    guard let bytes = Base64.url.decode(text) else { continue }
                    #expect(Base64.url.encode(bytes) == text)
                }
            }
        }
        for place in 0..<256 {
            var text = [UInt8](repeating: 65, count: 256)
            for byte in UInt8.min...(.max) {
                text[place] = byte
                guard let bytes = Base64.url.decode(text) else { continue }
                #expect(Base64.url.encode(bytes) == text)
            }
        }
    }

    @Test func `a lazy collection of base64 characters is decoded like an array`() {
        let text = "Zm9v YmFy".utf8.lazy.filter { $0 != UInt8(ascii: " ") }
        #expect(Base64.standard.decode(text) == Array("foobar".utf8))
    }
}
