import Dashboard
import PerennialContract
import Testing

@testable import Program

@Suite(.timeLimit(.minutes(5))) struct PhonePagesTests {
    @Test
    func `an open page of the phone first gets all parts, and later the parts that have changed`()
        async
    {
        let pages = PhonePages()
        let (first, second) = (PhonePiece(id: "a", html: "1"), PhonePiece(id: "b", html: "1"))
        pages.publish([first, second])
        guard let page = pages.open() else {
            Issue.record("No page was opened.")
            return
        }
        let changed = PhonePiece(id: "a", html: "2")
        pages.publish([changed, second])
        pages.publish([changed, second])
        pages.touch(page.number)
        pages.close(page.number)
        var seen: [Set<PhonePiece>] = []
        for await pieces in page.pieces { seen.append(Set(pieces)) }
        #expect(seen == [[first, second], [changed], []])
        #expect(pages.isEmpty)
    }

    @Test func `open pages of the phone beyond the limit are refused`() {
        let pages = PhonePages()
        let open = (1...PhonePages.countMax).compactMap { _ in pages.open() }
        #expect(open.count == PhonePages.countMax && pages.isFull)
        #expect(pages.open() == nil)
        pages.close(open[0].number)
        #expect(pages.open() != nil)
    }
}

@Suite struct PhoneClockTests {
    @Test func `the phone explains why a renewal comes an hour later or earlier in UTC`() throws {
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
