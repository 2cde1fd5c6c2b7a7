import Ledger
import Testing

@Suite struct IdentifierTests {
    @Test func `two ids with different bytes are different, even if they look equal`() {
        let one: CustomerID = "zo\u{EB}"
        let two: CustomerID = "zoe\u{308}"
        #expect(one.rawValue == two.rawValue)
        #expect(one != two)
        #expect(Set([one, two, one]).count == 2)
        #expect((one < two) != (two < one))
    }

    @Test func `ids are ordered by their bytes`() {
        let ids: [CustomerID] = ["Z", "a", "aa", "\u{E4}", "\u{1F642}"]
        #expect(ids.shuffled().sorted() == ids)
    }
}
