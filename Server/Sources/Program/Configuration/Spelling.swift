/// Which word somebody may have meant.
enum Spelling {
    /// The nearest of the known words, where one is near enough to be a slip of the fingers.
    static func nearest(to word: String, among known: some Sequence<String>) -> String? {
        let slipsMax = word.count < 4 ? 1 : max(2, word.count / 3)
        return known.map { (word: $0, slips: distance(word, $0)) }
            .filter { $0.slips <= slipsMax }
            .min { ($0.slips, $0.word) < ($1.slips, $1.word) }?.word
    }

    /// What to do about a word that is not known: to write the nearest, where there is one.
    static func remedy(
        for word: String, among known: some Sequence<String>, else other: String
    ) -> String {
        nearest(to: word, among: known).map { "Did you mean \($0)?" } ?? other
    }

    /// Letters to change, put in or leave out (Levenshtein), row by row of the usual table.
    static func distance(_ one: String, _ other: String) -> Int {
        let columns = Array(other)
        var row = Array(0...columns.count)
        for (line, letter) in one.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, theirs) in columns.enumerated() {
                let changed = diagonal + (letter == theirs ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
            }
        }
        return row[columns.count]
    }
}
