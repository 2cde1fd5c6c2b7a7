import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Reports
import Testing

@testable import HTTPServer

/// Reports as CSV, and the queries that ask for them.
@Suite struct ReportTextTests {
    private static let secret: HTTPFields = [.authorization: "Bearer \(TestServer.secret)"]

    private static func header(
        _ name: String, of answer: TestServer.Answer
    ) throws -> String? {
        answer.headers[try #require(HTTPField.Name(name))]
    }

    @Test func `headers of CSV say what JSON says: unfinished rows, and what is not converted`()
        async throws
    {
        let rates = ExchangeRates(base: "EUR", rates: [1: ["USD": 1_000_000]])
        let change: (inout AppSettings) -> Void = { $0.money.rates = rates }
        try await DashboardServer.run(with: change) { server in
            try await server.buy("anna", transaction: "7001")
            for isFilling in [true, false] {
                while !isFilling, try await server.engine.fillMoney() > 0 {}
                for (query, unconverted) in [("", nil), ("&currency=EUR", "USD")] {
                    let path = "/v1/reports/revenue?by=month\(query)"
                    let json: PerennialContract.Report = try await server.api(path)
                    #expect(json.isFilling == isFilling)
                    #expect(json.unconverted == [unconverted].compactMap(\.self))
                    for path in [path, "/charts/revenue?by=month\(query)"] {
                        let csv = try await server.get(path + "&format=csv", headers: Self.secret)
                        #expect(csv.text.hasPrefix("from,to,"), "\(path)")
                        #expect(
                            try Self.header("Perennial-Is-Filling", of: csv) == "\(isFilling)")
                        #expect(
                            try Self.header("Perennial-Unconverted", of: csv) == unconverted,
                            "\(path)")
                    }
                }
            }
        }
    }

    @Test func `a plus is a space in a query, as forms encode it`() async throws {
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
            // The sign of an offset may still be written as it is.
            for time in ["2026-11-21T08:30:00+01:00", "2026-11-21T08:30:00%2B01:00"] {
                let report: PerennialContract.Report = try await server.api(
                    "/v1/reports/revenue?as_known_at=\(time)")
                #expect(report.asKnownAt?.description == "2026-11-21T07:30:00.000Z")
            }
        }
    }

    @Test func `a part without a segment is refused`() async throws {
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

    @Test
    func `an apostrophe keeps spreadsheets from running a text, and programs get it as it is`() {
        let row = ["-NqK3abc", "@x", "=1+1", "+49", "-5.25", "plain", "a\"b,c"]
        #expect(
            CSVText.text([row]) == "'-NqK3abc,'@x,'=1+1,+49,-5.25,plain,\"a\"\"b,c\"\n")
        #expect(
            CSVText.text([row], for: .program)
                == "-NqK3abc,@x,=1+1,+49,-5.25,plain,\"a\"\"b,c\"\n")
    }

    /// A spreadsheet keeps 15 digits, and writes the rest as zeros.
    @Test func `a spreadsheet gets an id of 16 digits whole`() {
        let row = ["2000000811204417", "200000081120441", "9990.00"]
        #expect(CSVText.text([row]) == "'2000000811204417,200000081120441,9990.00\n")
        #expect(
            CSVText.text([row], for: .program)
                == "2000000811204417,200000081120441,9990.00\n")
    }
}
