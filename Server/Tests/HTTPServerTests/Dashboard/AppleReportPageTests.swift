import AppStoreFormats
import Engine
import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct AppleReportPageTests {
    /// Apple's sales file for the day of the purchase that ``DashboardServer/buy(_:transaction:)``
    /// makes.
    private static func file(units: Int64) throws -> [UInt8] {
        var row = SalesRow()
        row.sku = "pro.monthly"
        row.productType = .autoRenewable
        row.units = units
        row.customerPrice = 9_990
        row.developerProceeds = 6_993
        row.customerCurrency = "USD"
        row.proceedsCurrency = "USD"
        row.countryCode = "US"
        row.begin = AppStoreFormats.CivilDate(year: 2026, month: 11, day: 20)
        row.end = row.begin
        return try SalesReport(rows: [row]).bytes()
    }

    @Test func `without a sales file, the page says how to import one`() async throws {
        try await DashboardServer.run { server in
            let page = try await server.get("/reports")
            #expect(page.status == 200)
            #expect(page.text.contains("perennial apple-reports import"))
        }
    }

    @Test func `our sales are shown beside Apple's, and the cause of each difference is named`()
        async throws
    {
        for (units, words) in [
            (1, ["100.00 %. Nothing differs.", "equal", "USD, gross", "$9.99"]),
            (3, ["0.00 %", "without a known reason", "not heard of", "+ $19.98", "differs"]),
        ] as [(Int64, [String])] {
            try await DashboardServer.run { server in
                try await server.buy("anna", transaction: "7001")
                _ = try await server.engine.appleReports.importFile(
                    try Self.file(units: units), name: "S_D_1_20261120.txt", of: "birds")
                let pages = ["/reports", "/reports?month=2026-11", "/reports/2026-11/sales"]
                for path in pages {
                    let page = try await server.get(path)
                    let text = page.text.replacing("\u{A0}", with: " ")
                    for word in words + ["November 2026", "S_D_1_20261120.txt", "no file"] {
                        #expect(text.contains(word), "\(path), \(units): \(word)")
                    }
                }
            }
        }
    }

    @Test func `the page of a report says which numbers are not compared`() async throws {
        try await DashboardServer.run { server in
            _ = try await server.engine.appleReports.importFile(
                try Self.file(units: 1), name: "S_D_1_20261120.txt", of: "birds")
            for (path, words) in [
                ("/reports/2026-10/sales", "No sales file of October 2026 was imported."),
                ("/reports/2026-11/subscriber", "Only sales are compared."),
                ("/reports?environment=sandbox", "no purchase of the sandbox"),
            ] {
                let page = try await server.get(path)
                #expect(page.text.contains(words), "\(path)")
            }
            for (path, status) in [
                ("/reports/2026-13/sales", 400), ("/reports/x/sales", 400),
                ("/reports/2026-11/moon", 404), ("/reports?report=moon", 404),
            ] {
                #expect(try await server.get(path).status == status, "\(path)")
            }
        }
    }
}
