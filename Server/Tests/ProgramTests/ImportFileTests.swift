import Engine
import Foundation
import Ledger
import Testing

@testable import Program

@Suite struct ImportFileTests {
    private static func rows(
        _ text: String, _ shape: RowReader.Shape = .separated(by: UInt8(ascii: ",")),
        chunk: Int = 7
    ) -> [RowReader.Row] {
        var reader = RowReader(shape)
        var rows: [RowReader.Row] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            rows += reader.add(rest.prefix(chunk))
            rest = rest.dropFirst(chunk)
        }
        return rows + (reader.finish().map { [$0] } ?? [])
    }

    /// A file, its rows, and the line on which each row begins.
    static let files: [(text: String, rows: [[String]], lines: [Int64])] = [
        ("a,b\nc,d\n", [["a", "b"], ["c", "d"]], [1, 2]),
        ("a,b\r\nc,d", [["a", "b"], ["c", "d"]], [1, 2]),
        ("\u{FEFF}a\n\n\r\nb\n", [["a"], ["b"]], [1, 4]),
        ("\"a,\"\"b\"\"\nc\",d\ne,\"\"", [["a,\"b\"\nc", "d"], ["e", ""]], [1, 3]),
        ("a\"b\",c\n,\n", [["a\"b\"", "c"], ["", ""]], [1, 2]),
        ("é,🙂", [["é", "🙂"]], [1]),
        ("", [], []),
    ]

    @Test(arguments: files.indices, [1, 2, 3, 64])
    func `import rows are read as RFC 4180 says, for any size of the chunks`(
        number: Int, chunk: Int
    ) {
        let (text, expected, lines) = Self.files[number]
        let rows = Self.rows(text, chunk: chunk)
        #expect(rows.map(\.content) == expected.map { .fields($0) })
        #expect(rows.map(\.line) == lines)
        let last = rows.last?.bytesRead ?? 0
        #expect(rows.isEmpty || last <= Int64(text.utf8.count))
    }

    @Test(arguments: files.indices)
    func `reading an import can stop after any row and continue later with the same result`(
        number: Int
    ) {
        let text = Self.files[number].text
        let all = Self.rows(text)
        for (place, row) in all.enumerated() {
            var reader = RowReader(
                .separated(by: UInt8(ascii: ",")), bytesRead: row.bytesRead,
                linesRead: row.linesRead)
            var rest = reader.add(Array(text.utf8).dropFirst(Int(row.bytesRead)))
            if let last = reader.finish() { rest.append(last) }
            #expect(rest == Array(all.dropFirst(place + 1)))
        }
    }

    @Test func `an import skips and reports a row that is too long, and reads the next row`() {
        let long = String(repeating: "x", count: RowReader.rowBytesMax + 1)
        let rows = Self.rows("a\n\(long)\nb\n", chunk: 65_536)
        #expect(rows.map(\.content) == [.fields(["a"]), .tooLong, .fields(["b"])])
        #expect(rows.map(\.line) == [1, 2, 3])
    }

    @Test func `an import reports a row that is not UTF-8, and reads the next row`() {
        var reader = RowReader(.separated(by: UInt8(ascii: ",")))
        let bytes = Array("J".utf8) + [0xFC] + Array("rgen,1\nanna,2\n".utf8)
        let rows = reader.add(bytes)
        #expect(rows.map(\.content) == [.notUTF8, .fields(["anna", "2"])])
        let json = Array("{\"customer_id\": \"J".utf8) + [0xFC] + Array("rgen\"}".utf8)
        for content in [RowReader.Content.notUTF8, .json(json)] {
            let failure = #expect(throws: UnusableRow.self) {
                try row(.receipts, first: content == .notUTF8 ? ["MIIA"] : nil, content)
            }
            #expect(failure?.reason == "not UTF-8; convert the file first")
        }
    }

    @Test(arguments: ["a,b\nc,\"d\ne,f\n", "a,b\n\"c\nd\",\"d\ne,f"], [1, 64])
    func `a quote that is never closed is reported with its line`(text: String, chunk: Int) throws {
        let rows = Self.rows(text, chunk: chunk)
        #expect(rows.first?.content == .fields(["a", "b"]))
        let last = try #require(rows.last)
        let lines = Int64(text.split(separator: "\n").count)
        #expect(rows.count == 2 && last.line == 2 && last.linesRead == lines)
        #expect(last.content == .unclosedQuote(inLine: lines - 1))
        let failure = #expect(throws: UnusableRow.self) {
            try row(.receipts, first: ["a", "MIIA"], last.content)
        }
        #expect(
            failure?.reason.hasPrefix("a quote opened in line \(lines - 1) is never closed")
                == true)
    }

    @Test(arguments: [
        ("{\"a\": 1}\n", RowReader.Shape.json), ("\u{FEFF} \n{}", .json),
        ("a,b;c,d", .separated(by: UInt8(ascii: ","))),
        ("a;b;c,d", .separated(by: UInt8(ascii: ";"))),
        ("a\tb\n,,,,", .separated(by: UInt8(ascii: "\t"))),
        ("MIIB", .separated(by: UInt8(ascii: ","))), ("", .separated(by: UInt8(ascii: ","))),
    ])
    func `the first line of an imported file shows the file's format`(
        text: String, shape: RowReader.Shape
    ) {
        #expect(RowReader.Shape(firstBytes: Array(text.utf8)) == shape)
    }

    private func row(
        _ kind: ImportKind, first: [String]?, _ content: RowReader.Content
    ) throws -> ImportRow {
        try ImportColumns(kind, first: first, in: .production).row(content)
    }

    @Test func `a receipt can be alone in a row, after its customer, or in a named column`() throws
    {
        let alone = ImportRow(customer: nil, evidence: .receipt("MIIB"))
        #expect(try row(.receipts, first: ["MIIA"], .fields([" MIIB "])) == alone)
        let annas = ImportRow(customer: "anna", evidence: .receipt("MIIB"))
        #expect(try row(.receipts, first: ["a", "MIIA"], .fields(["anna", "MIIB"])) == annas)
        let named = ["App_Receipt", "x", "customer_id"]
        #expect(try row(.receipts, first: named, .fields(["MIIB", "", "anna"])) == annas)
        let json = Array(#"{"customer_id":"anna","app_receipt":"MIIB"}"#.utf8)
        #expect(try row(.receipts, first: nil, .json(json)) == annas)
    }

    @Test func `a customer id in an imported file may be a number`() throws {
        let ours = ImportRow(customer: "7", evidence: .number("2000", in: .production))
        let json = Array(#"{"customer_id":7,"original_transaction_id":2000}"#.utf8)
        #expect(try row(.originalTransactionIDs, first: nil, .json(json)) == ours)
    }

    private static let exported = [
        "rc_original_app_user_id", "rc_last_seen_app_user_id_alias", "store", "is_sandbox",
        "original_store_transaction_id",
    ]
    private static let anonymous = "$RCAnonymousID:87c6049c"

    /// The original id, the last id, and the customer and the alias that follow from them.
    static let customers: [(original: String, last: String, customer: String, alias: String?)] = [
        ("anna", "anna", "anna", nil), (anonymous, "anna", "anna", anonymous),
        ("anna", anonymous, "anna", anonymous), ("a1", "a2", "a2", "a1"),
        (anonymous, anonymous, anonymous, nil), ("anna", "", "anna", nil),
    ]

    @Test(arguments: customers.indices)
    func `if RevenueCat's file has two ids for a customer, the app's own id is used`(number: Int)
        throws
    {
        let expected = Self.customers[number]
        let found = try row(
            .revenueCat, first: Self.exported,
            .fields([expected.original, expected.last, "app_store", "false", "2000"]))
        #expect(found.customer?.rawValue == expected.customer)
        #expect(found.alias?.rawValue == expected.alias)
        #expect(found.evidence == .number("2000", in: .production))
    }

    @Test func `sandbox rows stay in the sandbox, and rows of other stores are reported`() throws {
        let sandbox = try row(
            .revenueCat, first: Self.exported, .fields(["a", "a", "mac_app_store", "true", "1"]))
        #expect(sandbox.evidence == .number("1", in: .sandbox))
        let failure = #expect(throws: UnusableRow.self) {
            try row(
                .revenueCat, first: Self.exported, .fields(["a", "a", "play_store", "f", "GPA"]))
        }
        #expect(failure?.reason.contains("play_store") == true)
    }

    @Test func `a file without a required column is refused immediately`() {
        for (kind, first) in [
            (ImportKind.revenueCat, ["a", "b"]), (.receipts, ["a", "b", "c"]),
            (.originalTransactionIDs, ["a", "b", "c"]),
        ] {
            #expect(throws: UnusableRow.self) {
                try ImportColumns(kind, first: first, in: .production)
            }
        }
    }

    /// The first line of a file, and whether it names columns but has none for customers.
    static let headers: [(kind: ImportKind, first: [String], lacksCustomers: Bool)] = [
        (.receipts, ["user", "app_receipt"], true), (.receipts, ["app_receipt"], false),
        (.receipts, ["Customer_ID", "app_receipt"], false), (.receipts, ["anna", "MIIA"], false),
        (.originalTransactionIDs, ["original_transaction_id", "customer"], true),
        (.revenueCat, exported, false),
        (.revenueCat, ["store", "original_store_transaction_id"], true),
    ]

    @Test(arguments: headers.indices)
    func `a header with several columns but no customer column is reported`(number: Int) throws {
        let (kind, first, lacksCustomers) = Self.headers[number]
        let columns = try ImportColumns(kind, first: first, in: .production)
        #expect(columns.namesWithoutCustomer == (lacksCustomers ? first : []))
    }

    @Test func `a file without customers is refused unless a flag allows it`() async throws {
        let output = try await BuiltProgram.output(
            of: """
                echo 'apps: {birds: {bundle_id: com.example.birds}}' >perennial.yaml
                "$perennial" keys create --kind app >/dev/null 2>&1
                printf 'user,app_receipt\\nanna,MIIB\\n' >receipts.csv
                "$perennial" import receipts receipts.csv 2>&1 || true
                "$perennial" import receipts receipts.csv --without-customers --dry-run 2>&1
                printf 'customer_id,original_transaction_id\\nanna,1\\n' >ids.csv
                "$perennial" import original-transaction-ids ids.csv --dry-run 2>&1 || true
                """)
        let expected = [
            "has no column customer_id. It has: user, app_receipt.", "--without-customers",
            "2 lines, 0 rows could be used, 1 not: ", "which is needed to look up transaction ids",
        ]
        for part in expected { #expect(output.contains(part), "\(output)") }
    }

    @Test
    func `if an import continues, its report keeps only imported rows, with quoted cells`()
        throws
    {
        let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: url) }
        var first = try ImportReport(url: url, keeping: 0)
        try first.add([(2, "anna", "no, \"this\"")])
        let kept = first.bytes
        try first.add([(3, nil, "lost")])
        try first.close()
        var again = try ImportReport(url: url, keeping: kept)
        try again.add([(4, "a,b", "late"), (5, "=1+1", "a;=1+1")])
        try again.close()
        let text = try String(contentsOf: url, encoding: .utf8)
        #expect(
            text == "line,customer_id,reason\n2,anna,\"no, \"\"this\"\"\"\n4,\"a,b\",late\n"
                + "5,'=1+1,\"a;'=1+1\"\n")
    }

    @Test(arguments: ["customer_id,app_receipt\nanna,MIIB\n", "x"])
    func `an import report never overwrites a file that is not a report`(text: String) async throws
    {
        try await TemporaryFolder.with { folder in
            let url = URL(fileURLWithPath: folder + "/receipts.csv")
            try Data(text.utf8).write(to: url)
            let failure = #expect(throws: StartFailure.self) {
                try ImportReport(url: url, keeping: 0)
            }
            #expect(failure?.remedy.contains("--report") == true)
            #expect(FileManager.default.contents(atPath: url.path) == Data(text.utf8))
        }
    }

    @Test func `an import report never overwrites the file that is imported`() async throws {
        let app = AppConfiguration(
            settings: AppSettings(id: "rage", bundleID: "com.example.rage", entitlements: [:]),
            extraRoots: [])
        try await TemporaryFolder.with { folder in
            let assembly = try await Assembly(
                apps: [app], databaseAddress: folder + "/p.sqlite", now: { .machine },
                logger: .quiet)
            defer { assembly.database.close() }
            // The imported file has the same columns as a report.
            let text = Data("line,customer_id,reason\n1,anna,none\n".utf8)
            let (file, link) = (folder + "/receipts.csv", folder + "/report.csv")
            try text.write(to: URL(fileURLWithPath: file))
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            for report in [file, link] {
                let run = ImportRun(
                    engine: assembly.engine, app: "rage", kind: .receipts,
                    file: URL(fileURLWithPath: file), report: URL(fileURLWithPath: report))
                let failure = await #expect(throws: StartFailure.self) { try await run.run() }
                #expect(failure?.message.contains("is the import file itself") == true)
                #expect(FileManager.default.contents(atPath: file) == text)
            }
        }
    }
}
