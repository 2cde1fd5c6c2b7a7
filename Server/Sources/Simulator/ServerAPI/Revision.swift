import AppStoreFormats

/// How far a client has read a list: the position of the last transaction that it received, as two
/// numbers, `1657224467000_200000000000001`. A client can store the revision to fetch newer changes
/// later. In a descending list, a third number names the moment as of which the list is read.
struct Revision: Hashable, Comparable, Sendable {
    let moment: Int64
    let number: Int64
    /// The latest position in the list when the client began to read it in descending order.
    var start: Int64?

    init(moment: Int64, number: Int64, start: Int64? = nil) {
        self.moment = moment
        self.number = number
        self.start = start
    }

    /// Parses a revision. Returns nil if the text does not have the form of a revision.
    init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Int64($0) }
        guard (2...3).contains(parts.count), numbers.count == parts.count else { return nil }
        self.init(
            moment: numbers[0], number: numbers[1], start: numbers.count == 3 ? numbers[2] : nil)
    }

    var text: String { "\(moment)_\(number)" + (start.map { "_\($0)" } ?? "") }

    static func < (one: Self, other: Self) -> Bool {
        (one.moment, one.number) < (other.moment, other.number)
    }
}

/// A transaction in its current state, with its position in a list.
struct PositionedTransaction: Sendable {
    let position: Revision
    /// The moments of the positions that the transaction had before its last change, oldest first.
    var earlier: [Int64] = []
    let payload: TransactionPayload

    /// The transaction at the position that it had at a moment. Nil if it was not yet in the list.
    fileprivate func placed(asOf moment: Int64) -> Self? {
        guard position.moment > moment else { return self }
        guard let then = earlier.last(where: { $0 <= moment }) else { return nil }
        return Self(position: Revision(moment: then, number: position.number), payload: payload)
    }
}

/// The next transactions of a list after a revision.
struct TransactionPage: Sendable {
    let transactions: [TransactionPayload]
    let revision: Revision
    let hasMore: Bool

    /// Makes a page in ascending or descending order of positions.
    init(_ all: [PositionedTransaction], after last: Revision?, isDescending: Bool, length: Int) {
        if isDescending {
            self.init(descending: all, after: last, length: length)
        } else {
            let rest = all.sorted { $0.position < $1.position }
                .drop { transaction in last.map { transaction.position <= $0 } ?? false }
            self.init(rest, after: last, length: length)
        }
    }

    /// A changed transaction moves to a later position. A client that reads in descending order has
    /// already passed that position. So every page shows the list as it was when the first page was
    /// requested. The transactions themselves are returned in their current state.
    private init(descending all: [PositionedTransaction], after last: Revision?, length: Int) {
        let start = last?.start ?? all.map(\.position.moment).max() ?? 0
        let rest = all.compactMap { $0.placed(asOf: start) }
            .sorted { $0.position > $1.position }
            .drop { transaction in last.map { transaction.position >= $0 } ?? false }
        self.init(rest, after: last, length: length, start: start)
    }

    private init(
        _ rest: ArraySlice<PositionedTransaction>, after last: Revision?, length: Int,
        start: Int64? = nil
    ) {
        let page = rest.prefix(length)
        transactions = page.map(\.payload)
        var revision = page.last?.position ?? last ?? Revision(moment: 0, number: 0)
        revision.start = start
        self.revision = revision
        hasMore = rest.count > page.count
    }
}

/// When each transaction was last observed to change.
///
/// The world does not store the time of each change. While a virtual clock stands still, many
/// changes have the same time; a client that reads between two such changes would miss the later
/// change. Therefore positions are assigned when a list is read: a new or changed transaction gets
/// the time of its change. If that time is not later than all positions that its account already
/// has, the transaction gets a later one.
struct ChangeTracker: Sendable {
    private struct Seen {
        let payload: TransactionPayload
        /// The moments of all positions of the transaction, oldest first, never empty.
        let moments: [Int64]
    }

    private var seen: [String: Seen] = [:]
    private var latest: [Account.Key: Int64] = [:]

    /// The transactions of an account with their positions.
    mutating func positioned(
        _ payloads: [TransactionPayload], of account: Account.Key
    ) -> [PositionedTransaction] {
        let changed = payloads.filter { payload in
            seen[payload.transactionId ?? ""]?.payload != payload.unsigned
        }
        for payload in changed.sorted(by: { $0.age < $1.age }) {
            let moment = max(payload.lastModified, latest[account].map { $0 + 1 } ?? .min)
            let id = payload.transactionId ?? ""
            seen[id] = Seen(
                payload: payload.unsigned, moments: (seen[id]?.moments ?? []) + [moment])
            latest[account] = moment
        }
        return payloads.map { payload in
            let id = payload.transactionId ?? ""
            let moments = seen[id]?.moments ?? [payload.lastModified]
            let place = Revision(
                moment: moments.last ?? payload.lastModified, number: Int64(id) ?? 0)
            return PositionedTransaction(
                position: place, earlier: moments.dropLast(), payload: payload)
        }
    }
}

extension TransactionPayload {
    fileprivate var lastModified: Int64 {
        max(purchaseDate?.milliseconds ?? 0, revocationDate?.milliseconds ?? 0)
    }

    /// The sort key of transactions that appear in a list for the first time.
    fileprivate var age: Revision {
        Revision(moment: lastModified, number: transactionId.flatMap { Int64($0) } ?? 0)
    }

    /// The payload without the fields that change with every signature.
    fileprivate var unsigned: Self {
        var copy = self
        copy.signedDate = nil
        return copy
    }
}
