import Engine
import HTTPBasics
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Reports
import Storage

/// The routes of reports, and of the transactions behind a number.
struct ReportRoutes: RouteGroup {
    let server: PerennialServer

    /// The number of rows on a page of a number's transactions, if the request sets no limit.
    static let sourcesDefault = 100

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.reports, "reports", "The available reports",
                    parameters: [.profile],
                    output: .json(ReportList.self)), list),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/reports/{name}", "report", "A report about money or subscriptions",
                    description: """
                        One row for each period, currency and part. docs/money.md defines every \
                        column.
                        """,
                    parameters: OpenAPIParameter.reportQuery + [.reportFormat],
                    output: .json(PerennialContract.Report.self)), report),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/reports/{name}/transactions", "reportTransactions",
                    "The items behind a number of a report",
                    description: "The values of all pages add up to the number.",
                    parameters: OpenAPIParameter.reportQuery + [
                        .reportColumn, .reportPart, .reportFormat, .after,
                        .limit(usual: Self.sourcesDefault, most: ReportingService.reportSourcesMax),
                    ], output: .json(ReportTransactionList.self)), transactions),
        ]
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let profile = try Self.profile(request.formValue("profile"))
        let definitions = profile?.definitions ?? ReportCatalogue.all
        return try JSONResponse.ok(
            ReportList(items: definitions.map { ReportList.Definition($0) }))
    }

    @Sendable func report(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let isCSV = try Self.isCSV(request)
        let query = try Self.query(in: request, context)
        let report = PerennialContract.Report(
            try await engine.reporting.report(query, of: holder.app))
        return isCSV ? Self.csv(report) : try JSONResponse.ok(report)
    }

    @Sendable func transactions(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let isCSV = try Self.isCSV(request)
        let query = try Self.query(in: request, context)
        let limit = try RequestReader.limit(
            in: request, usual: Self.sourcesDefault, most: ReportingService.reportSourcesMax)
        let cursor = try Self.sourceCursor(
            request.formValue("after").flatMap { $0.isEmpty ? nil : $0 })
        let sources = try await engine.reporting.sources(
            query, column: request.formValue("column"), of: holder.app, after: cursor,
            limit: limit)
        let list = ReportTransactionList(sources)
        guard isCSV else { return try JSONResponse.ok(list) }
        var response = Self.csv(list.csvLines)
        if let next = list.nextCursor { response.headers[.nextCursor] = next }
        return response
    }

    static func sourceCursor(_ text: String?) throws -> SourceCursor? {
        guard let text else { return nil }
        guard let cursor = SourceCursor(text) else { throw ProblemError(.cursorUnknown) }
        return cursor
    }

    /// A report as a table, without the information about the report as a whole.
    static func csv(_ report: PerennialContract.Report) -> Response {
        var response = csv(report.csvLines)
        response.headers[.isFilling] = report.isFilling ? "true" : "false"
        response.headers[.completeUntil] = report.completeUntil?.description
        if !report.unconverted.isEmpty {
            response.headers[.unconverted] = report.unconverted.joined(separator: ", ")
        }
        return response
    }

    static func csv(_ lines: [[String]]) -> Response {
        JSONResponse.text(.init(string: CSVText.text(lines)), mediaType: "text/csv; charset=utf-8")
    }

    // MARK: - Parameters

    private static func isCSV(_ request: Request) throws -> Bool {
        switch request.formValue("format") {
        case nil, "json"?: false
        case "csv"?: true
        case let format?: throw invalid("format", format, ["json", "csv"])
        }
    }

    private static func query(
        in request: Request, _ context: ServerContext
    ) throws -> ReportQuery {
        try query(
            named: context.parameters.get("name") ?? "",
            in: try RequestReader.environment(in: request),
            request.formValue)
    }

    /// - Parameters:
    ///   - text: the value of a parameter; nil if the parameter is missing.
    ///   - days: returns the days to show, given the length of a period; by default, the days
    ///     from `from` to `to`.
    static func query(
        named name: String, in environment: Ledger.Environment, _ text: (String) -> String?,
        days: ((ReportPeriod.Length) throws -> ClosedRange<Int64>?)? = nil
    ) throws -> ReportQuery {
        var query = ReportQuery(name, in: environment)
        if let by = text("by") {
            query.length = try word(by, "by", ReportPeriod.Length.self)
        }
        query.division = try text("segment").map { try word($0, "segment", Division.self) }
        query.part = text("part")
        query.currency = text("currency")?.uppercased()
        query.asKnownAt = try text("as_known_at").map(moment)
        query.isRestated = try text("restated").map { try flag($0, "restated") } ?? false
        if let days {
            query.days = try days(query.length)
        } else if text("from") != nil || text("to") != nil {
            query.days = try Self.days(from: text("from"), to: text("to"))
        }
        query.profile = try profile(text("profile"))
        return query
    }

    private static func profile(_ text: String?) throws -> ReportProfile? {
        try text.map { try word($0, "profile", ReportProfile.self) }
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ text: String, _ parameter: String, _ type: Word.Type
    ) throws -> Word {
        guard let word = Word(rawValue: text) else {
            throw invalid(parameter, text, Word.allCases.map(\.rawValue))
        }
        return word
    }

    private static func flag(_ text: String, _ parameter: String) throws -> Bool {
        switch text {
        case "true": true
        case "false": false
        default: throw invalid(parameter, text, ["true", "false"])
        }
    }

    private static func invalid(
        _ parameter: String, _ text: String, _ known: [String]
    ) -> ProblemError {
        ProblemError(
            .reportNotValid,
            detail: "\(parameter) is \(EngineFailure.quoted(text)), and must be one of "
                + "\(known.joined(separator: ", ")).")
    }

    private static func moment(_ text: String) throws -> Instant {
        // Accepts an offset whose plus sign is not encoded, although such a sign means a space.
        guard let time = Timestamp(text.replacing(" ", with: "+")) else {
            throw ProblemError(
                .reportNotValid,
                detail: "as_known_at is \(EngineFailure.quoted(text)), and must be a time such as "
                    + "2026-11-21T08:30:00Z.")
        }
        return Instant(milliseconds: time.milliseconds)
    }

    static func days(from: String?, to: String?) throws -> ClosedRange<Int64> {
        guard let from, let to, let first = CivilDate(from), let last = CivilDate(to),
            first.dayNumber <= last.dayNumber
        else {
            throw ProblemError(
                .reportNotValid,
                detail: "from and to must both be days such as 2026-11-21, and from not after to.")
        }
        return first.dayNumber...last.dayNumber
    }
}

extension HTTPField.Name {
    /// The cursor of the next page, for which a CSV table has no place.
    fileprivate static let nextCursor = wellFormed("Next-Cursor")
    /// Correspond to `is_filling`, `complete_until` and `unconverted` of a report in JSON.
    fileprivate static let isFilling = wellFormed("Perennial-Is-Filling")
    fileprivate static let completeUntil = wellFormed("Perennial-Complete-Until")
    fileprivate static let unconverted = wellFormed("Perennial-Unconverted")
}

extension Request {
    /// The value of a parameter of the query. Decodes it as browsers and many libraries encode it:
    /// `+` is a space.
    fileprivate func formValue(_ name: String) -> String? {
        let query = (uri.query ?? "").replacing("+", with: "%20")
        return type(of: uri).init("/?" + query).queryParameters[Substring(name)].map(String.init)
    }
}

extension OpenAPIParameter {
    fileprivate static let reportQuery = [
        OpenAPIParameter(
            name: "from", description: "The first day, such as 2026-01-01. Needs to."),
        OpenAPIParameter(
            name: "to",
            description: "The last day. Without from and to: the last twelve periods."),
        OpenAPIParameter(
            name: "by", description: "The length of a period.",
            schema: [
                "enum": .list(ReportPeriod.Length.allCases.map { .text($0.rawValue) }),
                "default": "month",
            ]),
        OpenAPIParameter(
            name: "segment", description: "The property by which the rows are divided.",
            schema: ["enum": .list(Division.allCases.map { .text($0.rawValue) })]),
        OpenAPIParameter(
            name: "currency",
            description: """
                Convert amounts to this currency, at the configured rates. For the items \
                behind a number: list only items in this currency.
                """),
        OpenAPIParameter(
            name: "as_known_at",
            description: "Show the report as it was at this time, from what was known then."),
        OpenAPIParameter(
            name: "restated",
            description: """
                true: leave out refunds that were reversed, as if they had never been given. \
                Otherwise a refund counts on its day, and a reversal on its own day.
                """,
            schema: ["enum": ["true", "false"], "default": "false"]),
        .profile, .environment,
    ]

    fileprivate static let profile = OpenAPIParameter(
        name: "profile",
        description: """
            Count by the public definitions of this vendor. Perennial's own columns are added, \
            with the prefix perennial_.
            """,
        schema: ["enum": .list(ReportProfile.allCases.map { .text($0.rawValue) })])

    fileprivate static let reportFormat = OpenAPIParameter(
        name: "format", description: "json or csv.",
        schema: ["enum": ["json", "csv"], "default": "json"])

    fileprivate static let reportColumn = OpenAPIParameter(
        name: "column",
        description: "The column of the number. Default: the first column that has items.")

    fileprivate static let reportPart = OpenAPIParameter(
        name: "part", description: "Only this part of the segment. Needs segment.")
}
