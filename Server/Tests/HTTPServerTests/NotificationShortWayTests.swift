import Crypto
import Engine
import Ledger
import Storage
import Testing

@testable import HTTPServer

/// Notifications that take the short way: answered as by their route, and only once they are kept.
@Suite struct NotificationShortWayTests {
    private typealias Server = ListeningServer

    /// Of which each app's first goes by its route, since nobody knows its chain.
    private func withServer(
        _ birds: AppSettings = ListeningServer.birds, beside others: [AppSettings] = [],
        within bodyTime: Duration = PlainRequest.bodyTimeMax,
        _ body: @escaping @Sendable (ListeningServer) async throws -> Void
    ) async throws {
        try await Server.run(birds, beside: others, within: bodyTime) { server in
            for app in [birds] + others {
                let first = RequestText.post(try Server.notification(0, for: app))
                let answer = try await server.connect().answers(to: first, count: 1)[0]
                #expect(answer.status == 200, "\(answer.text)")
            }
            try await body(server)
        }
    }

    private static func spaced(_ notification: String) -> String {
        RequestText.post(body: #"{"signedPayload": "\#(notification)"}"#)
    }

    @Test func `both ways answer with the same bytes`() async throws {
        try await withServer { server in
            let connection = try server.connect()
            let short = try await connection.answers(
                to: RequestText.post(try Server.notification(1)), count: 1)
            let long = try await connection.answers(
                to: Self.spaced(try Server.notification(2)), count: 1)
            #expect(short[0].lasting == long[0].lasting)
            #expect(short[0].text.hasSuffix("\r\n\r\n{}"))
            #expect(server.engine.counts.notificationsKept == 3)
        }
    }

    /// The route asks for another write, which succeeds.
    @Test func `what cannot be kept is left to the route`() async throws {
        try await withServer { server in
            let (before, connection) = (server.database.writes, try server.connect())
            server.database.failOnce()
            let posted = RequestText.post(try Server.notification(1))
            let answer = try await connection.answers(to: posted, count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
            #expect(server.database.writes == before + 2)
            #expect(server.engine.counts.notificationsKept == 2)
            #expect(try await connection.answers(to: posted, count: 1)[0].status == 200)
            #expect(server.engine.counts.notificationsRepeated == 1)
        }
    }

    struct Odd: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var forwards = ForwardRules.none
        var request: @Sendable () throws -> String
    }

    private static let forwards = ForwardRules(targets: [
        ForwardTarget(
            name: "https://example.com", url: "https://example.com",
            environments: [.production, .sandbox])
    ])

    /// Only the short way tries again what could not be written.
    @Test(arguments: [
        Odd(testDescription: "a space") { spaced(try Server.notification(1)) },
        Odd(testDescription: "in chunks") {
            RequestText.chunked(try Server.notification(1))
        },
        Odd(testDescription: "the last of its connection") {
            RequestText.post(try Server.notification(1), "connection: close\r\n")
        },
        Odd(testDescription: "large") {
            RequestText.post(
                try Server.notification(
                    1, bundleVersion: String(repeating: "1", count: PlainRequest.bodyBytesMax)))
        },
        Odd(testDescription: "to be sent on", forwards: forwards) {
            RequestText.post(try Server.notification(1))
        },
    ])
    func `a notification that is not plain goes by its route`(odd: Odd) async throws {
        var birds = ListeningServer.birds
        birds.forwards = odd.forwards
        try await withServer(birds) { server in
            server.database.failOnce()
            let connection = try server.connect()
            let answer = try await connection.answers(to: try odd.request(), count: 1)[0]
            #expect(answer.status >= 500, "\(answer.text)")
            #expect(server.engine.counts.notificationsKept == 1)
        }
    }

    @Test func `what is not to be trusted is refused, and counted once`() async throws {
        try await withServer { server in
            var forged = try Server.notification(1)
            forged.removeLast(8)
            forged += "AAAAAAAA"
            let connection = try server.connect()
            let short = try await connection.answers(to: RequestText.post(forged), count: 1)[0]
            #expect(short.status == 422, "\(short.text)")
            #expect(server.engine.counts.notificationsRefused == 1)
            let long = try await connection.answers(to: Self.spaced(forged), count: 1)[0]
            #expect(short.lasting == long.lasting)
        }
    }

    @Test func `answers come in the order of their requests, by whichever way`() async throws {
        try await withServer { server in
            let connection = try server.connect()
            _ = try await connection.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            var (requests, ids) = ("", [String]())
            for number in 1...300 {
                ids.append("request-\(number)")
                let id = "x-request-id: request-\(number)\r\n"
                switch number % 5 {
                case 0: requests += RequestText.get("/v1/customers/anna", RequestText.key + id)
                case 1: requests += RequestText.get("/v1/customers/anna?environment=sandbox", id)
                case 2: requests += RequestText.post(body: "{}", id)
                default: requests += RequestText.post(try Server.notification(number / 2), id)
                }
            }
            let answers = try await connection.answers(to: requests, count: ids.count)
            #expect(answers.map(\.requestID) == ids)
        }
    }

    @Test func `of many that come together each is kept, and the same ones once`() async throws {
        try await withServer { server in
            let before = server.database.writes
            let connections = try (0..<3 * Cohort.membersMax).map { _ in try server.connect() }
            let posted = try (0..<connections.count / 2).map { number in
                RequestText.post(try Server.notification(1 + number))
            }
            for (number, connection) in connections.enumerated() {
                try connection.sendAll(posted[number / 2])
            }
            for connection in connections {
                let answer = try await connection.answers(to: "", count: 1)[0]
                #expect(answer.status == 200, "\(answer.text)")
            }
            #expect(server.database.writes - before < connections.count)
            #expect(server.engine.counts.notificationsKept == 1 + connections.count / 2)
            #expect(server.engine.counts.notificationsRepeated == connections.count / 2)
        }
    }

    @Test func `until it is kept, nothing more of its connection is answered`() async throws {
        try await withServer { server in
            let connection = try server.connect()
            let question = RequestText.get("/v1/customers/anna")
            _ = try await connection.answers(to: question, count: 1)
            let opening = server.database.holdWrites()
            let (before, writes) = (server.database.readsAtOnce, server.database.writes)
            try connection.sendAll(RequestText.post(try Server.notification(1)) + question)
            try await server.database.awaitWrite(after: writes)
            // Others are answered meanwhile, on whichever event loop.
            for _ in 0..<4 {
                let other = try await server.connect().answers(to: question, count: 1)[0]
                #expect(other.status == 200)
            }
            #expect(server.database.readsAtOnce == before + 4)
            #expect(server.engine.counts.notificationsKept == 1)
            opening.finish()
            let answers = try await connection.answers(to: question, count: 3)
            #expect(answers[0].text.hasSuffix("\r\n\r\n{}"))
            #expect(answers[1].text.contains("anna") && answers[2].text.contains("anna"))
        }
    }

    /// The rest stays with the sender, in whose system's buffers some of it may lie.
    @Test func `whoever does not wait for the answer is read no further`() async throws {
        try await withServer { server in
            let opening = server.database.holdWrites()
            let connection = try server.connect()
            try connection.sendAll(RequestText.post(try Server.notification(1)))
            let more = RequestText.post(body: String(repeating: " ", count: 1_000_000))
            let sent = try await connection.sendWhatIsTaken(of: more, times: 64)
            #expect(sent < 48 * more.utf8.count)
            opening.finish()
            #expect(try await connection.answers(to: "", count: 2).map(\.status) == [200, 400])
        }
    }

    @Test func `who says no more after a notification is answered`() async throws {
        try await withServer { server in
            let posted = RequestText.post(try Server.notification(1))
            let answers = try await server.connect().answers(
                to: posted + posted, count: 2, closing: true)
            #expect(answers.map(\.status) == [200, 200])
        }
    }

    @Test func `a notification is answered before what cannot be read after it`() async throws {
        try await withServer { server in
            let posted = RequestText.post(try Server.notification(1)) + "no HTTP\r\n\r\n"
            let answers = try await server.connect().answers(to: posted, count: 2)
            #expect(answers.map(\.status) == [200, 400])
        }
    }

    /// A connection without a request ends at once: so it is seen that the server shuts down.
    @Test func `who waits while the server shuts down is answered, then closed`() async throws {
        try await withServer { server in
            let (waiting, idle) = (try server.connect(), try server.connect())
            _ = try await idle.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            let (opening, writes) = (server.database.holdWrites(), server.database.writes)
            try waiting.sendAll(RequestText.post(try Server.notification(1)))
            try await server.database.awaitWrite(after: writes)
            await server.shutDown()
            try await idle.awaitEnd()
            #expect(server.engine.counts.notificationsKept == 1)
            opening.finish()
            let answer = try await waiting.answers(to: "", count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
            #expect(server.engine.counts.notificationsKept == 2)
            try await waiting.awaitEnd()
        }
    }

    @Test func `whoever goes away has brought it all the same`() async throws {
        try await withServer { server in
            try server.connect().sendAll(RequestText.post(try Server.notification(1)))
            for _ in 0..<1000 where server.engine.counts.notificationsKept < 2 {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(server.engine.counts.notificationsKept == 2)
        }
    }

    @Test(arguments: [1, 100, 400])
    func `a body may come in pieces`(size: Int) async throws {
        try await withServer { server in
            // Only the short way asks for another write.
            server.database.failOnce()
            let connection = try server.connect()
            var rest = RequestText.post(try Server.notification(1))[...]
            while !rest.isEmpty {
                try connection.sendAll(String(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(try await connection.answers(to: "", count: 1)[0].status == 200)
        }
    }

    /// Only the short way tries again what could not be written; and only a whole body is written.
    @Test func `a body that takes too long is answered by its route, whole`() async throws {
        try await withServer(within: .milliseconds(50)) { server in
            let connection = try server.connect()
            let question = RequestText.get("/v1/customers/anna")
            _ = try await connection.answers(to: question, count: 1)
            server.database.failOnce()
            let posted = RequestText.post(try Server.notification(1))
            // When the question is answered, the header behind it is read.
            let (start, rest) = (String(posted.prefix(400)), String(posted.dropFirst(400)))
            _ = try await connection.answers(to: question + start, count: 1)
            try await Task.sleep(for: .milliseconds(300))
            let answers = try await connection.answers(to: rest + posted, count: 2)
            #expect(answers[0].status >= 500, "\(answers[0].text)")
            #expect(answers[1].status == 200, "\(answers[1].text)")
            #expect(server.engine.counts.notificationsKept == 2)
        }
    }

    @Test func `a body without its end is answered as by the route`() async throws {
        try await withServer { server in
            var answers: [Connection.Answer] = []
            for whole in [
                RequestText.post(try Server.notification(1)),
                Self.spaced(try Server.notification(1)),
            ] {
                answers += try await server.connect().answers(
                    to: String(whole.dropLast(100)), count: 1, closing: true)
            }
            #expect(answers.map(\.status) == [400, 400])
            #expect(answers[0].lasting == answers[1].lasting)
            #expect(server.engine.counts.notificationsKept == 1)
        }
    }

    // MARK: - Several apps

    /// As a cohort does it, whose notifications one write keeps.
    @Test func `of several apps each is verified by its own and kept for it`() async throws {
        try await withServer(beside: [Server.cats]) { server in
            let apps = [Server.birds, Server.cats, Server.birds, Server.cats]
            let texts = try apps.enumerated().map { number, app in
                try Server.notification(1 + number, for: app)
            }
            let verified = texts.compactMap { server.verifiedAtOnce($0) }
            let writes = server.database.writes
            let kept = await server.engine.keep(verified)
            #expect(server.database.writes == writes + 1)
            #expect(kept.compactMap { $0?.app } == apps.map(\.id))
            for app in ["birds", "cats"] as [AppID] {
                let own = zip(apps, texts).filter { $0.0.id == app }.map(\.1)
                try await Self.expect(own, of: app, in: server)
            }
        }
    }

    /// Who signs for the one has a chain that is known, and may not speak for the other.
    @Test func `what is signed for another app is not to be trusted`() async throws {
        try await withServer(beside: [Server.cats]) { server in
            for (app, other) in [(Server.birds, Server.cats), (Server.cats, Server.birds)] {
                let forged = try Server.notification(1, for: app, signedAs: other.id)
                let verified = server.verifiedAtOnce(forged)
                #expect(verified?.body == nil)
                let connection = try server.connect()
                let answer = try await connection.answers(to: RequestText.post(forged), count: 1)[0]
                #expect(answer.status == 422, "\(answer.text)")
                try await Self.expect([], of: app.id, in: server)
            }
            #expect(server.engine.counts.notificationsRefused == 2)
        }
    }

    @Test func `of several apps that come together each takes in its own`() async throws {
        try await withServer(beside: [Server.cats]) { server in
            let birds = try (1...Cohort.membersMax).map { try Server.notification($0) }
            let cats = try (1...Cohort.membersMax).map {
                try Server.notification($0, for: Server.cats)
            }
            let question = RequestText.get("/v1/customers/anna")
            let connections = try (birds + cats).map { _ in try server.connect() }
            for connection in connections {
                _ = try await connection.answers(to: question, count: 1)
            }
            // Questions hold the event loops, so that of both apps some are ready when they end.
            let askers = try (0..<16).map { _ in try server.connect() }
            server.database.slowDown(reads: askers.count)
            for asker in askers { try asker.sendAll(question) }
            for (connection, notification) in zip(connections, birds + cats) {
                try connection.sendAll(RequestText.post(notification))
            }
            for connection in connections {
                let answer = try await connection.answers(to: "", count: 1)[0]
                #expect(answer.status == 200, "\(answer.text)")
            }
            for asker in askers { _ = try await asker.answers(to: "", count: 1) }
            try await Self.expect(birds, of: "birds", in: server)
            try await Self.expect(cats, of: "cats", in: server)
        }
    }

    /// An app has its first notification, these, and no others.
    private static func expect(
        _ notifications: [String], of app: AppID, in server: ListeningServer
    ) async throws {
        let documents = try await server.documents(of: app)
        let ids = notifications.map { Array(SHA256.hash(data: Array($0.utf8))) }
        #expect(documents.isSuperset(of: ids))
        #expect(documents.count == 1 + ids.count)
    }
}
