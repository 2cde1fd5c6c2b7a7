import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// If the client already has the answer, the server does not send it again.
@Suite struct CustomerTagTests {
    private static let grant = #"{"entitlement": "pro", "reason": "sorry"}"#

    private func ask(
        _ server: TestServer, _ path: String = Paths.customer("anna"), naming tag: String? = nil,
        key: String = TestServer.key
    ) async throws -> TestServer.Answer {
        try await server.send(
            .get, path, key: key, headers: tag.map { [.ifNoneMatch: $0] } ?? [:])
    }

    @Test func `an answer is sent again only if it has changed`() async throws {
        try await TestServer.run { server in
            let first = try await ask(server)
            let tag = try #require(first.headers[.eTag])
            #expect(tag.hasPrefix("W/\""))
            for named in [tag, String(tag.dropFirst(2)), "\"x\", \(tag)", "*"] {
                let same = try await ask(server, naming: named)
                #expect(same.status == 304 && same.text.isEmpty, "\(named)")
                #expect(same.headers[.eTag] == tag)
            }
            #expect(try await ask(server, naming: "\"x\"").status == 200)
            _ = try await server.send(
                .post, Paths.grants(of: "anna"), key: TestServer.secret, body: Self.grant)
            let changed = try await ask(server, naming: tag)
            #expect(changed.status == 200)
            #expect(try changed.decoded(Customer.self).entitlements["pro"]?.active == true)
            #expect(changed.headers[.eTag] != tag)
        }
    }

    @Test(arguments: ["gzip", "br", "zstd", "deflate"])
    func `an ETag still matches after a compressing proxy has changed it`(
        coding: String
    ) async throws {
        try await TestServer.run { server in
            for path in [Paths.customer("anna"), Paths.offerings] {
                let tag = try #require(try await ask(server, path).headers[.eTag])
                let inside = "\(tag.dropLast())-\(coding)\""
                for named in [inside, String(inside.dropFirst(2)), "\(tag)-\(coding)"] {
                    let same = try await ask(server, path, naming: named)
                    #expect(same.status == 304, "\(named)")
                    #expect(same.headers[.eTag] == tag)
                }
                for other in ["\"-\(coding)\"", "\"\(coding)\"", "-\(coding)"] {
                    #expect(try await ask(server, path, naming: other).status == 200)
                }
            }
        }
    }

    @Test func `the ETag of an answer does not depend on the answer's time and token`() throws {
        var customer = Customer(
            customerID: "anna", environment: .production, asOf: Timestamp(TestServer.now))
        let tag = try CustomerTag(customer)
        customer.asOf = Timestamp(TestServer.now + .seconds(1))
        customer.serverTime = customer.asOf
        customer.token = "eyJ"
        #expect(try CustomerTag(customer) == tag)
        customer.aliases = ["phone-7"]
        #expect(try CustomerTag(customer) != tag)
    }

    @Test func `another server on the same database returns the same ETag`() async throws {
        try await TestServer.run { server in
            let one = try await ask(server).headers[.eTag]
            let state = try await server.otherEngine.customers.find(
                "anna", app: "birds", environment: .production)
            let other = PerennialServer(engine: server.otherEngine, logger: .init(label: "test"))
            let holder = try #require(try await server.engine.keys.holder(TestServer.key))
            let answer = try await other.answers.customer(in: state, for: holder)
            #expect(try CustomerTag(answer).text == one)
        }
    }

    @Test func `every response has the server's time, even a problem and a 304`() async throws {
        try await TestServer.run { server in
            let now = Timestamp(TestServer.now)
            let name = try #require(HTTPField.Name("Perennial-Server-Time"))
            let customer = try await ask(server)
            let tag = try #require(customer.headers[.eTag])
            #expect(try customer.decoded(Customer.self).serverTime == now)
            let refused = try await server.send(.get, Paths.customer("anna"), key: nil)
            #expect(try refused.problem.serverTime == now)
            let others = [
                try await ask(server, naming: tag), try await ask(server, Paths.health),
                customer, refused,
            ]
            for answer in others { #expect(answer.headers[name] == now.description) }
        }
    }
}
