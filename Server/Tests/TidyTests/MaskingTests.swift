import Testing

/// Masking leaves only the code, at its place. The other checks rely on the masking.
@Suite struct MaskingTests {
    @Test(arguments: [
        ("a // b", "a"), ("a /* b /* c */ d */ e", "a e"), ("a \"b\" c", "a \" c"),
        ("a \"\\\"b\" c", "a \" c"), ("a #\"b\" c\"# d", "a \" d"),
        ("a \"\"\"\nb \" c\n\"\"\" d", "a \" d"), ("a \"\\(b(\")\"))\" c", "a \" c"),
        ("func `b c`() {}", "func ` `() {}"), ("a // b\nc", "a c"),
    ])
    func `comments, strings and quoted names are masked`(text: String, code: String) {
        let words = Masking.masked(text).split(whereSeparator: \.isWhitespace)
        #expect(words.joined(separator: " ") == code)
    }

    @Test(arguments: ["\"never closed", "/* never closed", "`never", "\"\\(never", "#\"x", "\"\\"])
    func `an unterminated string or comment is masked and keeps its length`(text: String) {
        #expect(Masking.masked(text).count == text.count)
    }

    @Test func `masked text keeps its lines and columns`() {
        let text = "let a = \"x\ny\" /* \n */ let b"
        let masked = Masking.masked(text)
        #expect(masked.count == text.count)
        #expect(masked.hasSuffix(" let b"))
        #expect(masked.filter { $0 == "\n" }.count == 2)
    }
}
