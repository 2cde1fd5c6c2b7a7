import Foundation
import Perennial
import RageCore
import StoreKit

/// A phone with the app on it.
struct RagePhone: Sendable {
    private let device: SimulatedDevice
    private let rage: RageShop

    init(_ program: RageProgram, account: String) async throws {
        let id = try await program.makeDevice(account: account)
        let device = SimulatedDevice(simulator: program.simulator, id: id)
        self.device = device
        // Perennial listens to the App Store as soon as it is initialised. The task that creates
        // the instance decides which phone the instance listens to.
        rage = SimulatedDevice.$current.withValue(device) {
            RageShop(
                server: program.server, key: RageProgram.key,
                folder: program.folder.appendingPathComponent(id, isDirectory: true))
        }
    }

    /// Performs an action of the app.
    func callAsFunction<Value: Sendable>(
        _ action: @Sendable (RageShop) async throws -> Value
    ) async throws -> Value {
        try await SimulatedDevice.$current.withValue(device) { try await action(rage) }
    }

    func buy(_ name: String) async throws -> Perennial.Purchase.Outcome? {
        try await self { try await $0.buy(.init(rawValue: "com.example.rage.\(name)"))?.outcome }
    }

    /// Asks the server, so that the app knows its time.
    func refresh() async throws { _ = try await self { try await $0.perennial.refresh() } }

    /// The screen: the headline, then a button for each product, `✓` for a checkmark.
    func screen() async throws -> [String] {
        guard let paywall = try await self({ try await $0.list() }) else { return [] }
        return [paywall.headline.text ?? ""] + paywall.rows.map { $0.actionTitle ?? "✓" }
    }

    func status(of name: String) async throws -> String? {
        try await self { try await $0.list() }?.rows.first { $0.id.rawValue.hasSuffix(name) }?
            .status
    }
}
