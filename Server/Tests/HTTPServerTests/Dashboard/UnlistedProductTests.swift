import Ledger
import PerennialContract
import Testing

@testable import Engine
@testable import HTTPServer

/// A product that customers bought but that the configuration does not list.
@Suite struct UnlistedProductTests {
    @Test func `pages say that an unlisted product gives no access, and show the line to add`()
        async throws
    {
        let other: (inout AppSettings) -> Void = { $0.entitlements = ["pro": ["pro.yearly"]] }
        try await DashboardServer.run(with: other) { server in
            try await server.buy("anna", transaction: "7001")
            try await server.buy("ben", transaction: "7002")
            let line = "pro.monthly: [pro]"
            let checks = try await server.get("/checks").text
            #expect(checks.contains("pro.monthly (2 purchases)") && checks.contains(line))
            #expect(try await server.get("/").text.contains("pro.monthly (2 purchases)"))
            let products = try await server.get("/products").text
            #expect(products.contains("2 purchases since") && products.contains(line))
            let customer = try await server.get("/customers/anna").text
            #expect(customer.contains("has no access") && customer.contains(line))
            let anna: Customer = try await server.api(Paths.customer("anna"))
            #expect(anna.unlistedProducts?.map(\.line) == [line])
            let ping: Ping = try await server.api(Paths.ping)
            #expect(ping.unlistedProducts?.map(\.line) == [line])
        }
    }

    @Test func `the health page has one check of all products, even if no product is listed`()
        async throws
    {
        for (rights, sentence) in [
            (["pro": ["pro.monthly"]], "Every product that was bought is listed."),
            ([:], "None is listed, so no purchase gives access."),
        ] as [([EntitlementID: Set<ProductID>], String)] {
            let change: (inout AppSettings) -> Void = { $0.entitlements = rights }
            try await DashboardServer.run(with: change) { server in
                let checks = try await server.get("/checks").text
                #expect(checks.contains(sentence), "\(checks)")
                #expect(checks.split(separator: "<b><bdi>Products</bdi></b>").count == 2)
            }
        }
    }

    /// Filters can also name a product that is listed without entitlements.
    @Test func `if a product is listed without entitlements, it counts as a known product`() {
        var birds = ListeningServer.birds
        birds.listedProducts = ["guide"]
        #expect(birds.lists("guide") && birds.knownProducts.contains("guide"))
        #expect(!birds.lists("map") && !birds.knownProducts.contains("map"))
    }
}
