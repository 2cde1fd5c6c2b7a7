import AppStoreFormats
import Engine
import Ledger
import Testing

/// Damaged report files store nothing.
@Suite struct ReportFileTests {
    private static let app = AppSettings(
        id: "birds", bundleID: "com.example.birds", entitlements: [:])
    private static let now = Instant(milliseconds: 1_800_000_000_000)

    /// A report file of a kind, with two equal rows.
    private static func file(_ kind: SalesReportKind) throws -> [UInt8] {
        func bytes<Row: SalesReportRow>(_: Row.Type, _ change: (inout Row) -> Void) throws
            -> [UInt8]
        {
            var row = Row()
            change(&row)
            return try SalesReport(rows: [row, row]).bytes()
        }
        return switch kind {
        case .sales: try bytes(SalesRow.self) { $0.productType = .autoRenewable }
        case .subscription: try bytes(SubscriptionRow.self) { $0.appName = "Für" }
        case .subscriptionEvent: try bytes(SubscriptionEventRow.self) { $0.event = .renew }
        case .subscriber: try bytes(SubscriberRow.self) { $0.units = 1 }
        case .offerCodeRedemption: try bytes(OfferCodeRedemptionRow.self) { $0.redemptions = 1 }
        case .preOrder: try bytes(PreOrderRow.self) { $0.title = "Für" }
        case .financial: try bytes(FinancialRow.self) { $0.productType = .app }
        }
    }

    private static func damaged(_ file: [UInt8]) -> [(what: String, bytes: [UInt8])] {
        var withColumn = file
        withColumn.insert(contentsOf: Array("Colour\t".utf8), at: 0)
        var withByte = file
        withByte[file.count / 2] = 0xFF
        return [
            ("cut", Array(file.dropLast(3))), ("compressed", [0x1F, 0x8B, 8] + file),
            ("UTF-16", file.flatMap { [$0, 0] }), ("a byte that is no UTF-8", withByte),
            ("another version", withColumn), ("a tab more", file.dropLast() + [0x09, 0x0A]),
        ]
    }

    @Test(arguments: SalesReportKind.allCases)
    func `a damaged file is refused with the place of the damage, and nothing is stored`(
        kind: SalesReportKind
    ) async throws {
        let engine = try await Engine.empty(Self.app, at: Self.now)
        let good = try Self.file(kind)
        let name = "X_D_80012345_20261121.txt"
        for (what, bytes) in Self.damaged(good) {
            // Financial reports may have extra blank cells in their totals.
            if what == "a tab more", kind == .financial { continue }
            let failure = await #expect(throws: SalesReportFailure.self, "\(kind), \(what)") {
                try await engine.appleReports.importFile(bytes, name: name, of: Self.app.id)
            }
            let sentence = failure.map { "\($0)" } ?? ""
            // A failure of the encoding names no line.
            let isWhole = sentence.hasPrefix("The file: ") && failure?.code == .encoding
            #expect(isWhole || sentence.hasPrefix("Line "), "\(kind), \(what): \(sentence)")
        }
        let done = try await engine.appleReports.importFile(good, name: name, of: Self.app.id)
        #expect(!done.isKnown && done.rowsCount == 2 && done.kind == kind.rawValue)
        #expect(try await engine.appleReports.importFile(good, name: name, of: Self.app.id).isKnown)
    }
}
