import AppStoreFormats
import Testing

@testable import AppStoreClient

/// Lists that are read page by page.
@Suite struct PageTests {
    private static func history(
        _ transactions: [String], _ revision: String, hasMore: Bool?
    ) -> AppStoreResponse {
        var members = [
            JSON.Member("signedTransactions", .array(transactions.map { .string($0) })),
            .init("revision", .string(revision)),
        ]
        if let hasMore { members.append(.init("hasMore", .bool(hasMore))) }
        return .ok(.object(members))
    }

    private static func notifications(
        _ payloads: [String], _ token: String?, saysWhetherMore: Bool = true
    ) -> AppStoreResponse {
        var members = [
            JSON.Member(
                "notificationHistory", .array(payloads.map { ["signedPayload": .string($0)] }))
        ]
        if saysWhetherMore { members.append(.init("hasMore", .bool(token != nil))) }
        if let token { members.append(.init("paginationToken", .string(token))) }
        return .ok(.object(members))
    }

    private static func revisions(_ bench: Bench) -> [String?] {
        bench.script.requests.map { request in
            request.query.first { $0.0 == "revision" || $0.0 == "paginationToken" }?.1
        }
    }

    @Test func `pages are read in order to the last one`() async throws {
        let bench = try Bench(
            Self.history(["a"], "1", hasMore: true), Self.history(["b"], "2", hasMore: false))
        var pages = bench.client.historyPages(of: "7", in: .production)
        #expect(try await pages.next()?.signedTransactions == ["a"])
        #expect(try await pages.next()?.revision == "2")
        #expect(try await pages.next() == nil)
        #expect(Self.revisions(bench) == [nil, "1"])
    }

    @Test func `a failed page is requested again at the next read`() async throws {
        let bench = try Bench(
            Self.history(["a"], "1", hasMore: true), AppStoreResponse(status: 500),
            Self.history(["b"], "2", hasMore: false))
        var pages = bench.client.historyPages(of: "7", in: .production)
        _ = try await pages.next()
        await #expect(throws: AppStoreFailure.self) { try await pages.next() }
        #expect(try await pages.next()?.signedTransactions == ["b"])
        #expect(Self.revisions(bench) == [nil, "1", "1"])
    }

    @Test func `if Apple no longer knows a revision, the list is read once more from the start`()
        async throws
    {
        let bench = try Bench(
            .error(4_000_005), Self.history(["a"], "1", hasMore: true), .error(4_000_005))
        var pages = bench.client.historyPages(of: "7", in: .production, after: "old")
        #expect(try await pages.next()?.signedTransactions == ["a"])
        await #expect(throws: AppStoreFailure.refused(code: 4_000_005, message: "Because.")) {
            try await pages.next()
        }
        #expect(Self.revisions(bench) == ["old", nil, "1"])
    }

    @Test func `a page that names itself as the next page is an error`() async throws {
        let page = Self.history(["a"], "1", hasMore: true)
        let bench = try Bench(page, page, page)
        var pages = bench.client.historyPages(of: "7", in: .production)
        _ = try await pages.next()
        await #expect(throws: AppStoreFailure.self) { try await pages.next() }
    }

    @Test func `if a page does not say whether there are more pages, the next page is read`()
        async throws
    {
        let bench = try Bench(
            Self.history(["a"], "1", hasMore: nil), Self.history(["b"], "2", hasMore: nil),
            Self.history([], "3", hasMore: nil))
        var pages = bench.client.historyPages(of: "7", in: .production)
        #expect(try await pages.next()?.signedTransactions == ["a"])
        #expect(try await pages.next()?.signedTransactions == ["b"])
        #expect(try await pages.next()?.revision == "3")
        #expect(try await pages.next() == nil)
        #expect(Self.revisions(bench) == [nil, "1", "2"])
        // A repeated revision marks the end of the list.
        let still = try Bench(Self.history(["b"], "2", hasMore: nil))
        var rest = still.client.historyPages(of: "7", in: .production, after: "2")
        #expect(try await rest.next()?.signedTransactions == ["b"])
        #expect(try await rest.next() == nil)
    }

    @Test func `notification pages are read as long as they have a token for the next page`()
        async throws
    {
        let bench = try Bench(
            Self.notifications(["a"], "x", saysWhetherMore: false),
            Self.notifications([], "y", saysWhetherMore: false),
            Self.notifications(["b"], "y", saysWhetherMore: false))
        var pages = bench.client.notificationPages(
            from: AppStoreDate(milliseconds: 0), to: bench.clock.now(), onlyFailures: false,
            in: .production)
        var payloads: [String] = []
        while let page = try await pages.next() { payloads += page.signedPayloads }
        #expect(payloads == ["a", "b"])
        #expect(Self.revisions(bench) == [nil, "x", "y"])
        let last = try Bench(Self.notifications(["c"], nil, saysWhetherMore: false))
        var only = last.client.notificationPages(
            from: AppStoreDate(milliseconds: 0), to: last.clock.now(), onlyFailures: false,
            in: .production)
        #expect(try await only.next()?.signedPayloads == ["c"])
        #expect(try await only.next() == nil)
    }

    @Test func `reading stops at the page limit, even if the store announces more pages`()
        async throws
    {
        let answers = (0...HistoryPage.pagesMax).map {
            Self.history([], "\($0)", hasMore: true)
        }
        let bench = try Bench(Script(answers))
        var pages = bench.client.historyPages(of: "7", in: .production)
        for _ in 0..<HistoryPage.pagesMax { _ = try await pages.next() }
        await #expect(throws: AppStoreFailure.self) { try await pages.next() }
        #expect(bench.script.requests.count == HistoryPage.pagesMax)
    }

    @Test func `the next page of notifications is requested with its token and the same query`()
        async throws
    {
        let bench = try Bench(
            Self.notifications(["a"], "x"), .error(4_000_017), Self.notifications(["a"], "y"),
            Self.notifications(["b"], nil))
        let now = bench.clock.now()
        var pages = bench.client.notificationPages(
            from: AppStoreDate(milliseconds: 0), to: now, onlyFailures: false, in: .sandbox)
        var payloads: [String] = []
        while let page = try await pages.next() {
            payloads += page.signedPayloads
            bench.clock.advance(seconds: 10)
        }
        #expect(payloads == ["a", "a", "b"])
        #expect(Self.revisions(bench) == [nil, "x", nil, "y"])
        let bodies = Set(bench.script.requests.map(\.body))
        #expect(bodies.count == 1)
        let body = try JSON(parsing: try #require(bodies.first ?? nil))
        // Thirty days of the sandbox, minus an hour.
        #expect(body["startDate"]?.integer == now.milliseconds - 30 * 86_400_000 + 3_600_000)
    }

    @Test func `an empty range of time has no notifications and sends no request`() async throws {
        let bench = try Bench()
        let now = bench.clock.now()
        var pages = bench.client.notificationPages(
            from: now, to: now, onlyFailures: false, in: .production)
        #expect(try await pages.next() == nil)
        #expect(bench.script.requests.isEmpty)
    }
}
