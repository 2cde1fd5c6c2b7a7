import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// The routes that return the data of the pages about documents and notifications.
@Suite struct DocumentRouteTests {
    @Test func `the documents of a customer are listed page by page, each once`() async throws {
        try await DashboardServer.run { server in
            for number in 1...5 {
                try await server.buy("anna", transaction: "700\(number)")
                try await server.notify(.didRenew, of: "700\(number)")
            }
            try await server.buy("ben", transaction: "8001")
            var (seen, cursor): ([DocumentList.Line], String?) = ([], nil)
            repeat {
                let after = cursor.map { "&after=\($0)" } ?? ""
                let page = try await server.api(
                    "\(Paths.documents(of: "anna"))?limit=4\(after)", DocumentList.self)
                #expect(page.items.count == 4 || page.nextCursor == nil)
                seen += page.items
                cursor = page.nextCursor
            } while cursor != nil
            #expect(Set(seen.map(\.documentID)).count == 10 && seen.count == 10)
            let times = seen.map(\.signedAt.milliseconds)
            #expect(times == times.sorted(by: >))
            #expect(
                Set(seen.flatMap(\.originalTransactionIDs))
                    == ["7001", "7002", "7003", "7004", "7005"])
            let nobody = try await server.api(
                Paths.documents(of: "cleo"), DocumentList.self)
            #expect(nobody == DocumentList(items: [], nextCursor: nil))
        }
    }

    @Test func `a document is verified again, and returned both decoded and as it arrived`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let list = try await server.api(
                "\(Paths.documents)?original_transaction_id=7001", DocumentList.self)
            let line = try #require(list.items.first)
            let hints = [
                "original_transaction_id=7001", "known_at=\(line.receivedAt)",
            ]
            for hint in hints {
                let document = try await server.api(
                    "\(Paths.document(line.documentID))?\(hint)", SignedDocument.self)
                #expect(document.documentID == line.documentID && document.kind == "transaction")
                #expect(document.customerID == "anna" && document.refusal == nil)
                #expect(document.originalTransactionIDs == ["7001"])
                let payload = try #require(document.payload?.members)
                #expect(payload["transactionId"]?.text == "7001")
                #expect(payload["price"]?.integer == 9990)
                let file = try await server.get(
                    "/documents/\(line.documentID)?transaction=7001&format=raw")
                #expect(document.signed == file.text)
            }
        }
    }

    @Test func `a request that does not identify a document is refused with the reason`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let list = try await server.api(
                "\(Paths.documents)?original_transaction_id=7001", DocumentList.self)
            let path = Paths.document(try #require(list.items.first).documentID)
            let rows: [(String, Int, ProblemCode)] = [
                (path, 404, .documentUnknown),
                ("\(path)?original_transaction_id=7002", 404, .documentUnknown),
                ("\(path)?original_transaction_id=7001&environment=sandbox", 404, .documentUnknown),
                ("\(path)?known_at=yesterday", 400, .requestNotUnderstood),
                ("\(Paths.document("x"))?original_transaction_id=7001", 404, .documentUnknown),
                (Paths.documents, 400, .requestNotUnderstood),
                ("\(Paths.documents)?original_transaction_id=7001&after=x", 400, .cursorUnknown),
                ("\(Paths.documents(of: "anna"))?limit=501", 400, .limitOutOfRange),
                ("\(Paths.receivedNotifications)?limit=101", 400, .limitOutOfRange),
                ("\(Paths.receivedNotifications)?after=1-x", 400, .cursorUnknown),
            ]
            for (path, status, code) in rows {
                let answer = try await server.get(
                    path, headers: [.authorization: "Bearer \(TestServer.secret)"])
                #expect(answer.status == status, "\(path)")
                #expect(try answer.problem.code == code, "\(path)")
            }
        }
    }

    @Test func `notifications are listed with their customers, and counted by the hour`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            try await server.notify(.didRenew, of: "7001")
            try await server.notify(.subscribed, of: "7002")
            let first = try await server.api(
                "\(Paths.receivedNotifications)?limit=1", NotificationList.self)
            let cursor = try #require(first.nextCursor)
            let second = try await server.api(
                "\(Paths.receivedNotifications)?limit=1&after=\(cursor)", NotificationList.self)
            let lines = (first.items + second.items).sorted { $0.type < $1.type }
            #expect(lines.map(\.type) == ["DID_RENEW", "SUBSCRIBED"])
            #expect(lines.map(\.customerID) == ["anna", nil])
            #expect(lines.map(\.originalTransactionID) == ["7001", "7002"])
            #expect(lines.allSatisfy { $0.source == "notification" })

            let summary = try await server.api(
                Paths.notificationSummary, NotificationSummary.self)
            #expect(summary.received == 2 && summary.backfilled == 0 && summary.complete)
            #expect(summary.medianDelayMilliseconds == 90_000)
            #expect(summary.hours.count == 24)
            #expect(summary.hours.map(\.received).reduce(0, +) == 2)
            let sandbox = try await server.api(
                "\(Paths.notificationSummary)?environment=sandbox", NotificationSummary.self)
            #expect(sandbox.received == 0 && sandbox.medianDelayMilliseconds == nil)

            let inquiries = try await server.api(Paths.storeInquiries, StoreInquiries.self)
            #expect(!inquiries.configured && inquiries.notifications == 2)
            #expect(inquiries.next.map(\.originalTransactionID).sorted() == ["7001", "7002"])
        }
    }

    @Test func `app keys give no access to documents or notifications`() async throws {
        try await DashboardServer.run { server in
            try await server.engine.keys.add(key: "pk_x", app: "birds", kind: .app, name: "app")
            let paths = [
                Paths.documents(of: "anna"), "\(Paths.documents)?original_transaction_id=1",
                Paths.document("00"), Paths.receivedNotifications, Paths.notificationSummary,
                Paths.storeInquiries,
            ]
            for path in paths {
                let answer = try await server.get(
                    path, headers: [.authorization: "Bearer pk_x"])
                #expect(try answer.problem.code == .keyNotSecret, "\(path)")
            }
        }
    }
}
