import Crypto
import Ledger

/// Where a reading of a history has come to: the line that was told last, by its moment and its
/// name. Not by its number: a document that comes late is told in the midst, and of events only the
/// last are, so that the lines before a place become more or fewer.
package struct HistoryPosition: Hashable, Sendable {
    private static let nameDigits = 16

    let at: Instant
    let name: String

    package init(after line: HistoryLine) {
        at = line.at
        name = String(line.digest.prefix(Self.nameDigits))
    }

    /// Nil for what is no ``text``.
    package init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let moment = Int64(parts[0]), parts[1].utf8.count == Self.nameDigits
        else { return nil }
        at = Instant(milliseconds: moment)
        name = String(parts[1])
        guard self.text == text, Hexadecimal.bytes(name) != nil else { return nil }
    }

    package var text: String { "\(at.milliseconds)_\(name)" }
}

extension [HistoryLine] {
    /// What comes after a place; all of it where there is none. Where the line of that place is
    /// gone, all of its moment is told again, rather than anything left out.
    package func rest(after position: HistoryPosition?) -> ArraySlice<HistoryLine> {
        guard let position else { return self[...] }
        let later = drop { $0.at < position.at }
        let last = later.prefix { $0.at == position.at }.lastIndex {
            HistoryPosition(after: $0) == position
        }
        return last.map { later[($0 + 1)...] } ?? later
    }
}

extension HistoryLine {
    fileprivate var digest: String {
        let parts = [
            kind.rawValue, purchase?.description ?? "", document?.rawValue ?? "", reference ?? "",
            lastingSentence,
        ]
        return Hexadecimal.text(Array(SHA256.hash(data: Array(parts.joined(separator: "\n").utf8))))
    }

    /// Empty where it is said otherwise once something has come of it.
    private var lastingSentence: String {
        switch kind {
        case .consumption, .transfer, .share: ""
        case .fact, .link, .block, .grant, .debit, .event: sentence
        }
    }
}
