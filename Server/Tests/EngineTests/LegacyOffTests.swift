import AppStoreFormats
import AppStoreTrust
import Engine
import Foundation
import Ledger
import Logging
import StorageSQLite
import Testing

/// An app no longer accepts receipts from before StoreKit 2. Receipts that are already stored
/// stay.
@Suite struct LegacyOffTests {
    private static let receipt = URL(
        filePath: ProcessInfo.processInfo.environment["PERENNIAL_VECTORS"] ?? "../shared/vectors",
        relativeTo: (1...4).reduce(URL(filePath: #filePath)) { url, _ in
            url.deletingLastPathComponent()
        }
    ).appending(path: "receipts/app-receipts/linjunpop-auto_renewable_receipt.b64")

    private static func engine(
        _ database: SQLiteDriver, takesLegacy: Bool
    ) async throws -> Engine {
        let app = AppSettings(
            id: "diary", bundleID: "com.sumiapp.GridDiary", takesLegacy: takesLegacy,
            entitlements: [:])
        let engine = Engine(
            database: database, apps: [app], verifiers: ["diary": Verifier(roots: .apple)],
            now: { Instant(milliseconds: 1_790_000_000_000) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
        return engine
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: receipt.path)))
    func `with legacy receipts off, new receipts are refused, and stored receipts stay valid`()
        async throws
    {
        let database = try SQLiteDriver.inMemory()
        let text = String(decoding: try Data(contentsOf: Self.receipt), as: UTF8.self)
        let evidence = PurchaseEvidence(appReceipt: text)
        let before = try await Self.engine(database, takesLegacy: true)
        let taken = try await before.recording.record(evidence, of: "anna", app: "diary")
        #expect(!taken.purchases.isEmpty)
        let after = try await Self.engine(database, takesLegacy: false)
        await #expect(throws: EngineFailure.legacyDisabled("diary")) {
            try await after.recording.record(evidence, of: "anna", app: "diary")
        }
        await #expect(throws: EngineFailure.legacyDisabled("diary")) {
            let question: JSON = ["receipt-data": .string(text)]
            return try await after.legacy.verifyReceipt(question.bytes, at: .production)
        }
        let report = try await after.maintenance.rebuild(verifyOnly: true)
        #expect(report.isClean && report.unusable.isEmpty, "\(report)")
        let state = try await after.customers.find(
            "anna", app: "diary", environment: taken.environment)
        #expect(state.purchases == taken.purchases)
    }
}
