import Engine
import Ledger
import PerennialContract
import Reports
import Storage

extension PerennialContract.Report {
    /// Converts a computed report to the contract's form.
    package init(_ result: ReportResult) {
        let definition = result.report.definition
        let first = result.periods.first?.days.lowerBound ?? result.today
        let last = (result.periods.last?.days.upperBound ?? result.today + 1) - 1
        let query = result.query
        self.init(
            id: definition.id, name: definition.name, version: definition.version,
            profile: definition.profile?.rawValue, title: definition.title,
            sentence: definition.sentence, environment: StoreEnvironment(query.environment),
            from: CivilDate(dayNumber: first).text, to: CivilDate(dayNumber: last).text,
            by: query.length.rawValue, timeZone: result.clock.name,
            segment: query.division?.rawValue, currency: query.currency,
            ratesFrom: result.report.rateDays.map { CivilDate(dayNumber: $0.lowerBound).text },
            ratesTo: result.report.rateDays.map { CivilDate(dayNumber: $0.upperBound).text },
            unconverted: result.report.unconverted,
            asKnownAt: query.asKnownAt.map { Timestamp($0) },
            isRestated: query.isRestated, isFilling: result.isFilling,
            completeUntil: result.completeUntil.map { Timestamp($0) },
            columns: definition.columns.map { Column($0) },
            rows: result.report.rows.map { Row($0, of: result) })
    }

    /// The rows as lines of a table. The first line has the names of the columns.
    package var csvLines: [[String]] {
        [["from", "to", "is_incomplete", "currency", "part"] + columns.map(\.name)]
            + rows.map { row in
                [
                    row.from, row.to, row.isIncomplete ? "true" : "false", row.currency ?? "",
                    row.part ?? "",
                ] + row.values
            }
    }
}

extension PerennialContract.Report.Column {
    init(_ column: ReportDefinition.Column) {
        self.init(
            name: column.name, unit: column.unit.rawValue, sentence: column.sentence,
            opens: column.source != .computed)
    }
}

extension PerennialContract.Report.Row {
    fileprivate init(_ row: Reports.Report.Row, of result: ReportResult) {
        self.init(
            from: CivilDate(dayNumber: row.period.days.lowerBound).text,
            to: CivilDate(dayNumber: row.period.days.upperBound - 1).text,
            isIncomplete: result.isIncomplete(row.period), currency: row.currency,
            part: row.part, values: row.values.map { $0.text(in: row.currency) })
    }
}

extension ReportList.Definition {
    init(_ definition: ReportDefinition) {
        self.init(
            id: definition.id, name: definition.name, version: definition.version,
            profile: definition.profile?.rawValue, title: definition.title,
            sentence: definition.sentence,
            columns: definition.columns.map { PerennialContract.Report.Column($0) })
    }
}

extension ReportTransactionList {
    package init(_ sources: ReportSources) {
        self.init(
            column: sources.column.name,
            items: sources.movements.map { Source($0, sources.column) },
            nextCursor: sources.next?.text)
    }

    /// The items as lines of a table. The first line has the names of the columns.
    package var csvLines: [[String]] {
        [
            [
                "at", "kind", "customer_id", "original_transaction_id", "transaction_id",
                "product_id", "currency", "value", "document_ids",
            ]
        ]
            + items.map { item in
                [
                    item.at.description, item.kind ?? "", item.customerID ?? "",
                    item.originalTransactionID, item.transactionID ?? "", item.productID ?? "",
                    item.currency ?? "", item.value, item.documentIDs.joined(separator: " "),
                ]
            }
    }
}

extension ReportTransactionList.Source {
    fileprivate init(_ source: ReportSource, _ column: ReportDefinition.Column) {
        self.init(
            at: Timestamp(source.at), kind: source.kind?.rawValue,
            customerID: source.customer?.rawValue,
            originalTransactionID: source.purchase.original.rawValue,
            transactionID: source.transaction?.rawValue, productID: source.product?.rawValue,
            currency: source.currency,
            value: column.value(of: source.totals, kind: source.kind).text(in: source.currency),
            documentIDs: source.documents.map { DocumentID(bytes: $0).rawValue })
    }
}

extension ReportValue {
    /// A decimal number, with the decimal places of the currency. Empty for a percentage of zero.
    package func text(in currency: String?) -> String {
        switch self {
        case .money(let milliunits):
            PerennialContract.Money(milliunits: milliunits, currency: currency ?? "").amount
        case .count(let count): "\(count)"
        case .share(let part, let whole): whole == 0 ? "" : Self.percent(part, of: whole)
        }
    }

    /// Returns a percentage in hundredths of a percent, rounded to the nearest number.
    private static func percent(_ part: Int64, of whole: Int64) -> String {
        let hundredths = Int64((Double(part) / Double(whole) * 10_000).rounded())
        return PerennialContract.Money(milliunits: hundredths * 10, currency: "").amount
    }
}
