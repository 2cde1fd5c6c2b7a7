import Ledger
import Storage
import Testing

@testable import Engine

/// What a list of published content reads and writes in the database.
@Suite struct ContentTests {
    @Test func `a content list without links creates no secret`() async throws {
        let now = Instant(milliseconds: 1_767_268_800_000)
        let publication = Publication(
            id: "first", publishedAt: now - .days(1), entitlement: "pro", products: ["p"])
        let entry = ContentSettings.Entry(publication, title: "First", file: "first.txt")
        let places: [ContentSettings.Place?] = [nil, .folder("/nowhere")]
        for place in places {
            let app = AppSettings(
                id: "birds", bundleID: "com.example.birds", entitlements: [:],
                content: ContentSettings(items: [entry], place: place))
            let engine = try await Engine.empty(app, at: now)
            let shelf = try await engine.content.all(
                of: "anna", app: "birds", environment: .production, isServer: false)
            #expect(shelf.map(\.link) == [nil])
            let secret = try await engine.context.db.read {
                try $0.secrets.find("content links", of: "birds")
            }
            #expect(secret == nil)
        }
    }
}
