import AppStoreFormats

/// How far a client has read a list: the place of the last transaction that it was given, as two
/// numbers, `1657224467000_200000000000001`. Kept, it later leads to what is new since.
struct Revision: Hashable, Comparable, Sendable {
    let moment: Int64
    let number: Int64

    init(moment: Int64, number: Int64) {
        self.moment = moment
        self.number = number
    }

    /// Nil for what no answer has contained.
    init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let moment = Int64(parts[0]), let number = Int64(parts[1]) else {
            return nil
        }
        self.init(moment: moment, number: number)
    }

    var text: String { "\(moment)_\(number)" }

    static func < (one: Self, other: Self) -> Bool {
        (one.moment, one.number) < (other.moment, other.number)
    }
}

/// A transaction as it stands, with its place in a list.
struct PlacedTransaction: Sendable {
    let place: Revision
    let payload: TransactionPayload
}

/// The next transactions of a list after a revision.
struct TransactionPage: Sendable {
    let transactions: [TransactionPayload]
    let revision: Revision
    let hasMore: Bool

    /// In order of their places, or against it.
    init(_ all: [PlacedTransaction], after last: Revision?, isDescending: Bool, length: Int) {
        let sorted = all.sorted { isDescending ? $0.place > $1.place : $0.place < $1.place }
        let rest = sorted.drop { transaction in
            guard let last else { return false }
            return isDescending ? transaction.place >= last : transaction.place <= last
        }
        let page = rest.prefix(length)
        transactions = page.map(\.payload)
        revision = page.last?.place ?? last ?? Revision(moment: 0, number: 0)
        hasMore = rest.count > page.count
    }
}

/// When each transaction was last seen to change.
///
/// The world does not keep the time of each change; and while a virtual clock stands still many
/// changes have one time, so that a client which reads in between would miss the later. So places
/// are given out when a list is read: to a transaction that is new, or no longer as it was, the
/// time of its change, but later than all places that its account was given before.
struct Modifications: Sendable {
    private struct Seen {
        let payload: TransactionPayload
        let moment: Int64
    }

    private var seen: [String: Seen] = [:]
    private var latest: [Account.Key: Int64] = [:]

    /// The transactions of an account with their places.
    mutating func place(
        _ payloads: [TransactionPayload], of account: Account.Key
    ) -> [PlacedTransaction] {
        let changed = payloads.filter { payload in
            seen[payload.transactionId ?? ""]?.payload != payload.unsigned
        }
        for payload in changed.sorted(by: { $0.age < $1.age }) {
            let moment = max(payload.lastModified, latest[account].map { $0 + 1 } ?? .min)
            seen[payload.transactionId ?? ""] = Seen(payload: payload.unsigned, moment: moment)
            latest[account] = moment
        }
        return payloads.map { payload in
            let id = payload.transactionId ?? ""
            let place = Revision(
                moment: seen[id]?.moment ?? payload.lastModified, number: Int64(id) ?? 0)
            return PlacedTransaction(place: place, payload: payload)
        }
    }
}

extension TransactionPayload {
    fileprivate var lastModified: Int64 {
        max(purchaseDate?.milliseconds ?? 0, revocationDate?.milliseconds ?? 0)
    }

    /// What orders those that a list has for the first time.
    fileprivate var age: Revision {
        Revision(moment: lastModified, number: transactionId.flatMap { Int64($0) } ?? 0)
    }

    /// Without what every signature changes.
    fileprivate var unsigned: Self {
        var copy = self
        copy.signedDate = nil
        return copy
    }
}
