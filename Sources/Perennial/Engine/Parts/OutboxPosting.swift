internal import PerennialContract

/// Decides which entries of the outbox are posted next, and what happens to entries that failed. A
/// value without IO: the engine reads and writes the file, sends the requests, and follows these
/// decisions.
struct OutboxPosting: Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// Batches are being posted, one after the other.
        ///
        /// - isAwaited: whether a caller waits for the run. Otherwise the run obeys the budget.
        case posting(isAwaited: Bool)
    }

    /// What happens to a batch that failed.
    enum Consequence: Hashable, Sendable {
        /// The budget delayed the batch. The timer sends the batch when the budget allows it.
        case heldBack
        /// The server will never accept the batch, but the customer loses nothing. The batch is
        /// removed from the outbox.
        case settled
        /// The server refuses one of several documents. Each document is then posted alone.
        case postedAlone
        /// The server refuses the only document of the batch. The document is sent again a day
        /// later.
        case setApart(code: String)
        /// The batch is sent again later. Until then no other batch is sent.
        case postponed
    }

    /// The maximum number of documents in one request.
    static let batchMax = 200
    /// The maximum number of log-ins that wait to be saved. A further log-in replaces the oldest.
    static let unwrittenMax = 100

    private(set) var state = State.idle
    /// The ids of entries that are posted alone, because a request with several of them was
    /// refused. There are at most as many ids as entries in the outbox.
    private(set) var alone: Set<String> = []
    /// The documents that a purchase posts itself. A run of the outbox skips them, so that they are
    /// not posted twice.
    private(set) var atOnce: Set<String> = []
    /// Log-ins that could not be saved yet.
    private(set) var unwritten: [OutboxEntry] = []
    /// Whether documents were left out because the outbox had no room.
    private(set) var isFull = false
}

// MARK: - One run

extension OutboxPosting {
    /// Returns whether a run begins. A run in progress also serves the new caller.
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

    /// The next batch: documents that share customer, intent, placement and environment, or one
    /// debit. Nil if nothing must be sent.
    ///
    /// - Parameter due: the entries that may be sent now, in their order.
    func batch(of due: [OutboxEntry]) -> [OutboxEntry]? {
        let due = due.filter { !$0.isAmong(atOnce) }
        guard let first = due.first else { return nil }
        guard case .document(let document) = first.content else { return [first] }
        if first.state != .waiting || alone.contains(first.id) { return [first] }
        let environment = document.environment
        // Evaluated lazily, because reading the environment requires parsing a document.
        let alike = due.lazy.filter { entry in
            guard case .document(let other) = entry.content else { return false }
            return entry.state == .waiting && !alone.contains(entry.id)
                && entry.customerID == first.customerID
                && other.intent == document.intent && other.placement == document.placement
                && other.environment == environment
        }
        return Array(alike.prefix(Self.batchMax))
    }

    /// When the first entry that is not being sent may be sent, in milliseconds since 1970. The
    /// smallest number if an entry is already due. Nil if there is no such entry.
    func firstDue(of entries: [OutboxEntry], at now: Timestamp) -> Int64? {
        entries.filter { !$0.isAmong(atOnce) }
            .map { $0.isDue(at: now) ? .min : $0.nextTry?.milliseconds ?? .min }.min()
    }

    /// Decides what happens to a batch that failed.
    mutating func recordFailure(_ error: ServerError, of batch: [OutboxEntry]) -> Consequence {
        if error.isHeldBack { return .heldBack }
        if case .alias = batch.first?.content, error.problem?.status == 409 {
            // The server will not merge the two customers. But a restore can still move the
            // purchases.
            return .settled
        }
        guard !error.failure.isTemporary, error.isAboutDocuments else { return .postponed }
        guard batch.count == 1 else {
            alone.formUnion(batch.map(\.id))
            return .postedAlone
        }
        return .setApart(code: error.failure.code.rawValue)
    }

    /// Records that these entries were removed from the outbox, so that they need no separate
    /// request any more.
    mutating func recordCompleted(_ ids: [String]) { alone.subtract(ids) }
}

// MARK: - Room, purchases and log-ins

extension OutboxPosting {
    mutating func recordFull() { isFull = true }

    /// Records that an entry was sent, so that the outbox has room again. Returns whether documents
    /// were left out before, because the outbox was full.
    mutating func makeRoom() -> Bool {
        defer { isFull = false }
        return isFull
    }

    /// Records that a purchase posts its document itself.
    mutating func beginPosting(_ text: String) { atOnce.insert(text) }

    mutating func finishPosting(_ text: String) { atOnce.remove(text) }

    /// Adds a log-in that has to be saved.
    mutating func add(_ login: OutboxEntry) {
        unwritten = (unwritten + [login]).suffix(Self.unwrittenMax)
    }

    /// Removes and returns the log-ins that are about to be saved.
    mutating func removeUnwritten() -> [OutboxEntry] {
        defer { unwritten = [] }
        return unwritten
    }

    /// Adds back log-ins that could not be saved. These log-ins come before log-ins that were added
    /// meanwhile.
    mutating func restore(_ logins: [OutboxEntry]) { unwritten = logins + unwritten }

    mutating func removeLogins(of customer: String) {
        unwritten.removeAll { $0.customerID == customer }
    }
}

extension OutboxEntry.Document {
    /// The environment that the payload names. Empty for a receipt.
    fileprivate var environment: String {
        kind == .receipt
            ? "" : TransactionPayload(StoreDocument(jws: text, isVerified: true))?.environment ?? ""
    }
}

extension ServerError {
    /// Whether the failure is about the documents themselves, so that the same request would fail
    /// again. A proxy that refuses a large body counts, too, although its response has another
    /// form.
    fileprivate var isAboutDocuments: Bool {
        status == 413 || problem != nil && (status == 400 || status == 422)
    }
}
