/// The first line of a report file, which shows the kind and the version of the report.
struct SalesReportHeader {
    let form: SalesReportForm
    /// The names in the spelling of the file.
    let names: [String]
    /// The names in the form in which they are compared.
    let keys: [String]

    /// A header is recognised as the header of a report if it contains at least this percentage of
    /// the report's columns. One missing tab joins two column names, so that two of the nine
    /// columns of the smallest report are lost. The other seven are 77 percent.
    static let recognisedPercentMin = 75

    init(removingFrom lines: inout SalesReportLines) throws(SalesReportFailure) {
        guard let line = try lines.next() else {
            throw SalesReportFailure(
                .header, found: "no bytes", expected: "the header of a report")
        }
        form = lines.form
        names = line.cells.map { String(decoding: $0, as: UTF8.self) }
        keys = names.map(SalesReportLayout.key)
        for (place, key) in keys.enumerated() where keys[..<place].contains(key) {
            throw repeated(place)
        }
    }

    // MARK: - Kinds

    func kind() throws(SalesReportFailure) -> SalesReportKind {
        let shares = [
            share(SalesRow.self), share(SubscriptionRow.self), share(SubscriptionEventRow.self),
            share(SubscriberRow.self), share(OfferCodeRedemptionRow.self), share(PreOrderRow.self),
            share(FinancialRow.self),
        ]
        guard let best = shares.max(by: { $0.percent < $1.percent }),
            best.percent >= Self.recognisedPercentMin
        else { throw unrecognised }
        return best.kind
    }

    func checkKind(_ expected: SalesReportKind) throws(SalesReportFailure) {
        let kind = try kind()
        guard kind == expected else {
            throw SalesReportFailure(
                .header, found: "the report \(kind.rawValue)",
                expected: "the report \(expected.rawValue)",
                remedy: "Pass the file of the other report.", line: 1)
        }
    }

    /// The percentage of a report's columns that the header contains, for the version with the
    /// largest percentage.
    private func share<Row: SalesReportRow>(
        _: Row.Type
    ) -> (kind: SalesReportKind, percent: Int) {
        let known = ReportColumns<Row>(for: self)
        let percents = Row.layouts.map {
            100 * ($0.keys.count - known.missing(in: $0).count) / $0.keys.count
        }
        return (Row.kind, percents.max() ?? 0)
    }

    private var unrecognised: SalesReportFailure {
        let kinds = SalesReportKind.allCases.map(\.rawValue).joined(separator: ", ")
        let start = names.joined(separator: " ")
        return SalesReportFailure(
            .header, found: SalesReportFailure.quoted(start.utf8),
            expected: "the header of one of the reports \(kinds)",
            remedy: "Other reports are not read. If this is one of those, download it again.",
            line: 1)
    }

    // MARK: - Versions

    /// The meaning of each column of the file (nil for a column without meaning), and the version
    /// that follows from the columns.
    ///
    /// The chosen version has the fewest missing and foreign columns. If several versions are equal
    /// in this, the version whose spellings the file uses is chosen. If several are left, the
    /// newest is chosen.
    func columns<Row: SalesReportRow>(
        for _: Row.Type
    ) throws(SalesReportFailure) -> (
        version: SalesReportVersion, columns: [SalesReportColumn<Row>?]
    ) {
        let known = ReportColumns<Row>(for: self)
        let layout = known.layout
        if let name = known.missing(in: layout).first {
            let hasUnknown = known.indices.contains(nil)
            throw SalesReportFailure(
                .version, found: "no column \"\(form.spelling(name))\"",
                expected: "the columns of \(Row.kind.rawValue) \(layout.version)",
                remedy: hasUnknown
                    ? SalesReportFailure.newerVersion : SalesReportFailure.missingColumn, line: 1)
        }
        var version = layout.version
        for (place, index) in known.indices.enumerated() {
            if let index, known.indices[..<place].contains(index) { throw repeated(place) }
            if known.has(place, in: layout) { continue }
            if index == nil, form == .commas, Self.isLoaders(keys[place]) { continue }
            guard index == nil, known.allowsNewer(at: place) else {
                throw foreign(place, layout.version, isKnown: index != nil)
            }
            if let newest = Row.layouts.last?.version { version = newest }
        }
        return (version, known.indices.map { $0.map { Row.columns[$0] } })
    }

    /// Whether a column with this name is one that data loaders add.
    private static func isLoaders(_ key: String) -> Bool {
        key.hasPrefix("_") || key == "vendor_number" || key == "date"
    }

    private func repeated(_ place: Int) -> SalesReportFailure {
        SalesReportFailure(
            .header, found: "a column that is already there", expected: "each column once",
            line: 1, column: place + 1, columnName: shortName(place))
    }

    private func foreign(
        _ place: Int, _ version: SalesReportVersion, isKnown: Bool
    ) -> SalesReportFailure {
        SalesReportFailure(
            .version, found: isKnown ? "a column of another version" : "an unknown column",
            expected: "the columns of version \(version)",
            remedy: SalesReportFailure.newerVersion, line: 1, column: place + 1,
            columnName: shortName(place))
    }

    private func shortName(_ place: Int) -> String { String(names[place].prefix(60)) }
}

/// Compares a header with a report's columns.
private struct ReportColumns<Row: SalesReportRow> {
    /// The index in `Row.columns` for each column of the header. Nil for an unknown column.
    let indices: [Int?]
    private let form: SalesReportForm
    private let headerKeys: [String]
    /// The index in `Row.columns` for each name.
    private let places: [String: Int]

    init(for header: SalesReportHeader) {
        var places: [String: Int] = [:]
        for (place, column) in Row.columns.enumerated() {
            for key in column.keys { places[key] = place }
        }
        self.places = places
        form = header.form
        headerKeys = header.keys
        indices = header.keys.map { places[$0] }
    }

    /// The names of the version's columns that the header lacks. Leaves out columns at the end that
    /// files of earlier years do not have.
    func missing(in layout: SalesReportLayout) -> [String] {
        let absent = layout.keys.indices.filter { !hasColumn(layout.keys[$0]) }
        var end = layout.keys.count
        while end > layout.requiredCount, absent.contains(end - 1) { end -= 1 }
        return absent.filter { $0 < end }.map { layout.header[$0] }
    }

    /// Whether the header has a column of a version. In Apple's own form, only the version's
    /// spelling counts; data loaders mix the spellings of versions, so in their form any spelling
    /// counts.
    private func hasColumn(_ key: String) -> Bool {
        if headerKeys.contains(key) { return true }
        guard form == .commas, let place = places[key] else { return false }
        return Row.columns[place].keys.contains { headerKeys.contains($0) }
    }

    /// Whether an unknown column at this place may be one of a newer version.
    func allowsNewer(at place: Int) -> Bool {
        switch Row.newerColumns {
        case .refused: false
        case .anywhere: layout.version > Row.layouts[0].version
        case .atEnd:
            layout.keys.allSatisfy(hasColumn) && indices[place...].allSatisfy { $0 == nil }
        }
    }

    /// Whether the version `layout` has the column at this place of the header. In Apple's own
    /// form, the spelling must match, too.
    func has(_ place: Int, in layout: SalesReportLayout) -> Bool {
        guard let index = indices[place] else { return false }
        let keys = form == .tabs ? [headerKeys[place]] : Row.columns[index].keys
        return keys.contains { layout.keys.contains($0) }
    }

    /// The version that fits the header best.
    var layout: SalesReportLayout {
        let newestFirst = Row.layouts.reversed()
        guard let layout = newestFirst.min(by: { cost($0) < cost($1) }) else {
            preconditionFailure("The report \(Row.kind.rawValue) has no version.")
        }
        return layout
    }

    /// How badly a version fits: the number of missing and foreign columns, and the number of names
    /// in another spelling.
    private func cost(_ layout: SalesReportLayout) -> (Int, Int) {
        let absent = layout.keys.count { !hasColumn($0) }
        let foreign = indices.count { $0 != nil } - (layout.keys.count - absent)
        return (absent + foreign, layout.keys.count { !headerKeys.contains($0) })
    }
}
