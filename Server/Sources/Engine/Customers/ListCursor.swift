import Crypto
import Ledger

/// A position in a list: the last entry that was returned, identified by its time and a digest of
/// its content. An index would not identify the entry: late entries are inserted in the middle, so
/// the number of entries before a position can change.
package struct ListCursor: Hashable, Sendable {
    private static let nameDigits = 16

    let at: Instant
    let name: String

    /// - Parameter words: texts that distinguish the entry from all other entries of the same time.
    fileprivate init(at moment: Instant, _ words: [String]) {
        at = moment
        let digest = SHA256.hash(data: Array(words.joined(separator: "\n").utf8))
        name = String(Hexadecimal.text(Array(digest)).prefix(Self.nameDigits))
    }

    /// Parses a cursor. Returns nil if the text is not a valid cursor.
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

// If the entry of a position no longer exists, all entries of its time are returned again, so that
// no entry is skipped.

extension [HistoryLine] {
    /// The entries after a position. Returns all entries if the position is nil.
    package func rest(after position: ListCursor?) -> ArraySlice<HistoryLine> {
        guard let position else { return self[...] }
        let later = drop { $0.at < position.at }
        let last = later.prefix { $0.at == position.at }.lastIndex { $0.position == position }
        return last.map { later[($0 + 1)...] } ?? later
    }
}

extension Wallet {
    /// The entries before a position, oldest first. Returns all entries if the position is nil.
    package func entries(before position: ListCursor?) -> ArraySlice<Entry> {
        guard let position else { return entries[...] }
        let earlier = entries.prefix { $0.at <= position.at }
        return earlier.lastIndex { $0.position == position }.map { earlier[..<$0] } ?? earlier
    }
}

extension [SeatClaim] {
    /// The claims after a position. Returns all claims if the position is nil.
    package func rest(after position: ListCursor?) -> ArraySlice<SeatClaim> {
        guard let position else { return self[...] }
        let later = drop { $0.claimedAt < position.at }
        let last = later.prefix { $0.claimedAt == position.at }
            .lastIndex { $0.position == position }
        return last.map { later[($0 + 1)...] } ?? later
    }
}

extension SeatClaim {
    package var position: ListCursor { ListCursor(at: claimedAt, ["seat", id.rawValue]) }
}

extension HistoryLine {
    package var position: ListCursor {
        ListCursor(
            at: at,
            [
                kind.rawValue, purchase?.description ?? "", document?.rawValue ?? "",
                reference ?? "", stableSentence,
            ])
    }

    /// The entry's sentence, if it never changes. Empty for entries whose sentence changes when
    /// their result becomes known.
    private var stableSentence: String {
        switch kind {
        case .consumption, .transfer, .share: ""
        case .fact, .link, .block, .grant, .debit, .credit, .event: sentence
        }
    }
}

extension Wallet.Entry {
    package var position: ListCursor {
        switch cause {
        case .purchase(let transaction, _):
            ListCursor(at: at, ["purchase", transaction.rawValue])
        case .refund(let transaction, _): ListCursor(at: at, ["refund", transaction.rawValue])
        case .debit(let id, _): ListCursor(at: at, ["debit", id.rawValue])
        case .credit(let id, _): ListCursor(at: at, ["credit", id.rawValue])
        }
    }
}
