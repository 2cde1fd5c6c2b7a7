import Testing

@testable import Dashboard

@Suite struct HostileTextTests {
    private static let mark = "hostile"
    private static let texts = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)",
        "\"\u{301} autofocus onfocus=alert(1) x=\"", "<\u{338}b>", "</title><svg onload=alert(1)>",
        "{{{csrf}}} {{#x}}", "&lt;b&gt; &amp;", "javascript:alert(1)", "\u{0} \u{1B} \u{7F}",
        "\u{202E}txt.exe\u{202C} \u{2066}x\u{2069}\u{2069}", "\u{200F}שלום",
        String(repeating: "👩‍👩‍👧‍👦", count: 255), "../../..", "a/b?c=d#e&f", "`${x}`",
    ]

    /// Every page for each hostile text, rendered once.
    private static let pages = Dictionary(
        uniqueKeysWithValues: texts.map { hostile in
            (hostile, Pages(samples: Samples(text: { _ in mark + hostile })).all)
        })
    private static let harmlessNames = Pages().all.map { elementNames($0.html) }

    @Test(arguments: texts)
    func `a hostile text in every field changes no page's structure`(_ hostile: String) throws {
        let pages = try #require(Self.pages[hostile])
        for ((name, html), expected) in zip(pages, Self.harmlessNames) {
            let document = HTMLDocument(html)
            #expect(document.faults == [], "\(name)")
            let names = Set(document.elements.map(\.name))
            #expect(names.isSubset(of: expected.union(["pre", "br"])), "\(name)")
            for element in document.elements {
                #expect(
                    !element.attributes.keys.contains { $0.hasPrefix("on") || $0 == "autofocus" },
                    "\(name): \(element)")
                #expect(
                    element.attributes["href"].map { $0.hasPrefix("/") || $0.hasPrefix("#") }
                        ?? true, "\(name): \(element)")
            }
        }
    }

    @Test(arguments: texts)
    func `a hostile text is shown escaped on every page`(_ hostile: String) throws {
        for (name, html) in try #require(Self.pages[hostile]) {
            #expect(html.contains(Self.mark), "\(name)")
            #expect(!html.contains("<script>"), "\(name)")
            #expect(!html.contains("<img"), "\(name)")
        }
    }

    @Test func `a direction control character in a hostile text is shown as its code point`() {
        let hostile = "\u{202E}x\u{2069}"
        for (name, html) in Pages(samples: Samples(text: { $0 + hostile })).all {
            let text = HTMLDocument(html).text.unicodeScalars
            #expect(!text.contains("\u{2069}"), "\(name)")
            #expect(html.contains("[U+202E]"), "\(name)")
        }
    }

    private static func elementNames(_ html: String) -> Set<String> {
        Set(HTMLDocument(html).elements.map(\.name))
    }
}
