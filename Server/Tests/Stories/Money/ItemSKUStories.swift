import AppStoreFormats
import Engine
import Ledger
import Reports
import Testing

@testable import Simulator

/// Sales through the Advanced Commerce API. Apple's files name such sales by the SKUs of their
/// items.
@Suite(.serialized) struct ItemSKUStories {
    private static let product = "tiers.silver"

    /// Anna's subscription is migrated to items and renews. Returns the result of the comparison.
    private static func compare(
        _ skus: [String], _ form: SalesReportForm, inFile text: String? = nil
    ) async throws -> SalesReconciliation {
        var found: SalesReconciliation?
        try await DirectShop.open { shop in
            try await shop.store.addDevice(account: "anna")
            try await shop.store.purchase(PurchaseOrder(product), on: "anna-1")
            let id = try #require(try await shop.store.purchases(of: "anna").first)
            try await shop.store.change(
                id.originalTransactionID,
                .advancedCommerce(AdvancedCommerceChange(.migration, skus: skus)))
            let first = WallClock.appStore.dayNumber(at: shop.now)
            try await shop.store.advance(by: ISODuration(days: 35, milliseconds: 0))
            let last = WallClock.appStore.dayNumber(at: shop.now)
            let books = ReportBooks(await shop.store.world)
            for day in first...last {
                let date = AppStoreFormats.CivilDate(daysSince1970: day)
                var rows = books.salesRows(from: date, to: date)
                guard !rows.isEmpty else { continue }
                for place in rows.indices where text != nil { rows[place].sku = text ?? "" }
                _ = try await shop.engine.appleReports.importFile(
                    SalesReport(form: form, rows: rows).bytes(), name: "S_D_1_\(day).txt",
                    of: DirectShop.app)
            }
            found = try await shop.engine.appleReports.reconcileSales(
                of: DirectShop.app, in: first...last, .appStore
            ).reconciliation
        }
        return try #require(found)
    }

    @Test(arguments: [["item.a"], ["item.a", "item.b"], [product], ["tiers.gold"]])
    func `sales rows with item SKUs are compared under the product of the signed transaction`(
        skus: [String]
    ) async throws {
        for form in [SalesReportForm.tabs, .commas] {
            let found = try await Self.compare(skus, form)
            let days = found.differences.filter { $0.cause != .fileMissing }
            #expect(days == [] && found.comparedCount >= 10, "\(form)")
        }
    }

    @Test
    func `item SKUs that are in no document count as SKU differences, not as missing sales`()
        async throws
    {
        let found = try await Self.compare(
            [Self.product], .tabs, inFile: "'\(Self.product)','item.b'")
        #expect(found.residual.isEmpty)
        #expect(found.differences.contains { $0.cause == .itemSKUs })
    }

    @Test func `a SKU in a sales report is recognised even if a space follows`() async throws {
        let found = try await Self.compare(
            [Self.product], .tabs, inFile: Self.product + " ")
        #expect(found.differences.allSatisfy { $0.cause == .fileMissing })
    }
}
