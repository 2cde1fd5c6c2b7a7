import Ledger
import Reports

/// A report file of the App Store, with its content as it was imported.
package struct AppleReport: Hashable, Sendable {
    /// The report's type, by the App Store's name, such as `SALES`.
    package var kind: String
    /// The days that the report's rows are about, counted from 1970-01-01.
    package var days: ClosedRange<Int64>
    /// The SHA-256 of the content: 32 bytes.
    package var digest: [UInt8]
    /// The name of the file.
    package var name: String
    package var rowsCount: Int
    package var importedAt: Instant
    /// The content of the file, decompressed.
    package var content: [UInt8]

    package init(
        kind: String, days: ClosedRange<Int64>, digest: [UInt8], name: String, rowsCount: Int,
        importedAt: Instant, content: [UInt8]
    ) {
        self.kind = kind
        self.days = days
        self.digest = digest
        self.name = name
        self.rowsCount = rowsCount
        self.importedAt = importedAt
        self.content = content
    }
}

/// The description of an imported file in a list.
package struct AppleReportFile: Hashable, Sendable {
    /// The report's type, by the App Store's name, such as `SALES`.
    package var kind: String
    /// The days that the file's rows are about, counted from 1970-01-01.
    package var days: ClosedRange<Int64>
    package var name: String
    package var rowsCount: Int
    package var importedAt: Instant
    /// Whether the report has rows. False if the App Store said that nothing was sold.
    package var hasContent: Bool
}

/// The state before a report was inserted: the stored reports of the same kind and the same days.
package struct AppleReportInsertion: Hashable, Sendable {
    /// Whether the same content was stored before.
    package fileprivate(set) var isKnown = false
    /// Stored files with other content, in the order of their imports. If the same content was
    /// stored before, only files that were imported after that content.
    package fileprivate(set) var later: [AppleReportFile] = []
}

/// Apple's sales reports, and the transactions that are compared with them.
package struct AppleReportRows: RowGroup {
    package let tx: DatabaseSession

    /// Inserts a report, which then counts as the last imported report of its kind and days. If the
    /// same content is stored already, it gets the name and the time of this import.
    package func insert(
        _ report: AppleReport, in app: AppID
    ) throws(StorageFailure) -> AppleReportInsertion {
        var found = AppleReportInsertion()
        try connection.eachRow(
            "SELECT digest, \(Self.appleReportFile) FROM apple_reports WHERE app = $1 "
                + "AND kind = $2 AND first_day = $3 AND last_day = $4 "
                + "ORDER BY imported_at_ms, digest",
            [
                .text(app.rawValue), .text(report.kind), .integer(report.days.lowerBound),
                .integer(report.days.upperBound),
            ]
        ) { row throws(StorageFailure) in
            let (digest, file) = (try row.bytes(), try AppleReportFile(&row))
            if digest == report.digest {
                found = AppleReportInsertion(isKnown: true)
            } else {
                found.later.append(file)
            }
        }
        // The order of imports must not depend on the clock.
        let last = try lastImport(besides: report, of: app)
        let importedAt = max(report.importedAt.milliseconds, last.map { $0 + 1 } ?? .min)
        _ = try connection.run(
            "INSERT INTO apple_reports (app, kind, first_day, last_day, digest, name, "
                + "rows_count, imported_at_ms, content) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
                + "ON CONFLICT (app, kind, first_day, last_day, digest) DO UPDATE "
                + "SET name = excluded.name, imported_at_ms = excluded.imported_at_ms",
            [
                .text(app.rawValue), .text(report.kind), .integer(report.days.lowerBound),
                .integer(report.days.upperBound), .bytes(report.digest), .text(report.name),
                .integer(Int64(report.rowsCount)), .integer(importedAt), .bytes(report.content),
            ])
        return found
    }

    /// The time, in milliseconds since 1970, of the last import of another report of the same kind
    /// about any of the report's days. Returns nil if there is no such report.
    private func lastImport(
        besides report: AppleReport, of app: AppID
    ) throws(StorageFailure) -> Int64? {
        try connection.firstNumber(
            "SELECT max(imported_at_ms) FROM apple_reports WHERE app = $1 AND kind = $2 "
                + "AND first_day <= $3 AND last_day >= $4 AND digest <> $5",
            [
                .text(app.rawValue), .text(report.kind), .integer(report.days.upperBound),
                .integer(report.days.lowerBound), .bytes(report.digest),
            ])
    }

    private static let appleReportFile =
        "kind, first_day, last_day, name, rows_count, imported_at_ms, "
        + "CASE WHEN length(content) > 0 THEN 1 ELSE 0 END"

    /// The reports of a kind that are about any of the days, in the order of their imports.
    package func all(
        _ kind: String, of app: AppID, in days: ClosedRange<Int64>
    ) throws(StorageFailure) -> [AppleReport] {
        try connection.rows(
            "SELECT kind, first_day, last_day, digest, name, rows_count, imported_at_ms, content "
                + "FROM apple_reports WHERE app = $1 AND kind = $2 AND first_day <= $3 "
                + "AND last_day >= $4 ORDER BY imported_at_ms, first_day, digest",
            [
                .text(app.rawValue), .text(kind), .integer(days.upperBound),
                .integer(days.lowerBound),
            ]
        ) { row throws(StorageFailure) in
            AppleReport(
                kind: try row.text(), days: try row.integer()...(try row.integer()),
                digest: try row.bytes(), name: try row.text(), rowsCount: try row.count(),
                importedAt: try row.instant(), content: try row.bytes())
        }
    }

    /// The files that are about any of the days, without their content, the last imported file
    /// first.
    package func files(
        of app: AppID, in days: ClosedRange<Int64>, limit: Int
    ) throws(StorageFailure) -> [AppleReportFile] {
        try connection.rows(
            "SELECT \(Self.appleReportFile) "
                + "FROM apple_reports WHERE app = $1 AND first_day <= $2 AND last_day >= $3 "
                + "ORDER BY imported_at_ms DESC, first_day DESC, name LIMIT $4",
            [
                .text(app.rawValue), .integer(days.upperBound), .integer(days.lowerBound),
                .integer(Int64(limit)),
            ],
            AppleReportFile.init)
    }

    /// The first and the last day that any file is about. Returns nil if there is no file.
    package func days(of app: AppID) throws(StorageFailure) -> ClosedRange<Int64>? {
        try connection.firstRow(
            "SELECT min(first_day), max(last_day) FROM apple_reports WHERE app = $1",
            [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            let (first, last) = (try row.optionalInteger(), try row.optionalInteger())
            guard let first, let last else { return ClosedRange<Int64>?.none }
            return first...last
        } ?? nil
    }

    /// The stored files that are about the given day or later days, without their content.
    package func files(
        of app: AppID, since day: Int64
    ) throws(StorageFailure) -> [AppleReportFile] {
        try connection.rows(
            "SELECT \(Self.appleReportFile) FROM apple_reports WHERE app = $1 "
                + "AND last_day >= $2", [.text(app.rawValue), .integer(day)], AppleReportFile.init)
    }

    /// The transactions that were charged or refunded within a span of time, in production.
    package func transactionSales(
        of app: AppID, in span: Range<Instant>
    ) throws(StorageFailure) -> [TransactionSale] {
        var sales = try connection.rows(
            "SELECT product, storefront, currency, ownership, quantity, from_ms, gross, tax, "
                + "commission, refunded_at_ms, refunded, refunded_tax, refunded_commission, "
                + "kind, purchase, transaction_id FROM money_transactions "
                + "WHERE app = $1 AND environment = 'production' "
                + "AND ((from_ms >= $2 AND from_ms < $3) "
                + "OR (refunded_at_ms >= $2 AND refunded_at_ms < $3))",
            [
                .text(app.rawValue), .integer(span.lowerBound.milliseconds),
                .integer(span.upperBound.milliseconds),
            ],
            TransactionSale.init)
        let refunded = sales.indices.filter { sales[$0].isSubscription && sales[$0].refunded > 0 }
        let replaced = try replacedTransactions(
            of: Set(refunded.map { sales[$0].purchase }), in: app)
        for index in refunded {
            let own = replaced[sales[index].purchase] ?? []
            sales[index].isReplaced = own.contains(sales[index].transaction)
        }
        return sales
    }

    /// The transactions that were replaced by another product, by purchase. The times of refunds
    /// and purchases do not show whether a transaction was replaced: a customer may upgrade twice
    /// in one moment, or buy something else at the time of a refund.
    private func replacedTransactions(
        of purchases: Set<String>, in app: AppID
    ) throws(StorageFailure) -> [String: Set<TransactionID>] {
        let names = purchases.sorted()
        let rows = try connection.rowsEach(
            "SELECT timeline FROM purchases WHERE app = $1 AND environment = 'production' "
                + "AND purchase = $2", names.map { [.text(app.rawValue), .text($0)] })
        var replaced: [String: Set<TransactionID>] = [:]
        for (name, rows) in zip(names, rows) {
            let purchase = PurchaseID(TransactionID(rawValue: name), in: .production)
            let timeline = try rows.first?.read { row throws(StorageFailure) in
                try Timeline(stored: try row.bytes(), of: purchase)
            }
            guard let timeline else { continue }
            replaced[name] = Set(
                timeline.periods.filter(\.gaveWayToAnother).map(\.payment.transaction))
        }
        return replaced
    }
}

extension AppleReportFile {
    fileprivate init(_ row: inout ColumnReader) throws(StorageFailure) {
        kind = try row.text()
        days = try row.integer()...(try row.integer())
        name = try row.text()
        rowsCount = try row.count()
        importedAt = try row.instant()
        hasContent = try row.flag()
    }
}

extension AppleReportRows {
    /// The shifts of the next purchases in production. Ignores documents from before the given
    /// moment. Also returns the purchase after which the list continues; nil at the end of the
    /// list.
    package func transactionShifts(
        of app: AppID, since: Instant, after last: String, limit: Int
    ) throws(StorageFailure) -> (shifts: [TransactionShift], last: String?) {
        let purchases = try connection.rows(
            "SELECT purchase FROM purchases WHERE app = $1 AND environment = 'production' "
                + "AND purchase > $2 ORDER BY purchase LIMIT \(limit)",
            [.text(app.rawValue), .text(last)]
        ) { row throws(StorageFailure) in try row.text() }
        guard let end = purchases.last else { return ([], nil) }
        var facts: [String: [Fact]] = [:]
        try connection.eachRow(
            "SELECT purchase, attested_at_ms, statement FROM facts WHERE app = $1 "
                + "AND environment = 'production' AND purchase > $2 AND purchase <= $3 "
                + "AND attested_at_ms >= $4 AND subject <> ''",
            [
                .text(app.rawValue), .text(last), .text(end), .integer(since.milliseconds),
            ]
        ) { row throws(StorageFailure) in
            let name = try row.text()
            facts[name, default: []].append(
                try FactRows.fact(
                    &row, about: PurchaseID(TransactionID(rawValue: name), in: .production)))
        }
        let rules = rules.money(of: app)
        var shifts: [TransactionShift] = []
        for name in purchases {
            let purchase = PurchaseID(TransactionID(rawValue: name), in: .production)
            guard TransactionShift.mayExist(in: facts[name] ?? []) else { continue }
            let all = try tx.facts.all(about: purchase, in: app).map(\.fact)
            shifts += TransactionShift.shifts(of: purchase, all, rules: rules)
        }
        return (shifts, end)
    }
}

/// The values of a transaction that are compared with the App Store's reports. Amounts are in
/// thousandths of the currency's unit.
package struct TransactionSale: Hashable, Sendable {
    package var product: ProductID
    package var storefront: String?
    package var currency: String?
    package var isPurchased: Bool
    package var quantity: Int64
    package var chargedAt: Instant
    package var gross: Int64
    package var proceeds: Int64
    package var refundedAt: Instant?
    package var refunded: Int64
    /// The part of ``proceeds`` that was taken back.
    package var refundedProceeds: Int64
    package var isSubscription: Bool
    /// Whether the refund was caused by an upgrade.
    package fileprivate(set) var isReplaced: Bool
    package private(set) var transaction: TransactionID
    private(set) var purchase: String

    /// How many units were refunded. Reports contain no units for a partial refund, so a partial
    /// refund counts as one unit.
    package var refundedUnits: Int64 { refunded == gross ? quantity : 1 }

    package init(_ line: TransactionLine) {
        product = line.segment.product
        storefront = line.segment.storefront
        currency = line.segment.price?.currency
        isPurchased = line.ownership == .purchased
        quantity = Int64(line.quantity)
        chargedAt = line.from
        gross = line.gross
        proceeds = line.gross - line.tax - line.commission
        refundedAt = line.refundedAt
        refunded = line.refunded
        refundedProceeds = line.refunded - line.refundedTax - line.refundedCommission
        isSubscription = line.kind == .autoRenewable
        isReplaced = false
        purchase = ""
        transaction = line.transaction
    }

    fileprivate init(_ row: inout ColumnReader) throws(StorageFailure) {
        product = try row.product()
        storefront = try row.optionalText()
        currency = try row.optionalText()
        isPurchased = try row.text() == Ownership.purchased.word
        quantity = try row.integer()
        chargedAt = try row.instant()
        gross = try row.integer()
        proceeds = gross - (try row.integer()) - (try row.integer())
        refundedAt = try row.optionalInstant()
        refunded = try row.integer()
        refundedProceeds = refunded - (try row.integer()) - (try row.integer())
        isSubscription = try row.text() == "auto_renewable"
        purchase = try row.text()
        transaction = try row.transaction()
        isReplaced = false
    }
}
