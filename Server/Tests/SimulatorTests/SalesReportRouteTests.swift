import AppStoreFormats
import Eventually
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Simulator

/// Apple's paths for reports: their responses and refusals.
@Suite struct SalesReportRouteTests {
    private static let sales = [
        ("frequency", "DAILY"), ("reportDate", "2026-01-10"), ("reportSubType", "SUMMARY"),
        ("reportType", "SALES"), ("vendorNumber", "80000001"), ("version", "1_0"),
    ]

    private static func call(
        _ endpoint: ReportCall.Endpoint = .sales, _ filters: [(String, String)]
    ) throws -> ReportCall {
        var token = Token()
        token.claims["bid"] = nil
        return ReportCall(
            endpoint: endpoint, query: filters.map { ("filter[\($0.0)]", $0.1) },
            authorization: "Bearer " + (try token.signed()),
            arrived: AppStoreDate(milliseconds: Token.arrival * 1000))
    }

    private static func changed(_ name: String, _ value: String?) -> [(String, String)] {
        sales.compactMap { $0.0 == name ? value.map { (name, $0) } : $0 }
            + (sales.contains { $0.0 == name } ? [] : [(name, value ?? "")])
    }

    private func stage(days: Int = 2) async throws -> Stage {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        if days > 0 { try await stage.advance("P\(days)D") }
        return stage
    }

    // MARK: - Files

    @Test(arguments: [("filter[", "]"), ("filter%5B", "%5D")])
    func `a report is sent as a gzip file that every tool can read`(
        opening: String, closing: String
    ) async throws {
        let stage = try await stage()
        let path =
            "/v1/salesReports?"
            + Self.sales.map { "\(opening)\($0.0)\(closing)=\($0.1)" }.joined(separator: "&")
        let token = try APIKey.wellKnownToken(for: nil, at: .machineNow, seconds: 1200)
        let app = Application(router: stage.simulator.router())
        try await app.test(.router) { client in
            try await client.execute(
                uri: path, method: .get, headers: [.authorization: "Bearer \(token)"]
            ) { response in
                #expect(response.status == .ok)
                #expect(response.headers[.contentType] == "application/a-gzip")
                let bytes = try Self.unzipped([UInt8](response.body.readableBytesView))
                guard case .sales(let report) = try AnySalesReport(parsing: bytes) else {
                    Issue.record("no sales report")
                    return
                }
                #expect(report.rows.map(\.proceeds) == [6993])
            }
            try await client.execute(uri: path, method: .get) { response in
                #expect(response.status == .unauthorized)
                #expect(response.headers[.contentType] == "application/json")
            }
        }
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 200_000])
    func `a file of any length is the same after compression and decompression`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        #expect(try Self.unzipped(Gzip.file(of: bytes)) == bytes)
    }

    /// Returns the file as gzip itself decompresses it, which checks the lengths and the checksum.
    static func unzipped(_ file: [UInt8]) throws -> [UInt8] {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".gz")
        try Data(file).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "gzip -dc \"$0\"", path.path]
        let (status, bytes) = try process.output()
        #expect(status == 0)
        return [UInt8](bytes)
    }

    @Test(arguments: [
        ("SALES", "SUMMARY", "1_0"), ("SUBSCRIPTION", "SUMMARY", "1_4"),
        ("SUBSCRIPTION_EVENT", "SUMMARY", "1_3"), ("SUBSCRIBER", "DETAILED", "1_3"),
    ])
    func `each downloaded report can be parsed`(
        type: String, subtype: String, version: String
    ) async throws {
        let stage = try await stage()
        let call = try Self.call(
            .sales,
            [
                ("frequency", "DAILY"), ("reportDate", "2026-01-10"), ("reportSubType", subtype),
                ("reportType", type), ("vendorNumber", "80000001"), ("version", version),
            ])
        let file = try await stage.simulator.report(call).get()
        let report = try AnySalesReport(parsing: Self.unzipped(file))
        #expect(report.kind.rawValue == type && report.version.description == version)
    }

    @Test(arguments: [
        ("DAILY", "2026-01-10", "2026-01-10", "2026-01-10"),
        ("WEEKLY", "2026-01-11", "2026-01-05", "2026-01-11"),
        ("MONTHLY", "2026-01", "2026-01-01", "2026-01-31"),
        ("YEARLY", "2026", "2026-01-01", "2026-12-31"),
    ])
    func `a report of any frequency names its days`(
        frequency: String, date: String, first: String, last: String
    ) async throws {
        let stage = try Stage()
        try await stage.buy("guide")
        try await stage.advance("P1Y")
        try await stage.advance("P10D")
        if frequency == "DAILY" || frequency == "WEEKLY" {
            // Apple keeps these reports for a year.
            let call = try Self.call(.sales, Self.dated(frequency, date))
            #expect(await stage.simulator.report(call) == .failure(.noLongerAvailable))
            return
        }
        let file = try await stage.simulator.report(
            Self.call(.sales, Self.dated(frequency, date))
        ).get()
        let report = try SalesReport<SalesRow>(parsing: Self.unzipped(file))
        #expect(report.rows.map(\.begin) == [try CivilDate(test: first)])
        #expect(report.rows.map(\.end) == [try CivilDate(test: last)])
    }

    private static func dated(_ frequency: String, _ date: String) -> [(String, String)] {
        sales.map { $0.0 == "frequency" ? ($0.0, frequency) : $0 }
            .map { $0.0 == "reportDate" ? ($0.0, date) : $0 }
    }

    @Test func `a request without a day gets the latest report`() async throws {
        let stage = try await stage(days: 1)
        let file = try await stage.simulator.report(
            Self.call(.sales, Self.sales.filter { $0.0 != "reportDate" })
        ).get()
        let report = try SalesReport<SalesRow>(parsing: Self.unzipped(file))
        #expect(report.rows.first?.begin == (try CivilDate(test: "2026-01-10")))
    }

    // MARK: - Refusals

    private static let noSales = ConnectError.noSales.detail
    private static let refusals: [(String, String?, Int, String)] = [
        ("version", "1_1", 400, "The latest version for this report is 1_0."),
        ("reportType", "SUBSCRIPTION", 400, "The latest version for this report is 1_4."),
        ("reportType", "SUBSCRIPTION_EVENT", 400, "The latest version for this report is 1_3."),
        ("reportType", "PETS", 400, "SALES"), ("reportType", nil, 400, "required"),
        ("reportType", "INSTALLS", 404, noSales), ("reportSubType", "DETAILED", 400, "sub type"),
        ("vendorNumber", "80000002", 400, "vendor number"), ("vendorNumber", nil, 400, "required"),
        ("frequency", "HOURLY", 400, "DAILY"), ("frequency", "WEEKLY", 400, "not a Sunday"),
        ("reportDate", "2026-02-30", 400, "2026-02-30"), ("reportDate", "2026-01", 400, "DAILY"),
        ("reportDate", "2026-01-09", 404, noSales),
        ("reportDate", "2026-01-12", 404, "not available yet"),
        ("reportDate", "2024-12-31", 410, "no longer available"),
        ("limit", "10", 400, "can not be used"),
    ]

    @Test(arguments: refusals.indices)
    func `an invalid request for a report is refused as Apple refuses it`(index: Int) async throws {
        let (name, value, status, detail) = Self.refusals[index]
        let stage = try await stage()
        let call = try Self.call(.sales, Self.changed(name, value))
        let error = await #expect(throws: ConnectError.self) {
            try await stage.simulator.report(call).get()
        }
        #expect(
            error?.status == status && error?.detail.contains(detail) == true, "\(error as Any)")
        let json = error?.json["errors"]?.array?.first
        #expect(json?["status"]?.string == String(status))
        let code = ["400": "PARAMETER_ERROR", "404": "NOT_FOUND", "410": "GONE"][String(status)]
        #expect(json?["code"]?.string?.hasPrefix(code ?? "?") == true)
        let entry = await stage.simulator.log.last { $0["what"] == "call" }
        #expect(entry?["status"] == .integer(Int64(status)))
    }

    @Test func `a request for a subscription report without a version is refused`() async throws {
        let stage = try await stage()
        let filters = Self.changed("reportType", "SUBSCRIPTION").filter { $0.0 != "version" }
        let call = try Self.call(.sales, filters)
        let error = await #expect(throws: ConnectError.self) {
            try await stage.simulator.report(call).get()
        }
        #expect(error?.parameter == "filter[version]")
        let plain = try Self.call(.sales, Self.sales.filter { $0.0 != "version" })
        _ = try await stage.simulator.report(plain).get()
    }

    @Test func `a report appears at eight in the morning of the next day`() async throws {
        let stage = try await stage(days: 0)
        let call = try Self.call(.sales, Self.sales)
        try await stage.advance(to: "2026-01-11T15:59:59.999Z")
        #expect(await stage.simulator.report(call) == .failure(.notYetAvailable))
        try await stage.advance(to: "2026-01-11T16:00:00Z")
        _ = try await stage.simulator.report(call).get()
    }

    private static let tokens: [(String, @Sendable (inout Token) -> Void)] = [
        ("No key has the id", { $0.header["kid"] = "OTHER" }),
        ("iss", { $0.claims["iss"] = "somebody" }), ("aud", { $0.claims["aud"] = "appstore" }),
        ("1200 s", { $0.claims["exp"] = .integer(Token.arrival + 1201) }),
        ("expired", { $0 = Token(at: Token.arrival - 7200) }),
    ]

    @Test(arguments: tokens.indices)
    func `a token of another kind is refused, and the log says why`(index: Int) async throws {
        let stage = try await stage()
        let (reason, change) = Self.tokens[index]
        var token = Token()
        change(&token)
        var call = try Self.call(.sales, Self.sales)
        call.authorization = "Bearer " + (try token.signed())
        #expect(await stage.simulator.report(call) == .failure(.unauthorized))
        let entry = await stage.simulator.log.last { $0["what"] == "refused_token" }
        #expect(entry?["reason"]?.string?.contains(reason) == true)
    }

    @Test func `a client that does not accept gzip is refused`() async throws {
        let stage = try await stage()
        var call = try Self.call(.sales, Self.sales)
        call.accept = "application/json"
        #expect(await stage.simulator.report(call) == .failure(.notAcceptable))
        call.accept = "application/a-gzip"
        _ = try await stage.simulator.report(call).get()
    }

    // MARK: - Financial

    private static func finance(_ month: String, _ region: String) throws -> ReportCall {
        try call(
            .finance,
            [
                ("regionCode", region), ("reportDate", month), ("reportType", "FINANCIAL"),
                ("vendorNumber", "80000001"),
            ])
    }

    @Test func `a financial report has the sales of a region and fiscal month`() async throws {
        let stage = try await stage()
        for (name, country) in [("ben", "DEU"), ("cleo", "FRA"), ("dora", "ARG")] {
            try await stage.simulator.addDevice(account: name, storefront: country)
            try await stage.buy("guide", on: "\(name)-1")
        }
        try await stage.advance("P2M")
        // From 28 December to 31 January: the fourth fiscal month.
        for (region, countries) in [
            ("US", ["US"]), ("EU", ["DE", "FR"]), ("LL", ["AR"]), ("ZZ", ["AR", "DE", "FR", "US"]),
        ] {
            let file = try await stage.simulator.report(Self.finance("2026-04", region)).get()
            let report = try SalesReport<FinancialRow>(parsing: Self.unzipped(file))
            #expect(report.rows.map(\.countryOfSale).sorted() == countries)
            #expect(report.rows.allSatisfy { $0.quantity == 1 && $0.direction == .sale })
        }
        // Amounts of several currencies have no sum, so the file of all regions consists of the
        // files of countries.
        let all = try await stage.simulator.report(Self.finance("2026-04", "ZZ")).get()
        let lines = String(decoding: try Self.unzipped(all), as: UTF8.self).split(separator: "\n")
        #expect(
            lines.suffix(6) == [
                "Total_Rows\t4",
                "Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share",
                "DE\tEUR\t1\t17.493", "FR\tEUR\t1\t17.493", "AR\tUSD\t1\t17.493",
                "US\tUSD\t1\t6.993",
            ])
        for (month, region) in [("2026-04", "JP"), ("2026-06", "US"), ("2025-04", "US")] {
            let call = try Self.finance(month, region)
            #expect(await stage.simulator.report(call) == .failure(.noSales))
        }
    }

    @Test func `a financial report lists a refund as a separate row with the direction return`()
        async throws
    {
        let stage = try await stage()
        let id = try await stage.truth().originalTransactionID
        try await stage.simulator.change(id, .refund(RefundOrder(.prorated(50_000))))
        try await stage.advance("P2M")
        let file = try await stage.simulator.report(Self.finance("2026-04", "US")).get()
        let rows = try SalesReport<FinancialRow>(parsing: Self.unzipped(file)).rows
        #expect(rows.map(\.direction) == [.sale, .return] && rows.map(\.quantity) == [1, 0])
        #expect(rows.map(\.extendedPartnerShare) == [6993, -(6993 - 3497)])
    }

    @Test func `free units are rows without an amount in a financial report`() async throws {
        let stage = try await stage()
        try await stage.simulator.addDevice(account: "ben")
        try await stage.buy("pro.yearly", on: "ben-1")
        try await stage.advance("P2M")
        let file = try await stage.simulator.report(Self.finance("2026-04", "ZZ")).get()
        let rows = try SalesReport<FinancialRow>(parsing: Self.unzipped(file)).rows
        #expect(rows.contains { $0.vendorIdentifier == "pro.yearly" && $0.isFree })
    }

    // MARK: - Settings

    @Test func `a reset of the simulator sets the developer's agreement with Apple`() async throws {
        let stage = try Stage()
        try await stage.withClient { client in
            _ = try await client.json(
                "/_sim/reset",
                #"{"reports":{"vendor_number":"85","time_zone":"Asia/Tokyo","small_business":true,"#
                    + #""taxes":{"DEU":"19","CHE":"8.1"}}}"#)
            for body in [
                #"{"reports":{"vendor_number":"a"}}"#, #"{"reports":{"time_zone":"Moon"}}"#,
                #"{"reports":{"taxes":{"DEU":19}}}"#, #"{"reports":{"taxes":{"ZZZ":"1"}}}"#,
                #"{"reports":{"pets":1}}"#,
            ] { _ = try await client.json("/_sim/reset", body, status: 400) }
            _ = try await client.json("/_sim/report-token")
        }
        let rules = await stage.simulator.settings.reports
        #expect(rules.vendorNumber == "85" && rules.timeZone == "Asia/Tokyo")
        #expect(rules.isSmallBusiness && rules.taxes == ["DEU": 19_000, "CHE": 8100])
    }

    @Test func `each storefront has a two-letter code and a region of financial reports`() {
        #expect(Set(Storefront.all.map(\.twoLetterCountry)).count == Storefront.all.count)
        let letters = ["CHE": "CH", "SWE": "SE", "AUT": "AT", "AUS": "AU", "XKS": "XK"]
        for (country, two) in letters {
            #expect(Storefront.named(country)?.twoLetterCountry == two)
        }
        let regions = [
            "DEU": "EU", "SRB": "EU", "GBR": "GB", "USA": "US", "KEN": "WW", "ARG": "LL",
        ]
        for (country, region) in regions {
            #expect(Storefront.named(country)?.reportRegion == region)
        }
    }
}
