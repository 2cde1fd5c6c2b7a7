internal import PerennialContract

/// What of the outbox is posted next, and what becomes of what failed. A value without IO: the
/// engine reads and writes the file and sends the requests, and does what this says.
struct OutboxPosting: Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// Batches are being posted, one after the other.
        ///
        /// - isAwaited: whether somebody waits for it. If not, it obeys the budget.
        case posting(isAwaited: Bool)
    }

    /// What becomes of a batch that failed.
    enum Consequence: Hashable, Sendable {
        /// The budget held it back: the timer sends it when the budget allows that.
        case heldBack
        /// The server will never do it, and nothing is lost: it is taken off the list.
        case settled
        /// One of the documents is refused: each is posted by itself.
        case postedAlone
        /// The only document is refused. It is tried again a day later.
        case setApart(code: String)
        /// The batch is tried again later, and nothing is sent before.
        case postponed
    }

    /// The documents of one request.
    static let batchMax = 200
    /// The log-ins that wait to be written down. The oldest one goes.
    static let unwrittenMax = 100

    private(set) var state = State.idle
    /// The entries of requests that were refused as a whole. There are no more than the outbox has.
    private(set) var alone: Set<String> = []
    /// The documents of purchases that post themselves, so that they are not posted twice.
    private(set) var atOnce: Set<String> = []
    /// Who has signed in, where that could not be written down yet.
    private(set) var unwritten: [OutboxEntry] = []
    /// Whether documents were left out because there was no room for them.
    private(set) var isFull = false
}

// MARK: - One run

extension OutboxPosting {
    /// Returns whether a run begins. One that is under way goes on for whoever waits.
    mutating func begin(isAwaited: Bool) -> Bool {
        switch state {
        case .idle:
            state = .posting(isAwaited: isAwaited)
            return true
        case .posting(let wasAwaited):
            state = .posting(isAwaited: wasAwaited || isAwaited)
            return false
        }
    }

    mutating func finish() { state = .idle }

    var isPosting: Bool { state != .idle }

    var isAwaited: Bool { state == .posting(isAwaited: true) }

    /// The next documents of one customer, intent, placement and environment; or one debit. Nil if
    /// nothing is to be sent.
    ///
    /// - Parameter due: the entries that may be sent now, in their order.
    func batch(of due: [OutboxEntry]) -> [OutboxEntry]? {
        let due = due.filter { !$0.isAmong(atOnce) }
        guard let first = due.first else { return nil }
        guard case .document(let document) = first.content else { return [first] }
        if first.state != .waiting || alone.contains(first.id) { return [first] }
        let environment = document.environment
        // Lazily, because each look at the environment parses a document.
        let alike = due.lazy.filter { entry in
            guard case .document(let other) = entry.content else { return false }
            return entry.state == .waiting && !alone.contains(entry.id)
                && entry.customerID == first.customerID
                && other.intent == document.intent && other.placement == document.placement
                && other.environment == environment
        }
        return Array(alike.prefix(Self.batchMax))
    }

    /// When the first entry may be sent that is not sent already. Nil if there is none.
    /// Milliseconds; the past for what is due at once.
    func firstDue(of entries: [OutboxEntry]) -> Int64? {
        entries.filter { !$0.isAmong(atOnce) }.map { $0.nextTry?.milliseconds ?? .min }.min()
    }

    /// What becomes of a batch that failed.
    mutating func recordFailure(_ error: ServerError, of batch: [OutboxEntry]) -> Consequence {
        if error.isHeldBack { return .heldBack }
        if case .alias = batch.first?.content, error.problem?.status == 409 {
            // The server will not merge the two. A restore can still move the purchases.
            return .settled
        }
        guard !error.failure.isTemporary, error.isAboutDocuments else { return .postponed }
        guard batch.count == 1 else {
            alone.formUnion(batch.map(\.id))
            return .postedAlone
        }
        return .setApart(code: error.failure.code.rawValue)
    }

    /// What was settled and taken off the list needs no request of its own any more.
    mutating func recordCompleted(_ ids: [String]) { alone.subtract(ids) }
}

// MARK: - Room, purchases and log-ins

extension OutboxPosting {
    mutating func recordFull() { isFull = true }

    /// Something was sent, so there is room again. Returns whether documents were left out before.
    mutating func makeRoom() -> Bool {
        defer { isFull = false }
        return isFull
    }

    /// A purchase posts its document itself.
    mutating func beginPosting(_ text: String) { atOnce.insert(text) }

    mutating func finishPosting(_ text: String) { atOnce.remove(text) }

    /// Adds a log-in that has to be written down.
    mutating func add(_ login: OutboxEntry) {
        unwritten = (unwritten + [login]).suffix(Self.unwrittenMax)
    }

    /// The log-ins that are being written down now.
    mutating func removeUnwritten() -> [OutboxEntry] {
        defer { unwritten = [] }
        return unwritten
    }

    /// They could not be written. They come before those that were added meanwhile.
    mutating func restore(_ logins: [OutboxEntry]) { unwritten = logins + unwritten }

    mutating func removeLogins(of customer: String) {
        unwritten.removeAll { $0.customerID == customer }
    }
}

extension OutboxEntry.Document {
    /// As the payload names it; empty for a receipt.
    fileprivate var environment: String {
        kind == .receipt
            ? "" : TransactionPayload(StoreDocument(jws: text, isVerified: true))?.environment ?? ""
    }
}

extension ServerError {
    /// Whether the same documents would be refused again, whoever sends them. What stands before a
    /// server may find a body too large, too, and says so in its own form.
    fileprivate var isAboutDocuments: Bool {
        status == 413 || problem != nil && (status == 400 || status == 422)
    }
}
