import Dashboard
import PerennialContract
import Testing

@testable import Program

@Suite(.timeLimit(.minutes(5))) struct PhonePagesTests {
    @Test func `an open page of the phone gets first all parts, and then each changed part`() {
        let pages = PhonePages()
        let (first, second) = (PhonePiece(id: "a", html: "1"), PhonePiece(id: "b", html: "1"))
        pages.publish([first, second])
        var shown: [String: PhonePiece] = [:]
        #expect(Set(pages.changes(of: &shown)) == [first, second])
        #expect(pages.changes(of: &shown).isEmpty)
        let changed = PhonePiece(id: "a", html: "2")
        pages.publish([PhonePiece(id: "a", html: "3"), second])
        pages.publish([changed, second])
        // A page that was slow gets only the latest of several changes.
        #expect(pages.changes(of: &shown) == [changed])
    }

    @Test func `open phone pages are woken by each change of a part, until they are closed`() async
    {
        let pages = PhonePages()
        let (stream, sink) = pages.signals()
        let piece = PhonePiece(id: "a", html: "1")
        pages.publish([piece])
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        // Publishing the same pieces again is not a change.
        pages.publish([piece])
        sink.finish()
        #expect(await iterator.next() == nil)
    }

    @Test func `each part of the phone's page is sent as one event`() throws {
        let pages = PhonePages()
        var source = PhonePageSource(pages: pages)
        #expect(try source.events() == nil)
        pages.publish([PhonePiece(id: "a", html: "<p>1</p>")])
        let text = try #require(try source.events())
        #expect(text.hasPrefix("data: {") && text.hasSuffix("}\n\n"))
        #expect(try source.events() == nil)
    }

    @Test func `open pages of the phone beyond the limit are refused`() {
        let pages = PhonePages()
        #expect(pages.isEmpty)
        let open = (1...PhonePages.countMax).compactMap { _ in pages.reserve() }
        #expect(open.count == PhonePages.countMax && !pages.isEmpty)
        #expect(pages.reserve() == nil)
        open[0].release()
        #expect(pages.reserve() != nil)
    }
}

@Suite struct PhoneClockTests {
    @Test func `the phone explains why a change of clocks moves a renewal by an hour in UTC`()
        throws
    {
        let rows = [
            ("2026-10-24T09:00:00Z", "2026-11-24T10:00:00Z", "back", "an hour later"),
            ("2027-02-24T10:00:00Z", "2027-03-24T09:00:00Z", "forward", "an hour earlier"),
            ("2026-11-24T10:00:00Z", "2026-12-24T10:00:00Z", nil, nil),
            ("2026-10-24T09:00:00Z", "2027-10-24T09:00:00Z", nil, nil),
        ]
        for (start, end, word, hour) in rows {
            let said = PhoneBackend.clockChange(
                from: try #require(Timestamp(start)), to: try #require(Timestamp(end)))
            #expect((said == nil) == (word == nil), "\(start)")
            guard let word, let hour else { continue }
            #expect(said?.contains("its clocks \(word).") == true, "\(start)")
            #expect(said?.contains("come \(hour).") == true, "\(start)")
        }
    }
}
