import AppStoreFormats
import Crypto
import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// An app needs a proof of its customer for acts that cannot be undone.
@Suite struct ProvenRequestTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    private static func proof(of id: String) throws -> HTTPFields {
        let end = TestServer.now.milliseconds / 1000 + 3600
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(id)\n\(end)".utf8), using: SymmetricKey(data: Array(secret.utf8)))
        let name = try #require(HTTPField.Name("Perennial-Customer-Proof"))
        return [name: "\(end)." + code.withUnsafeBytes { Hexadecimal.text($0) }]
    }

    private static func withProofs(
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run({ $0.proof = .hmac(AppSecret(secret)) }, body)
    }

    /// Gives consent with an app key.
    private static func consent(
        _ server: TestServer, _ id: String, _ body: String = #"{"consented": true, "new": 1}"#,
        headers: HTTPFields = [:]
    ) async throws -> TestServer.Answer {
        try await server.send(
            .put, Paths.customer(id) + "/consumption", body: body, headers: headers)
    }

    @Test func `an app with a proof can give consent, but cannot change other consumption data`()
        async throws
    {
        try await Self.withProofs { server in
            let proof = try Self.proof(of: "anna")
            let path = Paths.customer("anna") + "/consumption"
            _ = try await server.send(
                .put, path, key: TestServer.secret,
                body: #"{"consented": false, "sample_content_provided": true}"#)
            let given = try await Self.consent(server, "anna", headers: proof)
            #expect(given.status == 200)
            #expect(try given.decoded(ConsumptionOverview.self).consented == true)
            for more in [
                #""sample_content_provided": false"#,
                #""purchases": [{"transaction_id": "1", "delivery": "other"}]"#,
            ] {
                let refused = try await Self.consent(
                    server, "anna", "{\"consented\": true, \(more)}", headers: proof)
                #expect(refused.status == 403)
                #expect(try refused.problem.remedy.contains("from your server"))
            }
            // The values that the app's server reported are unchanged.
            let known = try await server.send(.get, path, key: TestServer.secret)
            let overview: ConsumptionOverview = try known.decoded()
            #expect(overview.consented == true && overview.sampleContentProvided == true)
        }
    }

    @Test func `an app with a proof can erase its customer`() async throws {
        try await Self.withProofs { server in
            _ = try await server.engine.grants.add(
                NewGrant(entitlement: "pro", reason: "sorry"), to: "anna", app: "birds",
                environment: .production)
            let path = Paths.customer("anna")
            let without = try await server.send(.delete, path)
            #expect(without.status == 401)
            #expect(try without.problem.code == .customerProofMissing)
            let foreign = try await server.send(
                .delete, path, headers: try Self.proof(of: "ben"))
            #expect(try foreign.problem.code == .customerProofNotValid)
            let gone = try await server.send(.delete, path, headers: try Self.proof(of: "anna"))
            #expect(gone.status == 200)
            let after = try await server.send(.get, path, key: TestServer.secret)
            #expect(try after.decoded(Customer.self).entitlements.isEmpty)
        }
    }

    @Test func `without proofs, an app cannot erase a customer by a guessed id`() async throws {
        try await TestServer.run { server in
            let answers = [
                try await server.send(.delete, Paths.customer("anna")),
                try await Self.consent(server, "anna"),
            ]
            for answer in answers {
                #expect(answer.status == 403)
                #expect(try answer.problem.code == .keyNotSecret)
                #expect(try answer.problem.remedy.contains("identity"))
            }
        }
    }

    @Test func `an anonymous id needs no proof until it belongs to a customer`() async throws {
        try await TestServer.run { server in
            #expect(try await Self.consent(server, Self.anonymous).status == 200)
            _ = try await server.send(
                .post, Paths.aliases(of: "anna"), key: TestServer.secret,
                body: #"{"customer_id": "\#(Self.anonymous)"}"#)
            #expect(try await Self.consent(server, Self.anonymous).status == 403)
            let path = Paths.customer(Self.anonymous)
            #expect(try await server.send(.delete, path).status == 403)
        }
    }
}
