import Engine
import Hummingbird
import Logging
import PerennialContract
import Storage
import Synchronization
import Testing

@testable import HTTPServer

/// What the log says about the author of a request.
@Suite struct RequestAuthorTests {
    @Test
    func `the log names the key, the first digits of its hash, and the actor of a request`() {
        let author = RequestAuthor()
        #expect(author.logMetadata.isEmpty)
        let hash = Array(repeating: UInt8(0xAB), count: 32)
        author.record(
            StoredKey(
                app: "birds", hash: hash, kind: .secret, name: "desk", createdAt: TestServer.now),
            actor: "Mia")
        #expect(author.logMetadata == ["key": "desk (abababab)", "actor": "Mia"])
    }

    @Test(arguments: [("", 400), (String(repeating: "a", count: 101), 400), ("Mia B.", 200)])
    func `an invalid name of an actor is refused`(actor: String, status: Int) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                .get, Paths.customer("anna"), key: TestServer.secret,
                headers: [.init("Perennial-Actor")!: actor])
            #expect(answer.status == status)
            // Only servers may name an actor.
            let fromApp = try await server.send(
                .get, Paths.customer("anna"), headers: [.init("Perennial-Actor")!: actor])
            #expect(fromApp.status == 200)
        }
    }
}
