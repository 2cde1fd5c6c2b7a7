import Foundation
import FoundationNetworking
import PerennialTesting
import Testing

@testable import Perennial

/// Plays actions of the engine. Each story has a separate world.
extension Stories {
    @Suite struct OfItself {
        @Test func `a grant opens access at once while the app waits for changes`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.waitsForChanges = true }
                _ = try await perennial.identify("anna")
                #expect(!perennial["pro"].isActive)
                try await world.server(
                    "POST", "/v1/customers/anna/grants",
                    ["entitlement": "pro", "until": "2027-01-01T00:00:00Z", "reason": "a gift"])
                try await perennial.until { $0["pro"].isActive }
                #expect(perennial["pro"].state == .granted)
                #expect(world.requests.contains { $0.contains("wait=25") })
            }
        }

        @Test func `by default, no request waits for changes`() async throws {
            try await Stories.play { world in
                let perennial = try await world.device(of: "anna").perennial()
                _ = try await perennial.identify("anna")
                try await perennial.refresh()
                #expect(!world.requests.contains { $0.contains("wait=") })
            }
        }

        @Test func `a promoted purchase is delivered once, after the next launch`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                await first.engine?.handle(.request(product: "guide", offerID: nil))
                let second = try await phone.relaunch(first)
                var requests = second.requests.makeAsyncIterator()
                #expect(await requests.next() == .init(product: "guide"))
                let third = try await phone.relaunch(second)
                try await phone.chooseInTheAppStore("seeds.100", in: world)
                var later = third.requests.makeAsyncIterator()
                #expect(await later.next() == .init(product: "seeds.100"))
            }
        }

        @Test func `if two tasks read the requests, new requests go to the later task`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                var first = perennial.requests.makeAsyncIterator()
                try await phone.chooseInTheAppStore("guide", in: world)
                #expect(await first.next() == .init(product: "guide"))
                var second = perennial.requests.makeAsyncIterator()
                try await phone.chooseInTheAppStore("seeds.100", in: world)
                #expect(await second.next() == .init(product: "seeds.100"))
                #expect(await first.next() == nil)
            }
        }

        @Test
        func `if Apple's notification is lost, the app reports that renewal was switched off`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                _ = try await perennial.identify("anna")
                try await perennial.purchase("pro.monthly")
                try await world.simulator("faults", ["notifications": ["drop": 1]])
                try await phone.change("pro.monthly", "cancel")
                await perennial.enterForeground()
                try await perennial.until { $0.subscriptions.first?.willRenew == false }
                let answer = try await world.server("GET", "/v1/customers/anna")
                let subscriptions = answer["subscriptions"] as? [[String: Any]]
                #expect(subscriptions?.first?["will_renew"] as? Bool == false)
            }
        }

        @Test func `the introductory offer that the app chose is signed by the server`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("guide")
                let offers = try await perennial.offers(for: "pro.yearly")
                var options = Perennial.PurchaseOptions()
                options.offer = offers.first { $0.kind == .introductory }
                #expect(options.offer?.isEligible == true)
                let purchase = try await perennial.purchase("pro.yearly", options)
                #expect(world.requests.contains("POST /v1/offers/signatures"))
                #expect(purchase.snapshot["pro"].state == .trial)
            }
        }
    }
}

extension World {
    /// Sends a request to the server with the secret key.
    @discardableResult
    nonisolated func server(
        _ method: String, _ path: String, _ body: [String: any Sendable]? = nil
    ) async throws -> [String: Any] {
        try await send(method, server.absoluteString + path, body)
    }

    /// Sends a request to a route of the simulator.
    nonisolated func simulator(_ path: String, _ body: [String: any Sendable]) async throws {
        _ = try await send("POST", simulator.absoluteString + "/_sim/" + path, body)
    }

    private nonisolated func send(
        _ method: String, _ address: String, _ body: [String: any Sendable]?
    ) async throws -> [String: Any] {
        var request = URLRequest(url: try #require(URL(string: address)))
        request.httpMethod = method
        request.setValue("Bearer sk_dev_birds", forHTTPHeaderField: "Authorization")
        request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        request.httpBody = try body.map { try JSONSerialization.data(withJSONObject: $0) }
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        try #require((200..<300).contains(status), "\(String(decoding: data, as: UTF8.self))")
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }
}

extension Device {
    /// The customer chooses a promoted product.
    func chooseInTheAppStore(_ product: Perennial.ProductID, in world: World) async throws {
        try await world.simulator(
            "devices/\(id)/purchase-intents", ["product_id": product.rawValue])
    }
}
