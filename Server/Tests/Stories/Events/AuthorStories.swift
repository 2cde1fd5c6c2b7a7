import AppStoreFormats
import Testing

/// The author of a request, as the event log and the history name them.
@Suite struct AuthorStories {
    @Test(arguments: StoryDatabase.allCases)
    func `an event names the key and the person behind the request, and the history shows them`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let grant = Array(#"{"entitlement": "plus", "reason": "a ticket"}"#.utf8)
            for (customer, headers) in [("anna", ["Perennial-Actor": "Mia"]), ("ben", [:])] {
                let answer = try await shop.support.send(
                    "POST", "/v1/customers/\(customer)/grants", body: grant, headers: headers)
                #expect(answer.status < 300)
            }

            let events = try await shop.support.get("/v1/events")["items"]?.array ?? []
            let authors = events.filter { $0["type"]?.string == "granted" }.map {
                $0["cause"]?["author"]
            }
            #expect(authors.map { $0?["actor"]?.string } == ["Mia", nil])
            #expect(authors.allSatisfy { $0?["key_digits"]?.string?.count == 8 })
            let history = try await shop.support.get("/v1/customers/anna/history")
            let sentences = (history["items"]?.array ?? []).compactMap { $0["sentence"]?.string }
            #expect(
                sentences.contains { $0.contains("granted") && $0.contains("by Mia with the key") },
                "\(sentences)")
        }
    }
}
