/// Suggestions for misspelt words.
package enum Spelling {
    /// Returns the most similar known word, if it is similar enough to be a typing mistake.
    package static func nearest(to word: String, among known: some Sequence<String>) -> String? {
        let slipsMax = word.count < 4 ? 1 : max(2, word.count / 3)
        return known.map { (word: $0, slips: distance(word, $0)) }
            // Leaves out words that share no letter with the given word.
            .filter { $0.slips <= slipsMax && $0.slips < max(word.count, $0.word.count) }
            .min { ($0.slips, $0.word) < ($1.slips, $1.word) }?.word
    }

    /// Returns a remedy for an unknown word: the most similar known word, or else the other text.
    package static func remedy(
        for word: String, among known: some Sequence<String>, else other: String
    ) -> String {
        nearest(to: word, among: known).map { "Did you mean \($0)?" } ?? other
    }

    /// The number of letters to change, insert, or remove (Levenshtein distance), computed row by
    /// row.
    package static func distance(_ one: String, _ other: String) -> Int {
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
