import Crypto
import Ledger

/// Where a reading of a list has come to: the line that was told last, by its moment and its name.
/// Not by its number: what comes late is told in the midst, so that the lines before a place become
/// more or fewer.
package struct ListPosition: Hashable, Sendable {
    private static let nameDigits = 16

    let at: Instant
    let name: String

    /// - Parameter words: by which the line is told from all others of its moment.
    fileprivate init(at moment: Instant, _ words: [String]) {
        at = moment
        let digest = SHA256.hash(data: Array(words.joined(separator: "\n").utf8))
        name = String(Hexadecimal.text(Array(digest)).prefix(Self.nameDigits))
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

// Where the line of a place is gone, all of its moment is told again, rather than anything left
// out.

extension [HistoryLine] {
    /// What comes after a place; all of it where there is none.
    package func rest(after position: ListPosition?) -> ArraySlice<HistoryLine> {
        guard let position else { return self[...] }
        let later = drop { $0.at < position.at }
        let last = later.prefix { $0.at == position.at }.lastIndex { $0.position == position }
        return last.map { later[($0 + 1)...] } ?? later
    }
}

extension Wallet {
    /// What came before a place, the eldest first; all of it where there is none.
    package func entries(before position: ListPosition?) -> ArraySlice<Entry> {
        guard let position else { return entries[...] }
        let earlier = entries.prefix { $0.at <= position.at }
        return earlier.lastIndex { $0.position == position }.map { earlier[..<$0] } ?? earlier
    }
}

extension HistoryLine {
    package var position: ListPosition {
        ListPosition(
            at: at,
            [
                kind.rawValue, purchase?.description ?? "", document?.rawValue ?? "",
                reference ?? "", lastingSentence,
            ])
    }

    /// Empty where it is said otherwise once something has come of it.
    private var lastingSentence: String {
        switch kind {
        case .consumption, .transfer, .share: ""
        case .fact, .link, .block, .grant, .debit, .event: sentence
        }
    }
}

extension Wallet.Entry {
    package var position: ListPosition {
        switch cause {
        case .purchase(let transaction, _):
            ListPosition(at: at, ["purchase", transaction.rawValue])
        case .refund(let transaction, _): ListPosition(at: at, ["refund", transaction.rawValue])
        case .debit(let id, _): ListPosition(at: at, ["debit", id.rawValue])
        }
    }
}
