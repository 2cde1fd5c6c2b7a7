import Testing

/// Each check of pages finds a bad sample and accepts a good one.
@Suite struct PagesTests {
    private let places: Set = ["README.md", "docs", "docs/README.md", "docs/api.md"]

    private func violations(_ text: String, path: String = "docs/api.md") -> [Violation] {
        Pages.violations(in: SourceFile(path: path, text: text), places: places)
    }

    @Test(arguments: [
        "[x](missing.md)", "see [x](../docs/none.md#part)", "<img src=\"images/none.svg\">",
        "[x](../../elsewhere.md)", "[x](api.md) and [y](none.md)",
    ])
    func `a link without a target is a violation, with its line`(line: String) {
        #expect(violations("# Title\n\n" + line).map(\.line) == [3])
    }

    @Test(arguments: [
        "[x](api.md)", "[x](../README.md)", "[x](README.md#here)", "[x](#here)", "[x](.)",
        "[x](https://example.com/none)", "```\n[x](none.md)\n```", "[x](../docs/)",
    ])
    func `a link with a target is allowed`(text: String) {
        #expect(violations(text).isEmpty)
    }

    @Test func `a page that no index page links to is a violation`() {
        let entrance = SourceFile(path: "docs/README.md", text: "[api](api.md)")
        let linked = SourceFile(path: "docs/api.md", text: "[other](other.md)")
        let orphan = SourceFile(path: "docs/other.md", text: "")
        #expect(Pages.orphans(among: [entrance, linked]).isEmpty)
        #expect(
            Pages.orphans(among: [entrance, linked, orphan]).map(\.path) == ["docs/other.md"])
    }
}
