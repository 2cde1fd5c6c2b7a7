extension SalesReport {
    /// Reads a whole file.
    ///
    /// The columns are found by their names, in any order. A file that was truncated within a line
    /// is always refused. A file that was truncated at the end of a line is refused only if its
    /// report has totals; for other reports, the checksum of the compressed download is the only
    /// protection.
    ///
    /// - Parameter bytes: the decompressed file.
    /// - Throws: if any part of the file cannot be read; the failure names the place.
    package init(parsing bytes: [UInt8]) throws(SalesReportFailure) {
        var lines = try SalesReportLines(bytes)
        let header = try SalesReportHeader(removingFrom: &lines)
        try header.checkKind(Row.kind)
        self = try Self.read(&lines, after: header)
    }

    /// Reads the rest of a file, after its header was recognised as a header of this report.
    static func read(
        _ lines: inout SalesReportLines, after header: SalesReportHeader
    ) throws(SalesReportFailure) -> Self {
        let (version, columns) = try header.columns(for: Row.self)
        var reader = SalesReportReader<Row>(header: header, columns: columns)
        while let line = try lines.next() { try reader.add(line) }
        let ending = try reader.finish()
        return Self(
            version: version, form: header.form, header: header.names, rows: reader.rows,
            additional: reader.additional, ending: ending)
    }
}

/// Reads the rows of a file and the totals after them.
private struct SalesReportReader<Row: SalesReportRow> {
    let header: SalesReportHeader
    /// The meaning of each column of the file. Nil for a column that is not interpreted.
    let columns: [SalesReportColumn<Row>?]
    var rows: [Row] = []
    var additional: [SalesReportAddition]
    private var totals: [SalesReportLine] = []
    private let totalNames: [String]

    init(header: SalesReportHeader, columns: [SalesReportColumn<Row>?]) {
        self.header = header
        self.columns = columns
        totalNames = (Row.totals(of: []) ?? []).map(\.name)
        additional = zip(header.names, columns).compactMap { name, column in
            column == nil ? SalesReportAddition(name: name, cells: []) : nil
        }
    }

    mutating func add(_ line: SalesReportLine) throws(SalesReportFailure) {
        if !totals.isEmpty || isTotal(line) {
            totals.append(line)
            return
        }
        guard line.cells.count == columns.count else {
            throw SalesReportFailure(
                .cellCount, found: Self.cells(line.cells.count),
                expected: "\(columns.count), as in the header", line: line.number)
        }
        let row = try row(line)
        if let name = row.uncountableColumn { throw uncountable(name, line) }
        rows.append(row)
    }

    private func uncountable(_ name: String, _ line: SalesReportLine) -> SalesReportFailure {
        guard let place = columns.firstIndex(where: { $0?.name == name }) else {
            preconditionFailure("\(Row.kind.rawValue) has no column \(name).")
        }
        return SalesReportFailure(
            .limit, found: "\(SalesReportFailure.quoted(line.cells[place])) times the row's count",
            expected: "a product of at most \(SalesReportCell.productDigitsMax) digits",
            line: line.number, column: place + 1, columnName: header.names[place])
    }

    private mutating func row(_ line: SalesReportLine) throws(SalesReportFailure) -> Row {
        var row = Row()
        var addition = 0
        for (place, cell) in line.cells.enumerated() {
            guard let column = columns[place] else {
                additional[addition].cells.append(SalesReportCell.text(cell))
                addition += 1
                continue
            }
            guard column.read(cell, &row) else {
                throw SalesReportFailure(
                    .cell, found: SalesReportFailure.quoted(cell), expected: column.expected,
                    line: line.number, column: place + 1, columnName: header.names[place])
            }
        }
        return row
    }

    /// Whether the line has the name of a total, and at most one other cell that is not blank.
    private func isTotal(_ line: SalesReportLine) -> Bool {
        totalNames.contains { line.cells[0].elementsEqual($0.utf8) }
            && line.cells.dropFirst(2).allSatisfy(SalesReportCell.isBlank)
    }

    private static func cells(_ count: Int) -> String { count == 1 ? "1 cell" : "\(count) cells" }

    // MARK: - Totals

    private static var sumIsTooLarge: SalesReportFailure {
        SalesReportFailure(.limit, found: "a sum of more than 64 bits", expected: "a smaller sum")
    }

    /// Compares the totals of the file with its rows. The file must contain every total, and
    /// nothing else after the rows. Returns how the file ends.
    func finish() throws(SalesReportFailure) -> SalesReportEnding {
        if totals.count > 1, SalesReportCountrySums.isHeader(totals[1]) {
            try finishByCountry()
            return .countries
        }
        guard let expected = Row.totals(of: rows) else { throw Self.sumIsTooLarge }
        for (place, total) in expected.enumerated() {
            guard place < totals.count else {
                throw SalesReportFailure(
                    .incomplete, found: "no line \(total.name)",
                    expected: "\(total.name) \(total.text) after the rows",
                    line: rows.count + 2 + place)
            }
            try check(totals[place], total)
        }
        guard totals.count == expected.count else {
            throw SalesReportFailure(
                .cellCount, found: "another line", expected: "the end of the file",
                line: totals[expected.count].number)
        }
        return .totals
    }

    /// Checks the number of rows, and then the sums of each country and currency.
    private func finishByCountry() throws(SalesReportFailure) {
        let count = SalesReportTotal(
            name: SalesReportTotal.rowsName, value: Int64(rows.count), isAmount: false)
        try check(totals[0], count)
        guard let sums = Row.countrySums(of: rows) else { throw Self.sumIsTooLarge }
        try sums.check(totals[2...], after: totals[1].number)
    }

    /// Checks that a total is a name and a number. Editors may add blank cells at the end of the
    /// line.
    private func check(
        _ line: SalesReportLine, _ total: SalesReportTotal
    ) throws(SalesReportFailure) {
        guard line.cells[0].elementsEqual(total.name.utf8) else {
            throw SalesReportFailure(
                .totals, found: SalesReportFailure.quoted(line.cells[0]), expected: total.name,
                line: line.number, column: 1)
        }
        guard line.cells.count >= 2, line.cells[2...].allSatisfy(SalesReportCell.isBlank) else {
            throw SalesReportFailure(
                .cellCount, found: Self.cells(line.cells.count), expected: "2", line: line.number)
        }
        guard total.isSpelled(line.cells[1]) else {
            throw SalesReportFailure(
                .totals, found: SalesReportFailure.quoted(line.cells[1]),
                expected: "\(total.text), the sum of the rows", line: line.number, column: 2,
                columnName: total.name)
        }
    }
}
