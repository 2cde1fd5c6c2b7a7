import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct DashboardPageTests {
    private static let pages = [
        "/", "/customers", "/customers?query=anna", "/customers/anna", "/events",
        "/events?customer_id=anna&what=opened&from=2026-01-01&to=", "/webhooks", "/products",
        "/checks", "/rehearsal", "/notifications", "/notifications/forwarded",
        "/notifications/asked", "/reports",
        "/documents?transaction=7001", "/charts/mrr/purchases?column=mrr&by=month",
    ]
    private static let reports = [
        "revenue", "mrr", "mrr_movement", "active", "active_movement", "seats", "trials", "churn",
        "refunds", "billing", "payments", "trial_conversion", "retention", "ltv",
    ]

    @Test func `every page is shown, with the headers that protect it`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            for path in Self.pages + Self.reports.map({ "/charts/\($0)" }) {
                let page = try await server.get(path)
                #expect(page.status == 200, "\(path): \(page.text)")
                #expect(page.headers[.contentType] == "text/html; charset=utf-8")
                #expect(
                    page.headers[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
                #expect(page.headers[.xContentTypeOptions] == "nosniff")
                #expect(page.headers[.cacheControl] == "no-store")
                let policy = try #require(HTTPField.Name("Referrer-Policy"))
                #expect(page.headers[policy] == "same-origin")
            }
        }
    }

    /// A person may delete the end of an address in the browser. The shortened address must also
    /// lead to a page.
    @Test func `each parent path of a page's address also leads to a page`()
        async throws
    {
        try await DashboardServer.run { server in
            var beginnings: Set<String> = []
            for path in Self.pages + ["/charts/mrr", "/charts/mrr/purchases", "/customers/anna"] {
                let parts = path.prefix { $0 != "?" }.split(separator: "/")
                for count in 1..<max(2, parts.count) {
                    beginnings.insert("/" + parts.prefix(count).joined(separator: "/"))
                }
            }
            for path in beginnings.sorted() {
                let page = try await server.get(path)
                #expect([200, 303].contains(page.status), "\(path): \(page.status)")
            }
            let charts = try await server.get("/charts?environment=sandbox")
            #expect(charts.headers[.location] == "/charts/mrr?environment=sandbox")
        }
    }

    @Test func `a customer is found by the first characters of an id, in any case`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("Anna-Lena", transaction: "7001")
            try await server.buy("anna-maria", transaction: "7002")
            try await server.buy("ben", transaction: "7003")
            for query in ["anna", "ANNA-", "anna-…", "Anna..."] {
                let page = try await server.get("/customers?query=\(Paths.percentEncoded(query))")
                #expect(page.text.contains("Found: 2."), "\(query)")
                #expect(page.text.contains("Anna-Lena") && page.text.contains("anna-maria"))
            }
            let exact = try await server.get("/customers?query=ben")
            #expect(exact.text.contains("Found: 1."))
            let none = try await server.get("/customers?query=nna")
            #expect(none.text.contains("No customer with the id “<bdi>nna</bdi>”"))
            let api: CustomerList = try await server.api("/v1/customers?query=anna")
            #expect(api.items.isEmpty, "the API does not search by first characters")
        }
    }

    /// Nothing has arrived for a new app, so the page must not say that all is well.
    @Test func `the health page of a new app says what is missing`() async throws {
        try await DashboardServer.run { server in
            let empty = try await server.get("/").text
            #expect(empty.contains("What is missing"))
            let missing = try await server.get("/checks").text
            #expect(missing.contains("None has arrived yet.") && !missing.contains("All is well"))
            #expect(missing.contains(Paths.notifications))
        }
    }

    @Test func `after a purchase, pages show the customer, the product and the price`() async throws
    {
        let rows = [
            ("/", ["anna", "$9.99"]), ("/customers", ["anna", "paid", "pro"]),
            ("/customers?query=anna", ["Found: 1.", "anna"]),
            ("/customers?query=7001", ["by transaction id", "anna"]),
            ("/customers/anna", ["pro.monthly", "7001", "Give", "anna</bdi>"]),
            ("/events", ["purchased", "anna"]), ("/events?customer_id=ben", ["No such event"]),
            ("/charts/mrr", ["$9.99", "/charts/mrr/purchases?"]),
            ("/charts/revenue?segment=product", ["pro.monthly"]),
            ("/charts/mrr?currency=USD&known=week", ["No purchase counts"]),
            ("/charts/payments/purchases?column=new&by=month", ["1 purchase makes", "anna"]),
            ("/products", ["pro.monthly"]), ("/checks", ["It can be read and written."]),
        ]
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            for (path, words) in rows {
                let page = try await server.get(path)
                for word in words { #expect(page.text.contains(word), "\(path): \(word)") }
            }
        }
    }

    @Test(arguments: ["/", "/charts/mrr"])
    func `numbers that are still incomplete are marked as incomplete`(path: String) async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let remark = "Earlier purchases are still being counted."
            #expect(try await server.get(path).text.contains(remark))
            while try await server.engine.reporting.fillMoney() > 0 {}
            #expect(try await !server.get(path).text.contains(remark))
        }
    }

    @Test func `on a server without an App Store key, an empty search result mentions the key`()
        async throws
    {
        let words = "this server has no key for the App Store"
        try await DashboardServer.run { server in
            for (query, isAsked) in [("MLQ4X2AB9", true), ("7009", true), ("nobody", false)] {
                let found = try await server.get("/customers?query=\(query)")
                #expect(found.text.contains(words) == isAsked, "\(query)")
                let move = try await server.post(
                    "/customers/anna/transfers", ["query": query, "reason": "x"])
                #expect(move.text.contains(words) == isAsked, "\(query)")
            }
        }
    }

    @Test func `an invisible character of an id is shown, and a search for the shown form works`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna\u{200B}", transaction: "7001")
            let typed = Paths.percentEncoded("anna[U+200B]")
            let page = try await server.get("/customers?query=\(typed)")
            #expect(page.text.contains("Found: 1.") && page.text.contains("anna[U+200B]"))
            let own = try await server.get("/customers/\(Paths.percentEncoded("anna\u{200B}"))")
            #expect(own.text.contains("anna[U+200B]"))
            let events = try await server.get("/events?customer_id=\(typed)")
            #expect(events.text.contains("pro.monthly"))
            let list: CustomerList = try await server.api("/v1/customers?query=\(typed)")
            #expect(list.items.map(\.customerID) == ["anna\u{200B}"])
        }
    }

    @Test func `a search finds a customer in any state, and ignores pasted white space`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            for query in ["anna&state=grace", "anna%20", "%20anna%0A", "+7001", "anna&state=paid"] {
                let page = try await server.get("/customers?query=\(query)")
                #expect(page.text.contains("Found: 1."), "\(query)")
            }
            let events = try await server.get("/events?customer_id=anna%20")
            #expect(events.text.contains("pro.monthly"))
            let move = try await server.post(
                "/customers/ben/transfers", ["query": " 7001 ", "reason": "x"])
            #expect(move.text.contains("loses it, and <bdi>ben</bdi> gets it"))
            // A search for white space is an empty search.
            let blank = try await server.get("/customers?query=%20").text
            #expect(blank.contains("Latest event first"))
        }
    }

    @Test func `only a known customer can be erased`() async throws {
        try await DashboardServer.run { server in
            let unknown = try await server.get("/customers/anna")
            #expect(unknown.text.contains("No customer with this id is known yet."))
            #expect(unknown.text.contains("Give access"))
            #expect(!unknown.text.contains("Erase"))
            try await server.buy("anna", transaction: "7001")
            let known = try await server.get("/customers/anna")
            #expect(known.text.contains("Erase this person"))
            let act = try await server.post("/customers/anna/erase", ["confirm": "anna"])
            #expect(act.status == 303, "\(act.text)")
            let erased = try await server.get("/customers/anna")
            #expect(!erased.text.contains("Erase this person"))
        }
    }

    @Test func `only support and admins see the reasons for actions`() async throws {
        for (role, sees) in [("viewer", false), ("support", true), ("admin", true)] {
            var access = DashboardServer.developer
            access.developer?.role = try #require(.init(rawValue: role))
            try await DashboardServer.run(as: access) { server in
                let birds: AppID = "birds"
                try await server.buy("ben", transaction: "7001")
                let purchase = PurchaseID("7001", in: .production)
                _ = try await server.engine.grants.add(
                    NewGrant(entitlement: "pro", reason: "ticket 1"), to: "anna", app: birds,
                    environment: .production)
                _ = try await server.engine.ownership.transfer(
                    OwnershipChange(purchase: purchase, reason: "ticket 2"), to: "anna",
                    app: birds)
                try await server.engine.ownership.block(
                    OwnershipChange(purchase: purchase, reason: "ticket 3"), of: "anna",
                    app: birds)
                let short = try await server.get("/customers/anna").text
                let whole = try await server.get("/customers/anna?history=all").text
                #expect(whole.contains("is blocked") && whole.contains("pro granted"))
                for number in 1...3 {
                    #expect(short.contains("ticket \(number)") == sees, "\(role): \(number)")
                    #expect(whole.contains("ticket \(number)") == sees, "\(role): \(number)")
                }
            }
        }
    }

    @Test func `the retention table begins with the first month that has a payment`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let page = try await server.get("/charts/retention")
            let rows = page.text.matches(of: /<th scope="row" class="nowrap">/)
            #expect(rows.count == 1)
            #expect(page.text.contains("</bdi></th><td class=\"num\">1</td>"))
        }
    }

    @Test func `markup in data is shown as text`() async throws {
        let hostile = "<script>alert(1)</script>\"'&"
        try await DashboardServer.run { server in
            try await server.buy(hostile, transaction: "7001")
            let id = Paths.percentEncoded(hostile)
            for path in [
                "/", "/customers", "/customers/\(id)", "/customers?query=\(id)", "/events",
                "/events?customer_id=\(id)&from=&to=", "/charts/\(id)", "/webhooks/\(id)",
                "/charts/mrr?segment=\(id)", "/charts/mrr?currency=\(id)",
            ] {
                let page = try await server.get(path)
                #expect(!page.text.contains("<script>alert"), "\(path)")
            }
            #expect(try await server.get("/customers/\(id)").text.contains("&lt;script&gt;"))
        }
    }

    @Test func `a request with an unknown or invalid value is answered with a page`() async throws {
        let rows = [
            ("/webhooks/wh_1", 404), ("/charts/mmr", 404), ("/documents/00", 404),
            ("/charts/mrr?segment=moon", 400), ("/charts/mrr?column=moon", 400),
            ("/customers?cursor=x", 400), ("/events?from=yesterday", 400),
            ("/events?environment=moon", 400), ("/customers/%20", 422),
        ]
        try await DashboardServer.run { server in
            for (path, status) in rows {
                let page = try await server.get(path)
                #expect(page.status == status, "\(path)")
                #expect(page.text.hasPrefix("<!doctype html>"), "\(path)")
            }
        }
    }

    @Test func `for an unknown path, a browser gets a page and a program gets a problem`()
        async throws
    {
        let rows: [(path: String, accept: String?, isPage: Bool)] = [
            ("/nowhere", "text/html,*/*;q=0.8", true), ("/customers/a/b/c", "text/html", true),
            ("/nowhere", nil, false), ("/nowhere", "application/json", false),
            ("/v1/nowhere", "text/html", false), ("/assets/nowhere", "text/html", false),
        ]
        try await DashboardServer.run { server in
            for row in rows {
                let answer = try await server.get(
                    row.path, headers: row.accept.map { [.accept: $0] } ?? [:])
                #expect(answer.status == 404, "\(row)")
                #expect(answer.text.hasPrefix("<!doctype html>") == row.isPage, "\(row)")
                #expect(answer.text.contains("route_unknown"), "\(row)")
            }
        }
    }

    @Test func `assets of pages can be cached without a limit`() async throws {
        try await DashboardServer.run { server in
            let page = try await server.get("/")
            let paths = page.text.matches(of: /"(\/assets\/[^"]+)"/).map { String($0.1) }
            #expect(paths.count == 3)
            for path in paths {
                let asset = try await server.get(path)
                #expect(asset.status == 200)
                #expect(asset.headers[.cacheControl]?.contains("immutable") == true)
            }
        }
    }

    @Test func `the downloaded report equals the report of the HTTP API`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let file = try await server.get("/charts/mrr?by=month&format=json")
            let report: Report = try file.decoded()
            let same: Report = try await server.api(Paths.reports + "/mrr")
            #expect(report == same)
            let table = try await server.get("/charts/mrr?format=csv")
            #expect(table.text.hasPrefix("from,to,is_incomplete"))
        }
    }

    @Test func `each event is listed once on the pages of older events`() async throws {
        try await DashboardServer.run { server in
            for number in 0..<70 {
                _ = try await server.post(
                    "/customers/anna/grants", ["entitlement": "pro", "reason": "\(number)"])
            }
            let first = try await server.get("/events")
            let cursor = try #require(first.text.firstMatch(of: /cursor=(\d+)/)).1
            let second = try await server.get("/events?cursor=\(cursor)")
            let ids = [first, second].flatMap {
                $0.text.matches(of: /id="event-(\d+)"/).compactMap { Int($0.1) }
            }
            #expect(ids == Array((1...70).reversed()))
        }
    }

    @Test func `a server without a dashboard has no pages`() async throws {
        try await TestServer.run { server in
            for path in ["/", "/customers", "/events", "/webhooks", "/checks"] {
                let answer = try await server.send(.get, path)
                #expect(answer.status == 404, "\(path)")
            }
        }
    }
}
