import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct RouteTests {
    @Test func `if a transfer is unknown, the problem names the id that was sent`() async throws {
        try await TestServer.run { server in
            for name in ["7", "trf_x", String(repeating: "y", count: 100)] {
                let answer = try await server.send(
                    .delete, "/v1/customers/anna/transfers/\(name)", key: TestServer.secret)
                #expect(try answer.problem.code == .transferUnknown)
                #expect(try answer.problem.detail == "Found \"\(name.prefix(40))\".")
            }
            let none = try await server.send(
                .delete, "/v1/customers/anna/transfers/trf_7", key: TestServer.secret)
            #expect(try none.problem.detail == "no transfer 7 of this customer is known.")
        }
    }

    @Test func `if a key is missing, the problem says how to send a key`() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, "/v1/customers/anna", key: nil)
            #expect(answer.status == 401)
            #expect(answer.headers[.wwwAuthenticate] == "Bearer")
            #expect(answer.headers[.contentType] == Problem.mediaType)
            #expect(try answer.problem.code == .keyMissing)
        }
    }

    @Test func `if the server is configured to refuse a stored key, the key gives no access`()
        async throws
    {
        try await TestServer.run { server in
            let ring = KeyCache(refused: [TestServer.secret])
            let refused = try await ring.holder(of: TestServer.secret, in: server.engine)
            let taken = try await ring.holder(of: TestServer.key, in: server.engine)
            #expect(refused == nil && taken != nil)
        }
    }

    @Test func `an unknown key gives no access`() async throws {
        try await TestServer.run { server in
            for key in ["pk_wrong", String(repeating: "x", count: 5000)] {
                let answer = try await server.send(.get, "/v1/customers/anna", key: key)
                #expect(answer.status == 401)
                #expect(try answer.problem.code == .keyUnknown)
                #expect(!answer.text.contains(key))
            }
        }
    }

    @Test func `the authorization scheme may be written in any case`() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                .get, "/v1/customers/anna", key: nil,
                headers: [.authorization: "bearer \(TestServer.key)"])
            #expect(answer.status == 200)
        }
    }

    @Test func `an unknown customer has no purchases, and a read of the customer stores nothing`()
        async throws
    {
        try await TestServer.run { server in
            let answer = try await server.send(.get, Paths.customer("an/na ü"))
            #expect(answer.status == 200)
            let customer = try answer.decoded(Customer.self)
            #expect(customer.customerID == "an/na ü")
            #expect(customer.entitlements.isEmpty && customer.subscriptions.isEmpty)
            #expect(customer.asOf == Timestamp(TestServer.now))
            #expect(customer.environment == .production)
            let report = try await server.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.documents == 0 && report.isClean)
            let again = try await server.send(.get, Paths.customer("an/na ü"))
            #expect(again.text == answer.text)
        }
    }

    @Test func `an answer is for the requested environment, and an unknown environment is refused`()
        async throws
    {
        try await TestServer.run { server in
            let sandbox = try await server.send(.get, "/v1/customers/anna?environment=sandbox")
            #expect(try sandbox.decoded(Customer.self).environment == .sandbox)
            let wrong = try await server.send(.get, "/v1/customers/anna?environment=Sandbox")
            #expect(wrong.status == 400)
            #expect(try wrong.problem.code == .environmentUnknown)
        }
    }

    @Test(arguments: ["null", "%20", "guest", "0"])
    func `an id that identifies no person is refused`(id: String) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, "/v1/customers/\(id)")
            #expect(answer.status == 422)
            #expect(try answer.problem.code == .customerIDNotValid)
        }
    }

    @Test func `an id that is not UTF-8 is refused`() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, "/v1/customers/%FF%FE")
            #expect(answer.status == 400)
            #expect(try answer.problem.code == .requestNotUnderstood)
        }
    }

    @Test
    func `two ids are one customer after an alias, and adding the alias again changes nothing`()
        async throws
    {
        try await TestServer.run { server in
            for _ in 1...2 {
                let answer = try await server.send(
                    .post, Paths.aliases(of: "anna"), key: TestServer.secret,
                    body: #"{"customer_id": "device-1"}"#)
                #expect(answer.status == 200)
                #expect(try answer.decoded(Customer.self).aliases == ["device-1"])
            }
            let other = try await server.send(.get, Paths.customer("device-1"))
            #expect(try other.decoded(Customer.self).aliases == ["anna"])
        }
    }

    @Test(arguments: ["/v1/customers//history", "/v1//customers/anna", "//v1/customers/anna"])
    func `a path with an empty segment is refused`(
        path: String
    ) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, path, key: TestServer.secret)
            #expect(answer.status == 400)
            #expect(try answer.problem.code == .requestNotUnderstood)
            let query = try await server.send(.get, "/v1/customers/anna?x=a//b")
            #expect(query.status == 200)
        }
    }

    private static func code(
        _ query: String, of path: String, on server: TestServer
    ) async throws -> ProblemCode? {
        let answer = try await server.send(.get, "\(path)?\(query)", key: TestServer.secret)
        return answer.status == 200 ? nil : try answer.problem.code
    }

    @Test(arguments: [
        Paths.events, Paths.forwards, Paths.history(of: "anna"), Paths.wallet("gems", of: "anna"),
    ])
    func `all lists have the same rules for limits and cursors`(path: String) async throws {
        try await TestServer.run { server in
            let answered = try await Self.code("limit=1&after=", of: path, on: server)
            #expect(answered == nil)
            for limit in ["0", "-1", "x", "1001", "99999999999999999999"] {
                let code = try await Self.code("limit=\(limit)", of: path, on: server)
                #expect(code == .limitOutOfRange, "\(limit)")
            }
            let none = String(repeating: "00", count: 32)
            for cursor in [
                "-1", "x", "%2B1", "99999999999999999999", "0-00-00", "0-\(none)-00",
            ] {
                let code = try await Self.code("after=\(cursor)", of: path, on: server)
                #expect(code == .cursorUnknown, "\(cursor)")
            }
        }
    }

    @Test func `an unknown path or a wrong method is answered with a problem`() async throws {
        try await TestServer.run { server in
            let unknown = try await server.send(.get, "/v2/everything")
            #expect(unknown.status == 404)
            #expect(try unknown.problem.code == .routeUnknown)
            let wrong = try await server.send(.put, Paths.purchases)
            #expect(wrong.status == 405)
            #expect(wrong.headers[.allow] == "POST")
            #expect(try wrong.problem.code == .methodNotAllowed)
        }
    }

    @Test(arguments: ["TRACE", "PROPFIND", "PURGE", "OPTIONS"])
    func `if no route has the method, the answer is 405, not 404`(method: String) async throws {
        try await TestServer.run { server in
            let method = try #require(HTTPRequest.Method(method))
            for path in [Paths.health, Paths.purchases, Paths.customer("anna"), Paths.openAPI] {
                let answer = try await server.send(method, path)
                #expect(answer.status == 405, "\(path)")
                #expect(try answer.problem.code == .methodNotAllowed)
                #expect(answer.headers[.allow] != nil)
            }
            #expect(try await server.send(method, "/nowhere").problem.code == .routeUnknown)
            #expect(try await server.send(.head, Paths.purchases).status == 405)
            #expect(try await server.send(.head, Paths.health).status == 200)
        }
    }

    @Test func `a valid request id is returned, and an invalid one is replaced`() async throws {
        try await TestServer.run { server in
            let name = try HTTPField.Name.requestID
            let kept = try await server.send(.get, "/nowhere", headers: [name: "abc-1_2.3"])
            #expect(kept.headers[name] == "abc-1_2.3")
            #expect(try kept.problem.requestID == "abc-1_2.3")
            var given: Set<String> = []
            for bad in ["", "a b", "x\"y", String(repeating: "a", count: 65)] {
                let made = try await server.send(.get, Paths.health, headers: [name: bad])
                let id = try #require(made.headers[name])
                #expect(id != bad && id.count == 16)
                #expect(given.insert(id).inserted)
            }
        }
    }

    @Test func `no answer may be cached or interpreted as another media type`() async throws {
        try await TestServer.run { server in
            for path in [Paths.health, "/nowhere", Paths.customer("anna")] {
                let answer = try await server.send(.get, path)
                #expect(answer.headers[.cacheControl] == "no-store")
                #expect(answer.headers[.xContentTypeOptions] == "nosniff")
            }
        }
    }

    @Test func `/health and /ready report that the server is alive and ready`() async throws {
        try await TestServer.run { server in
            for path in [Paths.health, Paths.ready] {
                let answer = try await server.send(.get, path, key: nil)
                #expect(answer.status == 200)
            }
        }
    }
}
