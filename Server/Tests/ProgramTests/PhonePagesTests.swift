import Dashboard
import Testing

@testable import Program

@Suite struct PhonePagesTests {
    @Test func `an open page gets all pieces first, and then those that differ`() async {
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

    @Test func `too many open pages are refused`() {
        let pages = PhonePages()
        let open = (1...PhonePages.countMax).compactMap { _ in pages.open() }
        #expect(open.count == PhonePages.countMax && pages.isFull)
        #expect(pages.open() == nil)
        pages.close(open[0].number)
        #expect(pages.open() != nil)
    }
}
