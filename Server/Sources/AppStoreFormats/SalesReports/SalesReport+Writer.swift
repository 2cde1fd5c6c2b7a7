extension SalesReport {
    /// The bytes of the file: days, amounts and blank cells in Apple's spelling, and one LF after
    /// each line.
    ///
    /// - Throws: if a value cannot be written unchanged. Examples: the cells of a file with tabs
    ///   cannot contain a tab or a line break; a text of one space would mean a blank cell; the
    ///   report's version may have no column for the value.
    package func bytes() throws(SalesReportFailure) -> [UInt8] {
        let last = try lastLines()
        var file: [UInt8] = []
        write(header, to: &file)
        let keys = header.map(SalesReportLayout.key)
        let columns = keys.map { key in Row.columns.first { $0.keys.contains(key) } }
        let absent = Row.columns.filter { Set($0.keys).isDisjoint(with: keys) }
        for (place, row) in rows.enumerated() {
            try refuseValues(of: absent, in: row, line: place + 2)
            write(try cells(of: row, at: place, columns), to: &file)
        }
        for line in last { write(line, to: &file) }
        return file
    }

    /// The lines that follow the rows.
    private func lastLines() throws(SalesReportFailure) -> [[String]] {
        let tooLarge = SalesReportFailure(
            .limit, found: "a sum of more than 64 bits", expected: "a smaller sum",
            remedy: Self.changeValue)
        switch ending {
        case .totals:
            guard let totals = Row.totals(of: rows) else { throw tooLarge }
            return totals.map { [$0.name, $0.text] }
        case .countries:
            guard let sums = Row.countrySums(of: rows) else { throw tooLarge }
            return [[SalesReportTotal.rowsName, String(rows.count)]] + sums.lines
        }
    }

    /// The cells of a row. Each cell is read back after it was written, so that no value can be
    /// lost.
    private func cells(
        of row: Row, at place: Int, _ columns: [SalesReportColumn<Row>?]
    ) throws(SalesReportFailure) -> [String] {
        var cells: [String] = []
        var addition = 0
        var copy = Row()
        for (index, column) in columns.enumerated() {
            guard let column else {
                let text = additional[addition].cells[place]
                addition += 1
                guard isWritable(text) else { throw unwritable(text, nil, place, index) }
                cells.append(text)
                continue
            }
            let text = column.write(row)
            let blank = form == .tabs ? column.blank : ""
            guard let text, isWritable(text) else {
                throw unwritable(text, column.expected, place, index)
            }
            let cell = text.isEmpty ? blank : text
            guard column.read(Array(cell.utf8)[...], &copy) else {
                throw unwritable(text, column.expected, place, index)
            }
            cells.append(cell)
        }
        guard copy == row else {
            throw SalesReportFailure(
                .unwritable, found: "a value that is read as another",
                expected: "nil for what is blank", remedy: Self.changeValue, line: place + 2)
        }
        return cells
    }

    private func unwritable(
        _ text: String?, _ expected: String?, _ place: Int, _ index: Int
    ) -> SalesReportFailure {
        SalesReportFailure(
            .unwritable, found: SalesReportFailure.quoted((text ?? "").utf8),
            expected: "\(expected ?? "a text"), without tabs and line breaks, not one space",
            remedy: Self.changeValue, line: place + 2, column: index + 1, columnName: header[index])
    }

    private func refuseValues(
        of absent: [SalesReportColumn<Row>], in row: Row, line: Int
    ) throws(SalesReportFailure) {
        for column in absent {
            guard let text = column.write(row), !text.isEmpty else { continue }
            throw SalesReportFailure(
                .unwritable, found: SalesReportFailure.quoted(text.utf8),
                expected: "no value, as version \(version) has no column \(column.name)",
                remedy: Self.changeValue, line: line)
        }
    }

    private static var changeValue: String { "Change the value before it is written." }

    private func isWritable(_ text: String) -> Bool {
        guard text != " ", text.utf8.count <= SalesReportLines.cellBytesMax else { return false }
        return text.utf8.allSatisfy {
            $0 >= 0x20 || form == .commas && [0x09, 0x0A, 0x0D].contains($0)
        }
    }

    private func write(_ cells: [String], to file: inout [UInt8]) {
        for (place, cell) in cells.enumerated() {
            if place > 0 { file.append(form.separator) }
            if form == .commas, cell.utf8.contains(where: Self.mustBeQuoted) {
                file.append(contentsOf: "\"".utf8)
                for byte in cell.utf8 {
                    if byte == UInt8(ascii: "\"") { file.append(byte) }
                    file.append(byte)
                }
                file.append(contentsOf: "\"".utf8)
            } else {
                file.append(contentsOf: cell.utf8)
            }
        }
        file.append(UInt8(ascii: "\n"))
    }

    private static func mustBeQuoted(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"")
    }
}
