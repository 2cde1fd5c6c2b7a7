import Eventually
import Foundation
import Synchronization
import Testing

@testable import StoreKit

private let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

@Suite struct DocsTests {
    /// The Swift code of the page, without the indentation of lists.
    private func snippets() throws -> [String] {
        let page = try text("docs/storekit-on-linux.md")
        return page.components(separatedBy: "```").enumerated().compactMap { index, block in
            guard index % 2 == 1, block.hasPrefix("swift\n") else { return nil }
            return plain(String(block.dropFirst("swift\n".count)))
        }
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8)
    }

    private func plain(_ code: String) -> String {
        code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }.joined(separator: "\n")
    }

    @Test func `the code on the page about StoreKit on Linux compiles, and tests run it`() throws {
        let sources = try [
            "Examples/StoreKitOnLinux/main.swift", "Tests/StoreKitTests/DocsTests.swift",
        ]
        .map { plain(try text($0)) }
        let code = try snippets().filter { !$0.contains("PackageDescription") }
        #expect(code.count == 3)
        for snippet in code {
            #expect(sources.contains { $0.contains(snippet) }, "\(snippet)")
        }
    }

    @Test func `the package manifest on the page about StoreKit on Linux is valid`() throws {
        let manifest = try #require(snippets().first { $0.contains("PackageDescription") })
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("manifest-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try manifest.write(
            to: folder.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)
        let swift = Process()
        swift.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        swift.arguments = ["swift", "package", "--package-path", folder.path, "dump-package"]
        let (status, bytes) = try swift.output()
        #expect(status == 0)
        let json = String(decoding: bytes, as: UTF8.self)
        #expect(json.components(separatedBy: "\"StoreKit\"").count == 3)
    }
}

extension StoreTests {
    @Suite struct TwoPhonesOfThePage {
        @Test func `a purchase on one phone is also listed on a second phone of the account`()
            async throws
        {
            let world = try await World()
            try await world.post("devices", ["account": "anna"])
            try await world.post("devices", ["account": "anna"])
            let simulator = world.url
            let phone = SimulatedDevice(simulator: simulator, id: "anna-1")
            let pad = SimulatedDevice(simulator: simulator, id: "anna-2")
            try await SimulatedDevice.$current.withValue(phone) {
                guard let guide = try await Product.products(for: ["guide"]).first else { return }
                _ = try await guide.purchase()
            }
            await SimulatedDevice.$current.withValue(pad) {
                #expect(await Transaction.currentEntitlement(for: "guide") != nil)
            }
        }
    }
}

extension StoreTests {
    @Suite struct SeatsOfThePage {
        @Test func `seats are bought, and the transaction names their price tiers`() async throws {
            let world = try await World()
            let later: [String: any Sendable] = ["from": 6, "price": "7.99"]
            try await world.post("reset", ["multi_seat": ["pro.monthly": ["tiers": [later]]]])
            let said = Mutex<[String]>([])
            try await world.device().use {
                try await buy { text in said.withLock { $0.append(text) } }
            }
            #expect(said.withLock { $0.sorted() } == ["2 at 7.99", "5 at 9.99", "7 seats"])
        }

        private func buy(_ say: (String) -> Void) async throws {
            guard let team = try await Product.products(for: ["pro.monthly"]).first,
                team.supportsMultiSeatPurchase
            else { return }
            if case .success(let result) = try await team.purchase(options: [.seats(7)]) {
                let bought = try result.payloadValue
                say("\(bought.purchasedQuantity) seats")
                for tier in bought.multiSeatInfo?.priceTiers ?? [] {
                    say("\(tier.quantity) at \(tier.price)")
                }
                await bought.finish()
            }
        }
    }
}
