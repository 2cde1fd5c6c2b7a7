import Ledger

extension ExchangeRates {
    /// The maximum size of a table of rates, in bytes: a century of forty currencies.
    package static let tableBytesMax = 16_777_216

    /// Why a table of rates cannot be read.
    package struct Defect: Error, Hashable, Sendable {
        /// The number of the line, counted from 1.
        package var line: Int
        /// The name of the column; nil if the line as a whole is wrong.
        package var column: String?
        package var sentence: String
    }

    /// Reads the form in which the European Central Bank publishes its reference rates
    /// (`eurofxref-hist.csv`): a first line `Date,USD,JPY,…`, and then a line for each day. A line
    /// contains the units of each currency for one euro. The days may be in any order. `N/A` and an
    /// empty field mean that there is no rate.
    ///
    /// - Parameter base: the currency that the rates are for, if it is not the euro.
    package init(table text: String, base: String = "EUR") throws(Defect) {
        // Text editors may add a byte order mark at the beginning.
        let content =
            text.unicodeScalars.first == "\u{FEFF}"
            ? text.unicodeScalars.dropFirst() : text.unicodeScalars[...]
        var lines = Substring(content).split(omittingEmptySubsequences: false) { $0.isNewline }[...]
        let header = lines.popFirst().map(Self.fields) ?? []
        guard header.first?.lowercased() == "date" else {
            throw Defect(line: 1, sentence: "The first line must begin with Date.")
        }
        let currencies = header.dropFirst().map { String($0) }
        if let wrong = currencies.first(where: { !$0.isEmpty && !Self.isCurrency($0) }) {
            throw Defect(
                line: 1, column: wrong, sentence: "A currency has three letters, such as USD.")
        }
        let named = currencies.filter { !$0.isEmpty }
        if let twice = named.first(where: { name in named.count { $0 == name } > 1 }) {
            throw Defect(line: 1, column: twice, sentence: "The currency comes twice.")
        }
        var rates: [Int64: [String: Int64]] = [:]
        for (index, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) {
            let (day, row) = try Self.row(line, currencies, number: index + 2)
            guard rates.updateValue(row, forKey: day) == nil else {
                throw Defect(line: index + 2, column: "Date", sentence: "The day comes twice.")
            }
        }
        self.init(base: base, rates: rates)
    }

    private static func row(
        _ line: Substring, _ currencies: [String], number: Int
    ) throws(Defect) -> (Int64, [String: Int64]) {
        let fields = fields(line)
        guard fields.count == currencies.count + 1 else {
            throw Defect(
                line: number,
                sentence: "It has \(fields.count) fields, and the first line has "
                    + "\(currencies.count + 1).")
        }
        guard let date = CivilDate(String(fields[0])) else {
            throw Defect(
                line: number, column: "Date", sentence: "It must be a day such as 2026-11-21.")
        }
        var row: [String: Int64] = [:]
        for (currency, field) in zip(currencies, fields.dropFirst())
        where !currency.isEmpty && !field.isEmpty && field != "N/A" {
            guard let rate = millionths(field) else {
                throw Defect(
                    line: number, column: currency,
                    sentence: "It must be a number such as 1.0832, or N/A.")
            }
            row[currency] = rate
        }
        return (date.dayNumber, row)
    }

    private static func fields(_ line: Substring) -> [Substring] {
        line.split(separator: ",", omittingEmptySubsequences: false).map { field in
            var field = field[...]
            while field.first?.isWhitespace == true { field.removeFirst() }
            while field.last?.isWhitespace == true { field.removeLast() }
            return field
        }
    }

    private static func isCurrency(_ text: String) -> Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (65...90).contains($0) }
    }

    /// Reads a positive decimal number. Digits after the sixth decimal place are cut off.
    private static func millionths(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = digits(parts[0], most: 12) else {
            return nil
        }
        let decimals = parts.count == 2 ? parts[1] : "0"
        guard decimals.utf8.count <= 18, decimals.utf8.allSatisfy({ (48...57).contains($0) }),
            let fraction = digits((decimals.prefix(6) + "000000").prefix(6), most: 6)
        else { return nil }
        let rate = whole * 1_000_000 + fraction
        return rate > 0 ? rate : nil
    }

    private static func digits(_ text: Substring, most: Int) -> Int64? {
        guard (1...most).contains(text.utf8.count),
            text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return Int64(text)
    }
}
