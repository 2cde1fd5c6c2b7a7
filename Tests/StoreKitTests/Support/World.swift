import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import StoreKit

/// A new world of the simulator, and what a test does in it.
struct World: Sendable {
    let url: URL
    private static let accounts = Mutex(0)

    /// Begins a new world on the program that all tests share.
    init(shop: String = "example") async throws {
        try await self.init(shop: shop, on: SimulatorProgram.shared.value)
    }

    init(shop: String = "example", on program: SimulatorProgram) async throws {
        url = program.url
        try await post("reset", ["shop": shop, "seed": 1, "now": "2026-01-01T12:00:00Z"])
    }

    /// An account that no other test has, with a device.
    func device(
        of account: String? = nil, with more: [String: any Sendable] = [:]
    ) async throws -> SimulatedDevice {
        let name = account ?? Self.newAccount()
        let answer = try await post("devices", more.merging(["account": name]) { $1 })
        return SimulatedDevice(simulator: url, id: try #require(answer["device_id"] as? String))
    }

    static func newAccount() -> String {
        let number = accounts.withLock { count in
            count += 1
            return count
        }
        return "anna\(number)"
    }

    func advance(_ duration: String) async throws {
        try await post("clock", ["advance": duration])
    }

    /// Posts to a route of the simulator, such as `clock`.
    @discardableResult
    func post(_ path: String, _ fields: [String: any Sendable] = [:]) async throws -> [String: Any]
    {
        var request = URLRequest(url: url.appendingPathComponent("_sim/\(path)"))
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: fields)
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode
        try #require(status == 200, "\(path): \(String(decoding: data, as: UTF8.self))")
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
}

extension SimulatedDevice {
    /// Makes this device the current one.
    func use<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await Self.$current.withValue(self) { try await body() }
    }

    /// The name of the store account.
    var account: String { String(id.prefix { $0 != "-" }) }

    func product(_ id: String) async throws -> Product {
        try await use { try #require(await Product.products(for: [id]).first) }
    }

    @discardableResult
    func buy(_ id: String, _ options: Set<Product.PurchaseOption> = []) async throws -> Transaction
    {
        try await use {
            guard case .success(let result) = try await product(id).purchase(options: options)
            else { throw StoreKitError.unknown }
            return try result.payloadValue
        }
    }

    func ids(_ sequence: () -> Transaction.Transactions) async -> [UInt64] {
        await use {
            var ids: [UInt64] = []
            for await result in sequence() { ids.append(result.unsafePayloadValue.id) }
            return ids
        }
    }
}

/// All tests that move the simulator's clock. The tests run one after the other, each in its own
/// world.
@Suite(
    .serialized, .timeLimit(.minutes(2)),
    .enabled(if: SimulatorProgram.isThere, "skipped: no program"))
enum StoreTests {}

extension World {
    /// Reads a route of the simulator.
    func get(_ path: String, _ query: String = "") async throws -> [String: Any] {
        let address = "\(url.absoluteString)/_sim/\(path)" + (query.isEmpty ? "" : "?\(query)")
        let (data, _) = try await URLSession.shared.data(from: #require(URL(string: address)))
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
}
