/// Parses the text of cells, and writes values as cells.
enum SalesReportCell {
    /// The maximum number of digits before the decimal point of an amount.
    static let wholeDigitsMax = 12
    /// The maximum number of digits after the decimal point. Only the first three may be other than
    /// zero.
    static let decimalsMax = 6
    /// The maximum number of digits before the decimal point of a count times an amount.
    static let productDigitsMax = 14
    /// The largest product of a count and an amount, in thousandths.
    static let productMax: UInt64 = 99_999_999_999_999_999
    /// The maximum number of digits of a count, such as units.
    static let countDigitsMax = 12
    /// The maximum number of digits of an identifier.
    static let identifierDigitsMax = 18

    private static let minus = UInt8(ascii: "-")
    private static let zero = UInt8(ascii: "0")

    /// Whether a cell is blank. Apple writes a blank cell as one space or as an empty text. One
    /// file may contain both.
    static func isBlank(_ cell: ArraySlice<UInt8>) -> Bool {
        cell.isEmpty || cell.count == 1 && cell.first == UInt8(ascii: " ")
    }

    /// The text of a cell. Its UTF-8 was checked when the line was split.
    static func text(_ cell: ArraySlice<UInt8>) -> String {
        isBlank(cell) ? "" : String(decoding: cell, as: UTF8.self)
    }

    // MARK: - Numbers

    /// The exact amount in thousandths of its unit. The zero before the point may be missing:
    /// Apple's page "Summary Sales Report" writes `.99`. Returns nil if a decimal after the third
    /// is not zero, and for an exponent, a thousands separator, or any other text.
    static func amount(_ cell: ArraySlice<UInt8>) -> Int64? {
        let isNegative = cell.first == minus
        let parts = (isNegative ? cell.dropFirst() : cell).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first,
            let units = whole.isEmpty && parts.count == 2
                ? 0 : number(whole, digitsMax: wholeDigitsMax),
            let thousandths = thousandths(parts.count == 2 ? parts[1] : [zero])
        else { return nil }
        let amount = units * 1000 + thousandths
        return isNegative ? -amount : amount
    }

    private static func thousandths(_ decimals: ArraySlice<UInt8>) -> Int64? {
        guard (1...decimalsMax).contains(decimals.count),
            decimals.dropFirst(3).allSatisfy({ $0 == zero })
        else { return nil }
        var value: Int64 = 0
        for place in 0..<3 {
            let digit = place < decimals.count ? decimals[decimals.startIndex + place] : zero
            guard isDigit(digit) else { return nil }
            value = value * 10 + Int64(digit - zero)
        }
        return value
    }

    /// A whole number. Decimals are accepted if all of them are zero, because Apple's type for
    /// units has decimals. Returns nil for any other text.
    static func count(_ cell: ArraySlice<UInt8>) -> Int64? {
        let isNegative = cell.first == minus
        let parts = (isNegative ? cell.dropFirst() : cell).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, let value = number(whole, digitsMax: countDigitsMax),
            parts.count == 1 || thousandths(parts[1]) == 0
        else { return nil }
        return isNegative ? -value : value
    }

    static func identifier(_ cell: ArraySlice<UInt8>) -> Int64? {
        number(cell, digitsMax: identifierDigitsMax)
    }

    /// A number that consists only of digits, without leading zeros, so that each number has only
    /// one spelling. Returns nil for any other text.
    private static func number(_ digits: ArraySlice<UInt8>, digitsMax: Int) -> Int64? {
        guard (1...digitsMax).contains(digits.count), digits.count == 1 || digits.first != zero
        else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard isDigit(digit) else { return nil }
            value = value * 10 + Int64(digit - zero)
        }
        return value
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (zero...zero + 9).contains(byte) }

    /// The text of an amount: two decimals, or three if the third is not zero.
    static func text(amount: Int64) -> String {
        let decimals = decimals(amount)
        return whole(amount) + "." + (decimals.hasSuffix("0") ? decimals.dropLast() : decimals[...])
    }

    /// The text of a quantity, with as few decimals as possible.
    static func text(quantity: Int64) -> String {
        var decimals = decimals(quantity)
        while decimals.hasSuffix("0") { decimals.removeLast() }
        return whole(quantity) + (decimals.isEmpty ? "" : ".") + decimals
    }

    private static func whole(_ thousandths: Int64) -> String {
        (thousandths < 0 ? "-" : "") + String(thousandths.magnitude / 1000)
    }

    private static func decimals(_ thousandths: Int64) -> String {
        String(String(thousandths.magnitude % 1000 + 1000).dropFirst())
    }

    // MARK: - Days

    /// A day in the form `2026-01-31` or `01/31/2026`. Returns nil for any other text, and for a
    /// day that does not exist.
    static func day(_ cell: ArraySlice<UInt8>) -> CivilDate? {
        guard cell.count == 10 else { return nil }
        let bytes = Array(cell)
        let (dash, slash) = (UInt8(ascii: "-"), UInt8(ascii: "/"))
        if bytes[4] == dash, bytes[7] == dash {
            return day(bytes[0..<4], bytes[5..<7], bytes[8..<10])
        }
        guard bytes[2] == slash, bytes[5] == slash else { return nil }
        return day(bytes[6..<10], bytes[0..<2], bytes[3..<5])
    }

    private static func day(
        _ year: ArraySlice<UInt8>, _ month: ArraySlice<UInt8>, _ day: ArraySlice<UInt8>
    ) -> CivilDate? {
        guard [year, month, day].allSatisfy({ $0.allSatisfy(isDigit) }) else { return nil }
        let numbers = [year, month, day].map { $0.reduce(0) { $0 * 10 + Int($1 - zero) } }
        let date = CivilDate(year: numbers[0], month: numbers[1], day: numbers[2])
        guard date.year > 0, (1...12).contains(date.month),
            (1...CivilDate.days(inMonth: date.month, of: date.year)).contains(date.day)
        else { return nil }
        return date
    }

    static func text(day: CivilDate, isSlashed: Bool) -> String {
        let year = padded(day.year, 4)
        let (month, day) = (padded(day.month, 2), padded(day.day, 2))
        return isSlashed ? "\(month)/\(day)/\(year)" : "\(year)-\(month)-\(day)"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
