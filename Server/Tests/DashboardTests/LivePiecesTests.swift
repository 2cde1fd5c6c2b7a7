import Testing

@testable import Dashboard

@Suite struct LivePiecesTests {
    private static let page = """
        <body><div class="stats" id="tiles"><div><a href="/">1</a></div></div><p id="other">x</p>\
        <table><tbody id="events" data-rows><tr id="event-2"><td>two</td></tr>
        <tr id="event-1"><td>one</td></tr></tbody></table>\
        <section class="panel" id="webhook-61"><div id="inner"></div></section></body>
        """

    private func messages(from old: String?, to new: String) -> [String] {
        LivePieces(new).messages(since: old.map(LivePieces.init)).map { "\($0.id): \($0.html)" }
    }

    @Test func `each live element of a page is extracted completely`() {
        #expect(
            messages(from: nil, to: Self.page) == [
                """
                tiles: <div class="stats" id="tiles"><div><a href="/">1</a></div></div>
                """,
                """
                webhook-61: <section class="panel" id="webhook-61"><div id="inner"></div></section>
                """,
                """
                events: <tr id="event-2"><td>two</td></tr><tr id="event-1"><td>one</td></tr>
                """,
            ])
    }

    @Test func `a stream sends only the pieces of a page that have changed`() {
        #expect(messages(from: Self.page, to: Self.page) == [])
        #expect(
            messages(from: Self.page, to: Self.page.replacing(">1<", with: ">2<")) == [
                """
                tiles: <div class="stats" id="tiles"><div><a href="/">2</a></div></div>
                """
            ])
        #expect(messages(from: Self.page, to: Self.page.replacing(">x<", with: ">y<")) == [])
    }

    @Test
    func `new rows are added at the top of a live list, and a changed row is replaced in place`() {
        let more = Self.page.replacing(
            "data-rows>", with: "data-rows><tr id=\"event-3\"><td>three</td></tr>")
        #expect(
            messages(from: Self.page, to: more.replacing("one", with: "won")) == [
                "event-1: <tr id=\"event-1\"><td>won</td></tr>",
                "events: <tr id=\"event-3\"><td>three</td></tr>",
            ])
    }

    @Test func `every page that asks for a stream has live pieces`() {
        for (name, html) in Pages().all where html.contains("data-source=") {
            let isEmpty = ["empty", "none", "waiting"].contains { name.hasSuffix($0) }
            #expect(isEmpty || !LivePieces(html).messages(since: nil).isEmpty, "\(name)")
        }
    }

    @Test(arguments: ["<b>", "</section></div>", "<tr id=\"event-9\">", " id=\"tiles\" data-rows"])
    func `a hostile text cannot begin or end a live piece`(_ hostile: String) {
        for (name, html) in Pages(samples: Samples(text: { $0 + hostile })).all {
            for message in LivePieces(html).messages(since: nil) {
                let document = HTMLDocument("<main>\(message.html)</main>")
                #expect(document.faults == [], "\(name): \(message.id)")
            }
        }
    }

    @Test func `the address of a page's stream is the page's path with /live before it`() {
        var frame = Samples().frame
        frame.logPlace = "abc_7"
        for (path, source) in [
            ("/", "/live?place=abc_7"), ("/?environment=sandbox", "/live?environment=sandbox&amp;"),
            ("/customers/a%22b", "/live/customers/a%22b?place=abc_7"),
        ] {
            frame.path = path
            #expect(frame.source.html.hasPrefix(source), "\(path)")
        }
    }
}
