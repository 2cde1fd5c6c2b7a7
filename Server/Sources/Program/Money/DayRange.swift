import Ledger

/// The days that `--from` and `--to` name.
enum DayRange {
    /// Reads the first and the last day, counted from 1970-01-01.
    ///
    /// - Throws: ``StartFailure`` if a day is missing or invalid, or if the last is before the
    ///   first.
    static func days(from: String?, to: String?) throws(StartFailure) -> ClosedRange<Int64> {
        guard let from, let to else {
            throw StartFailure(
                "--from and --to belong together.",
                remedy: "Write both, such as --from 2026-01-01 --to 2026-06-30.")
        }
        let first = try day(from, for: "--from")
        let last = try day(to, for: "--to")
        guard first <= last else {
            throw StartFailure(
                "--to, \(to), is before --from, \(from).",
                remedy: "Write the first day after --from, and the last one after --to.")
        }
        return first...last
    }

    private static func day(_ text: String, for flag: String) throws(StartFailure) -> Int64 {
        if let date = CivilDate(text) { return date.dayNumber }
        let isDated = text.wholeMatch(of: #/[0-9]{4}-[0-9]{2}-[0-9]{2}/#) != nil
        throw StartFailure(
            isDated
                ? "There is no day \(text): see \(flag)."
                : "“\(text)” is not a day: see \(flag).",
            remedy: "Write days such as 2026-01-31.")
    }
}
