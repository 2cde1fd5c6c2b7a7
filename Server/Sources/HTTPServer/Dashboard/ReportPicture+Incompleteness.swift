import Dashboard
import PerennialContract

extension ReportPicture {
    /// The notice that the report lacks changes. Nil if it lacks none, or only those of less than a
    /// minute.
    var incompleteness: Notice? {
        if result.isFilling {
            return Notice(
                .about, "Earlier purchases are still being counted.", "Numbers will grow.")
        }
        guard result.isBehind else { return nil }
        // 2026-12-01T12:00:03.000Z
        let time = result.completeUntil.map { Timestamp($0).description.prefix(19) }
        return Notice(
            .warning, "The database for reports is behind.",
            time.map {
                "Changes after \($0.replacing("T", with: " ")) UTC may be missing."
            } ?? "It contains no event of this app yet.")
    }
}
