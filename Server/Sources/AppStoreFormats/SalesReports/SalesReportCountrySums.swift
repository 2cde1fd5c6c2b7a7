/// The end of a file of all regions, after the number of its rows: another header, and the sums of
/// each country and currency.
package struct SalesReportCountrySums: Hashable, Sendable {
    /// The names of the columns in Apple's order.
    static let header = [
        "Country Of Sale", "Partner Share Currency", "Quantity", "Extended Partner Share",
    ]

    struct Key: Hashable, Comparable, Sendable {
        var country: String
        var currency: String

        /// Compares keys in Apple's order: by currency, then by country.
        static func < (one: Self, other: Self) -> Bool {
            (one.currency, one.country) < (other.currency, other.country)
        }
    }

    struct Sum: Hashable, Sendable {
        var quantity: Int64 = 0
        /// The part of the quantity that cost nothing. Kept separately, because Apple does not
        /// document whether its sums include that part.
        var freeQuantity: Int64 = 0
        /// The sum of amounts, in thousandths of the currency's unit.
        var amount: Int64 = 0
    }

    private(set) var sums: [Key: Sum] = [:]

    /// Adds a row. Returns false if a sum exceeds 64 bits.
    mutating func add(_ key: Key, quantity: Int64, amount: Int64, isFree: Bool) -> Bool {
        var sum = sums[key] ?? Sum()
        let (units, areUnitsOver) = sum.quantity.addingReportingOverflow(quantity)
        let (total, isOver) = sum.amount.addingReportingOverflow(amount)
        guard !areUnitsOver, !isOver else { return false }
        (sum.quantity, sum.amount) = (units, total)
        // The sum of free units is part of the whole sum, so it cannot exceed 64 bits.
        if isFree { sum.freeQuantity &+= quantity }
        sums[key] = sum
        return true
    }

    // MARK: - Writing

    /// The lines of the file. The header comes first.
    var lines: [[String]] {
        [Self.header]
            + sums.sorted { $0.key < $1.key }.map { key, sum in
                [
                    key.country, key.currency, String(sum.quantity),
                    SalesReportCell.text(amount: sum.amount),
                ]
            }
    }

    // MARK: - Reading

    static func isHeader(_ line: SalesReportLine) -> Bool {
        line.cells.count >= header.count
            && zip(line.cells, header).allSatisfy { $0.elementsEqual($1.utf8) }
            && line.cells.dropFirst(header.count).allSatisfy(SalesReportCell.isBlank)
    }

    /// Compares the lines after the header with the sums of the rows.
    ///
    /// - Throws: if the sums in a line differ from those of the rows, if a line is about a country
    ///   without rows, or if a country has paid rows but no line.
    func check(_ lines: ArraySlice<SalesReportLine>, after header: Int) throws(SalesReportFailure) {
        var left = sums
        for line in lines {
            let key = try Self.key(of: line)
            guard let sum = left.removeValue(forKey: key) else {
                throw SalesReportFailure(
                    .totals, found: "\(key.country) \(key.currency)",
                    expected: sums[key] == nil
                        ? "a country and currency of the rows" : "each country and currency once",
                    remedy: SalesReportFailure.otherCountries, line: line.number, column: 1,
                    columnName: Self.header[0])
            }
            try Self.check(line, sum, of: key)
        }
        guard let lacking = left.filter({ $0.value.amount != 0 }).min(by: { $0.key < $1.key })
        else { return }
        let (key, sum) = lacking
        throw SalesReportFailure(
            .incomplete, found: "no line for \(key.country) \(key.currency)",
            expected: "\(sum.quantity) and \(SalesReportCell.text(amount: sum.amount)), the sums "
                + "of its rows", remedy: SalesReportFailure.otherCountries,
            line: (lines.last?.number ?? header) + 1)
    }

    private static func key(of line: SalesReportLine) throws(SalesReportFailure) -> Key {
        guard line.cells.count >= header.count,
            line.cells.dropFirst(header.count).allSatisfy(SalesReportCell.isBlank)
        else {
            throw SalesReportFailure(
                .cellCount, found: "\(line.cells.count) cells", expected: "\(header.count)",
                line: line.number)
        }
        return Key(
            country: SalesReportCell.text(line.cells[0]),
            currency: SalesReportCell.text(line.cells[1]))
    }

    private static func check(
        _ line: SalesReportLine, _ sum: Sum, of key: Key
    ) throws(SalesReportFailure) {
        let quantity = SalesReportCell.count(line.cells[2])
        let isCounted = quantity == sum.quantity || quantity == sum.quantity - sum.freeQuantity
        if !isCounted { throw wrong(line, 2, String(sum.quantity), key) }
        guard SalesReportCell.amount(line.cells[3]) == sum.amount else {
            throw wrong(line, 3, SalesReportCell.text(amount: sum.amount), key)
        }
    }

    private static func wrong(
        _ line: SalesReportLine, _ place: Int, _ expected: String, _ key: Key
    ) -> SalesReportFailure {
        SalesReportFailure(
            .totals, found: SalesReportFailure.quoted(line.cells[place]),
            expected: "\(expected), the sum of the rows of \(key.country) in \(key.currency)",
            line: line.number, column: place + 1, columnName: header[place])
    }
}
