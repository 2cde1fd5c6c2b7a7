import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Synchronization
import Testing

@testable import HTTPServer

/// A preview shows what a configuration would change, before the configuration is in force.
@Suite struct ConfigurationPageTests {
    /// Replaces the reader of configuration files. Each line of the text is a product that gives
    /// pro.
    private static let reading: ProposedConfiguration.Reading = { text in
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        guard !text.contains("secret") else {
            throw ProposedConfiguration.Refusal(problems: ["line:3: “…” is not a number."])
        }
        var settings = ListeningServer.birds
        settings.entitlements = ["pro": Set(lines.map { ProductID(rawValue: $0) })]
        return ProposedConfiguration(
            settings: [settings.id: settings], differences: ["birds": ["- a rule", "+ another"]])
    }

    private func preview(
        _ text: String, _ server: DashboardServer, key: String = TestServer.secret
    ) async throws -> TestServer.Answer {
        let body = try ContractEncoder().encode(ConfigurationPreviewRequest(configuration: text))
        let response = try await server.client.execute(
            uri: Paths.configurationPreview, method: .post,
            headers: [.authorization: "Bearer \(key)"], body: .init(bytes: body))
        return TestServer.Answer(
            status: response.status.code, headers: response.headers,
            text: String(buffer: response.body))
    }

    @Test
    func `a preview counts and names the customers who would lose access, and changes nothing`()
        async throws
    {
        try await DashboardServer.run(reading: Self.reading) { server in
            for (name, number) in [("anna", 1), ("ben", 2)] {
                try await server.buy(name, transaction: "700\(number)")
            }
            let before = try await server.api(Paths.customer("anna"), Customer.self).entitlements
            let form = try await server.get("/products")
            #expect(form.text.contains("action=\"/products/preview\""))
            let page = try await server.post(
                "/products/preview", ["configuration": "pro.weekly\npro.yearly"])
            #expect(page.status == 200)
            for words in [
                "Access would end 2 times.", "/customers/anna", "/customers/ben", "- a rule",
                "Nothing was changed",
            ] { #expect(page.text.contains(words), "\(words)") }
            // The page does not show the pasted text again.
            #expect(!page.text.contains("pro.weekly"))
            let kept = try await server.post("/products/preview", ["configuration": "pro.monthly"])
            #expect(kept.text.contains("No customer would lose access."))

            let answer: ConfigurationPreview = try await preview("pro.weekly", server).decoded()
            #expect(answer.customers == 2 && answer.complete)
            #expect(answer.differences == ["- a rule", "+ another"])
            let change = try #require(answer.entitlements.first)
            #expect(change.entitlement == "pro" && change.environment == .production)
            #expect(change.losing == 2 && change.losingIDs == ["anna", "ben"])
            let after = try await server.api(Paths.customer("anna"), Customer.self).entitlements
            #expect(after == before && after["pro"]?.active == true)
            #expect(try await server.api(Paths.audit, AuditList.self).items.isEmpty)
        }
    }

    @Test func `a text that is not a configuration is refused, and the page lists its problems`()
        async throws
    {
        try await DashboardServer.run(reading: Self.reading) { server in
            let page = try await server.post(
                "/products/preview", ["configuration": "port: secret"])
            #expect(page.status == 422)
            #expect(page.text.contains("is not a number.") && !page.text.contains("port: secret"))
            let problem = try await preview("port: secret", server).problem
            #expect(problem.code == .configurationNotValid)
            let long = String(repeating: "x", count: ConfigurationRoutes.bytesMax + 1)
            #expect(try await preview(long, server).problem.code == .bodyTooLarge)
            #expect(
                try await server.post("/products/preview", ["configuration": long]).status == 413)
        }
    }

    @Test func `only admins can preview, and only if there is a configuration file`() async throws {
        var support = DashboardServer.developer
        support.developer?.role = .support
        try await DashboardServer.run(as: support, reading: Self.reading) { server in
            let products = try await server.get("/products")
            #expect(products.status == 200 && !products.text.contains("/products/preview"))
            let page = try await server.post("/products/preview", ["configuration": "x"])
            #expect(page.status == 403)
            try await server.engine.keys.add(
                key: "sk_read", app: "birds", kind: .secret, name: "", scopes: [.read])
            #expect(
                try await preview("x", server, key: "sk_read").problem.code == .keyScopeMissing)
        }
        try await DashboardServer.run { server in
            let products = try await server.get("/products")
            #expect(products.status == 200 && !products.text.contains("/products/preview"))
            let problem = try await preview("x", server).problem
            #expect(problem.code == .configurationNotValid)
        }
    }

    @Test func `only one preview runs at a time`() async throws {
        let place = PreviewPlace()
        try await place.reserve {
            _ = await #expect(throws: ProblemError.self) { try await place.reserve {} }
        }
        try await place.reserve {}
    }
}
