import AppStoreFormats
import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct NotificationPageTests {
    @Test func `a notification is listed with its type, its customer and its document`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            try await server.notify(.didRenew, of: "7001")
            let page = try await server.get("/notifications")
            for words in ["DID_RENEW", "/customers/anna", "1 min", "sent", "Last 24 hours"] {
                #expect(page.text.contains(words), "\(words)")
            }
            let link = try #require(page.text.firstMatch(of: /href="(\/documents\/[^"]+)"/)).1
            let document = try await server.get(String(link).replacing("&amp;", with: "&"))
            #expect(document.text.contains("&quot;notificationType&quot;: &quot;DID_RENEW&quot;"))
            // The page shows the signed transaction in the notification decoded.
            #expect(document.text.contains("&quot;transactionId&quot;: &quot;7001&quot;"))
        }
    }

    @Test func `each notification is listed once on the pages of older notifications`() async throws
    {
        try await DashboardServer.run { server in
            for number in 0..<60 { try await server.notify(.subscribed, of: "\(8000 + number)") }
            let first = try await server.get("/notifications")
            let cursor = try #require(first.text.firstMatch(of: /href="[^"]*cursor=([^"]+)"/)).1
            let second = try await server.get("/notifications?cursor=\(cursor)")
            let links = [first, second].map {
                $0.text.matches(of: /href="\/documents\/([0-9a-f]+)/).map { String($0.1) }
            }
            #expect(links.map(\.count) == [40, 20])
            #expect(Set(links.flatMap(\.self)).count == 60)
            #expect(second.text.firstMatch(of: /href="[^"]*cursor=/) == nil)
        }
    }

    @Test func `the page about requests to Apple shows what is due and why Apple cannot be asked`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let page = try await server.get("/notifications/asked")
            for words in ["Apple cannot be asked.", "has no key", "7001", "not yet"] {
                #expect(page.text.contains(words), "\(words)")
            }
            let test = try await server.post("/notifications/test")
            #expect(test.status == 502)
            #expect(test.text.contains("The server could not ask Apple for a test."))
        }
    }

    @Test func `a cursor that is not from a page is refused`() async throws {
        try await DashboardServer.run { server in
            for cursor in ["x", "1", "1-x", "x-00", "-"] {
                let page = try await server.get("/notifications?cursor=\(cursor)")
                #expect(page.status == 400, "\(cursor)")
            }
        }
    }
}
