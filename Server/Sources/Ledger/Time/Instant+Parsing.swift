extension Instant {
    /// The moment whose ``description`` is the text. Returns nil for any other text, even if it
    /// means the same moment.
    package init?(_ text: String) {
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: "T")) else { return nil }
        // The year of a very early or late moment has a sign, or more than four digits.
        let isNegative = text.hasPrefix("-")
        let date = text[..<end].dropFirst(isNegative ? 1 : 0).split(separator: "-")
        let time = text[end...].dropFirst().split { ":.Z".contains($0) }
        let numbers = (date + time).map { Int64($0) ?? 0 }
        guard date.count == 3, time.count == 4, (1...12).contains(numbers[1]) else { return nil }
        let day = CivilDate(
            year: isNegative ? -numbers[0] : numbers[0], month: numbers[1], day: numbers[2])
        let seconds = (numbers[3] * 60 + numbers[4]) * 60 + numbers[5]
        let (start, isBeyond) = day.dayNumber.multipliedReportingOverflow(
            by: CivilDate.dayMilliseconds)
        let (sum, isBeyondToo) = start.addingReportingOverflow(seconds * 1000 + numbers[6])
        guard !isBeyond, !isBeyondToo else { return nil }
        self.init(milliseconds: sum)
        guard description == text else { return nil }
    }
}
