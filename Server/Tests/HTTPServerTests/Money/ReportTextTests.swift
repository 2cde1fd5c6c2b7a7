import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Reports
import Testing

@testable import HTTPServer

/// Reports as CSV, and the queries of reports.
@Suite struct ReportTextTests {
    private static let secret: HTTPFields = [.authorization: "Bearer \(TestServer.secret)"]

    private static func header(
        _ name: String, of answer: TestServer.Answer
    ) throws -> String? {
        answer.headers[try #require(HTTPField.Name(name))]
    }

    @Test
    func `headers of a CSV report say if numbers are incomplete, and name unconverted currencies`()
        async throws
    {
        let rates = ExchangeRates(base: "EUR", rates: [1: ["USD": 1_000_000]])
        let change: (inout AppSettings) -> Void = { $0.money.rates = rates }
        try await DashboardServer.run(with: change) { server in
            try await server.buy("anna", transaction: "7001")
            for isFilling in [true, false] {
                while !isFilling, try await server.engine.reporting.fillMoney() > 0 {}
                for (query, unconverted) in [("", nil), ("&currency=EUR", "USD")] {
                    let path = "/v1/reports/revenue?by=month\(query)"
                    let json: PerennialContract.Report = try await server.api(path)
                    #expect(json.isFilling == isFilling)
                    #expect((json.completeUntil == nil) == isFilling)
                    #expect(!isFilling || json.rows.allSatisfy(\.isIncomplete))
                    #expect(isFilling || json.rows.first?.isIncomplete == false)
                    #expect(json.unconverted == [unconverted].compactMap(\.self))
                    for path in [path, "/charts/revenue?by=month\(query)"] {
                        let csv = try await server.get(path + "&format=csv", headers: Self.secret)
                        #expect(csv.text.hasPrefix("from,to,"), "\(path)")
                        #expect(
                            try Self.header("Perennial-Is-Filling", of: csv) == "\(isFilling)")
                        let until = try Self.header("Perennial-Complete-Until", of: csv)
                        #expect((until == nil) == isFilling)
                        #expect(
                            try Self.header("Perennial-Unconverted", of: csv) == unconverted,
                            "\(path)")
                    }
                }
            }
        }
    }

    @Test func `a plus sign in a query is read as a space, as HTML forms encode spaces`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            for part in ["9990+USD", "9990%20USD"] {
                let list: ReportTransactionList = try await server.api(
                    "/v1/reports/revenue/transactions?segment=price&part=\(part)")
                #expect(list.items.map(\.value) == ["9.99"], "\(part)")
            }
            let other: ReportTransactionList = try await server.api(
                "/v1/reports/revenue/transactions?segment=price&part=9990%2BUSD")
            #expect(other.items.isEmpty)
            // The plus in a time zone is accepted whether or not it is percent-encoded.
            for time in ["2026-11-21T08:30:00+01:00", "2026-11-21T08:30:00%2B01:00"] {
                let report: PerennialContract.Report = try await server.api(
                    "/v1/reports/revenue?as_known_at=\(time)")
                #expect(report.asKnownAt?.description == "2026-11-21T07:30:00.000Z")
            }
        }
    }

    @Test func `a report query with a part but without a segment is refused`() async throws {
        try await DashboardServer.run { server in
            for path in ["", "part=", "part=pro.monthly&by=year"] {
                let answer = try await server.get(
                    "/v1/reports/revenue/transactions?\(path)", headers: Self.secret)
                #expect(answer.status == (path.isEmpty ? 200 : 400), "\(path)")
                guard !path.isEmpty else { continue }
                let problem = try answer.problem
                #expect(problem.code == .reportNotValid)
                #expect(problem.detail?.contains("needs segment") == true)
            }
        }
    }

    /// Splits a line as a spreadsheet does that separates cells at this character. A quotation mark
    /// counts only at the start of a cell, after any blanks.
    private static func cells(of csv: String, dividedAt divider: Character) -> [String] {
        var cells: [String] = [""]
        var isQuoted = false
        for character in csv {
            let isBlank = cells[cells.count - 1].allSatisfy { $0 == " " }
            if character == "\"" && (isQuoted || isBlank) {
                isQuoted.toggle()
            } else if !isQuoted && (character == divider || character.isNewline) {
                cells.append("")
            } else {
                cells[cells.count - 1].append(character)
            }
        }
        return cells
    }

    @Test(
        arguments: [
            "=1+1", "a;=1+1", "a; =1+1", "a;\"=1+1\"", "a;b;+1+1", "a\n=1+1", "a\t=1+1", "\"=1+1",
            " =1+1", ";=1+1", "a;@SUM(1)", "a;-1+1", "a;\u{FF1D}1+1", "a;\r\n;=1", "-inf", "+nan",
            "a;\"\";=1", "=\"a;b\"",
        ])
    func `no cell of a CSV report begins with a formula, with any separator`(
        text: String
    ) {
        let csv = CSVText.text([["one", text, "three"], [text, "5", "-5.25"]])
        for divider in [",", ";", "\t"] as [Character] {
            for cell in Self.cells(of: csv, dividedAt: divider) {
                let first = cell.first { $0 != " " && $0 != "\"" } ?? "."
                #expect(!"=+-@\u{FF1D}".contains(first) || cell == "-5.25", "\(cell)")
            }
        }
        #expect(Self.cells(of: csv, dividedAt: ",").count == 7)
    }

    @Test
    func `spreadsheets get an apostrophe before a formula, and programs get the plain text`() {
        let row = ["-NqK3abc", "@x", "=1+1", "+49", "-5.25", "plain", "a\"b,c"]
        #expect(
            CSVText.text([row]) == "'-NqK3abc,'@x,'=1+1,+49,-5.25,plain,\"a\"\"b,c\"\n")
        #expect(
            CSVText.text([row], for: .program)
                == "-NqK3abc,@x,=1+1,+49,-5.25,plain,\"a\"\"b,c\"\n")
    }

    /// A spreadsheet keeps 15 digits of a number and replaces the others by zeros.
    @Test func `a spreadsheet gets all digits of an id with 16 digits`() {
        let row = ["2000000811204417", "200000081120441", "9990.00"]
        #expect(CSVText.text([row]) == "'2000000811204417,200000081120441,9990.00\n")
        #expect(
            CSVText.text([row], for: .program)
                == "2000000811204417,200000081120441,9990.00\n")
    }
}
