import AppStoreTrust
import Engine
import Eventually
import Ledger
import Storage
import Testing

@testable import HTTPServer

/// Notifications over a connection. The server answers each notification only after it has stored
/// it.
@Suite struct NotificationConnectionTests {
    private typealias Server = ListeningServer

    struct Odd: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var request: @Sendable () throws -> String
    }

    @Test(arguments: [
        Odd(testDescription: "as Apple writes it") { RequestText.post(try Server.notification(1)) },
        Odd(testDescription: "a space") {
            RequestText.post(body: #"{"signedPayload": "\#(try Server.notification(1))"}"#)
        },
        Odd(testDescription: "in chunks") { RequestText.chunked(try Server.notification(1)) },
        Odd(testDescription: "the last of its connection") {
            RequestText.post(try Server.notification(1), "connection: close\r\n")
        },
        Odd(testDescription: "large") {
            RequestText.post(
                try Server.notification(1, bundleVersion: String(repeating: "1", count: 65_536)))
        },
    ])
    func `a notification is stored and answered, whatever HTTP form its request has`(
        odd: Odd
    ) async throws {
        try await Server.run { server in
            let answer = try await server.connect().answers(to: try odd.request(), count: 1)[0]
            #expect(answer.status == 200 && answer.body == "{}", "\(answer.text)")
            #expect(server.engine.counts.notificationsRecorded == 1)
        }
    }

    @Test
    func `a notification that cannot be stored gets 503, and is stored when it is sent again`()
        async throws
    {
        try await Server.run { server in
            let connection = try server.connect()
            let posted = RequestText.post(try Server.notification(1))
            server.database.failWrites(.unavailable)
            let refused = try await connection.answers(to: posted, count: 1)[0]
            #expect(refused.status == 503, "\(refused.text)")
            #expect(server.engine.counts.notificationsRecorded == 0)
            server.database.failWrites(nil)
            #expect(try await connection.answers(to: posted, count: 1)[0].status == 200)
            #expect(try await connection.answers(to: posted, count: 1)[0].status == 200)
            #expect(server.engine.counts.notificationsRecorded == 1)
            #expect(server.engine.counts.notificationsRepeated == 1)
        }
    }

    @Test func `an untrusted notification is refused and counted once`() async throws {
        try await Server.run { server in
            var forged = try Server.notification(1)
            forged.removeLast(8)
            forged += "AAAAAAAA"
            let answer = try await server.connect().answers(
                to: RequestText.post(forged), count: 1)[0]
            #expect(answer.status == 422, "\(answer.text)")
            #expect(server.engine.counts.notificationsRefused == 1)
        }
    }

    @Test func `concurrent notifications are all stored, and identical ones are stored once`()
        async throws
    {
        try await Server.run { server in
            let before = server.database.writes
            let connections = try (0..<192).map { _ in try server.connect() }
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
            #expect(server.database.writes - before <= connections.count)
            #expect(server.engine.counts.notificationsRecorded == connections.count / 2)
            #expect(server.engine.counts.notificationsRepeated == connections.count / 2)
        }
    }

    @Test func `a later request on a connection waits until the earlier notification is stored`()
        async throws
    {
        try await Server.run { server in
            let connection = try server.connect()
            let question = RequestText.get("/v1/customers/anna")
            _ = try await connection.answers(to: question, count: 1)
            let opening = server.database.holdWrites()
            let writes = server.database.writes
            try connection.sendAll(RequestText.post(try Server.notification(1)) + question)
            try await server.database.awaitWrite(after: writes)
            // Meanwhile the server answers other connections, on any event loop.
            for _ in 0..<4 {
                let other = try await server.connect().answers(to: question, count: 1)[0]
                #expect(other.status == 200)
            }
            #expect(server.engine.counts.notificationsRecorded == 0)
            opening.finish()
            let answers = try await connection.answers(to: question, count: 3)
            #expect(answers[0].body == "{}")
            #expect(answers[1].text.contains("anna") && answers[2].text.contains("anna"))
        }
    }

    /// The server does not read the other bytes. The buffers of the sender's system may hold some
    /// of these bytes.
    @Test func `the server stops reading from a client that does not wait for its answer`()
        async throws
    {
        try await Server.run { server in
            let opening = server.database.holdWrites()
            let connection = try server.connect()
            try connection.sendAll(RequestText.post(try Server.notification(1)))
            let more = RequestText.post(body: String(repeating: " ", count: 1_000_000))
            let sent = try await connection.sendWhatIsTaken(of: more, times: 64)
            #expect(sent < 16 * more.utf8.count)
            opening.finish()
            #expect(try await connection.answers(to: "", count: 2).map(\.status) == [200, 400])
        }
    }

    @Test func `if a client ends its input after a notification, it is answered`() async throws {
        try await Server.run { server in
            let posted = RequestText.post(try Server.notification(1))
            let answers = try await server.connect().answers(
                to: posted + posted, count: 2, closing: true)
            #expect(answers.map(\.status) == [200, 200])
        }
    }

    /// The server closes an idle connection immediately, which shows that it is shutting down.
    @Test func `if a client waits during a shutdown, it is answered and then disconnected`()
        async throws
    {
        try await Server.run { server in
            let (waiting, idle) = (try server.connect(), try server.connect())
            _ = try await idle.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            let (opening, writes) = (server.database.holdWrites(), server.database.writes)
            try waiting.sendAll(RequestText.post(try Server.notification(1)))
            try await server.database.awaitWrite(after: writes)
            await server.shutDown()
            try await idle.awaitEnd()
            #expect(server.engine.counts.notificationsRecorded == 0)
            opening.finish()
            let answer = try await waiting.answers(to: "", count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
            #expect(server.engine.counts.notificationsRecorded == 1)
            try await waiting.awaitEnd()
        }
    }

    @Test func `a notification is stored even if its sender disconnects`() async throws {
        try await Server.run { server in
            try server.connect().sendAll(RequestText.post(try Server.notification(1)))
            try await eventually("the notification is recorded") {
                server.engine.counts.notificationsRecorded > 0
            }
            #expect(server.engine.counts.notificationsRecorded == 1)
        }
    }

    @Test(arguments: [1, 100, 400])
    func `the body of a notification may arrive in pieces`(size: Int) async throws {
        try await Server.run { server in
            let connection = try server.connect()
            var rest = RequestText.post(try Server.notification(1))[...]
            while !rest.isEmpty {
                try connection.sendAll(String(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(try await connection.answers(to: "", count: 1)[0].status == 200)
        }
    }

    @Test func `an incomplete body is answered with a problem, and nothing is stored`() async throws
    {
        try await Server.run { server in
            let whole = RequestText.post(try Server.notification(1))
            let answer = try await server.connect().answers(
                to: String(whole.dropLast(100)), count: 1, closing: true)[0]
            #expect(answer.status == 400 && answer.body.contains("request_not_understood"))
            #expect(server.engine.counts.notificationsRecorded == 0)
        }
    }

    // MARK: - Several apps

    /// The server has cached the signer of the first app, which must not sign for the other app.
    @Test func `a notification signed for another app is refused`() async throws {
        try await Server.run(beside: [Server.cats]) { server in
            for (app, other) in [(Server.birds, Server.cats), (Server.cats, Server.birds)] {
                let own = RequestText.post(try Server.notification(0, for: app))
                let connection = try server.connect()
                #expect(try await connection.answers(to: own, count: 1)[0].status == 200)
                let forged = try Server.notification(1, for: app, signedAs: other.id)
                let answer = try await connection.answers(to: RequestText.post(forged), count: 1)[0]
                #expect(answer.status == 422, "\(answer.text)")
                #expect(try await server.documents(of: app.id).count == 1)
            }
            #expect(server.engine.counts.notificationsRefused == 2)
        }
    }

    @Test func `concurrent notifications for several apps are each stored for their own app`()
        async throws
    {
        try await Server.run(beside: [Server.cats]) { server in
            let birds = try (1...64).map { try Server.notification($0) }
            let cats = try (1...64).map { try Server.notification($0, for: Server.cats) }
            let connections = try (birds + cats).map { _ in try server.connect() }
            for (connection, notification) in zip(connections, birds + cats) {
                try connection.sendAll(RequestText.post(notification))
            }
            for connection in connections {
                let answer = try await connection.answers(to: "", count: 1)[0]
                #expect(answer.status == 200, "\(answer.text)")
            }
            for (app, own) in [("birds", birds), ("cats", cats)] as [(AppID, [String])] {
                let ids = own.compactMap { DocumentDigest(jws: Array($0.utf8))?.signed }
                #expect(try await server.documents(of: app) == Set(ids))
            }
        }
    }
}
