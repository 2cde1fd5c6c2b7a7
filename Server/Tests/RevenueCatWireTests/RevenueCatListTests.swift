import RevenueCatWebhooks
import RevenueCatWire
import Testing

@Suite struct RevenueCatListTests {
    /// The member `next_page` of a list.
    private static func nextPage(_ list: RevenueCatList) -> RevenueCatValue? {
        guard case .object(let members) = list.value else { return nil }
        return members.first { $0.key == "next_page" }?.value
    }

    @Test func `the path of the next page has the requested environment`() throws {
        let objects = ["a/1", "b"].map { RevenueCatObject("product", $0, []) }
        var page = try #require(
            RevenueCatList.page(of: objects, path: "/v2/p", after: nil, limit: 1))
        #expect(Self.nextPage(page) == .string("/v2/p?starting_after=a%2F1"))
        page.query = "environment=sandbox"
        #expect(
            Self.nextPage(page)
                == .string("/v2/p?environment=sandbox&starting_after=a%2F1"))
    }
}
