/// Which of the App Store's announcements are recorded next, and when the store is read again. A
/// value without IO: the engine reads the store, and records what it says.
struct StoreReader: Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// A task has begun, or has to go on: there is something that it has not recorded.
        case due
        /// A task records what was announced. Nothing was announced since it began.
        case recording
    }

    /// The time after which a lapse is looked at again. Milliseconds; a little more than the rules
    /// ask for.
    static let secondLookWait: Int64 = 31_000

    private(set) var state = State.idle
    /// When the store is read again, because it said something that counts only if it says it
    /// twice. Monotonic milliseconds. Nil if that is not planned.
    private(set) var secondLookAt: Int64?
    /// What the store has announced and is not recorded yet.
    private var announced: [StoreDocument] = []
    /// Renewal infos that were posted, so that none is posted twice.
    private var postedRenewals: Set<String> = []
}

// MARK: - Announcements

extension StoreReader {
    /// What the store announces is recorded with the next run.
    mutating func announce(_ document: StoreDocument) { announced.append(document) }

    /// The store has to be read, with all that was announced. Returns whether a task has to begin;
    /// one that runs already goes on.
    mutating func start() -> Bool {
        defer { state = .due }
        return state == .idle
    }

    /// What is recorded now, at once: it may be nothing. Nil if the task has nothing more to do.
    mutating func next() -> [StoreDocument]? {
        guard state == .due else {
            state = .idle
            return nil
        }
        state = .recording
        defer { announced = [] }
        return announced
    }

    /// The task has ended.
    mutating func finish() { state = .idle }
}

// MARK: - A second look, and renewals

extension StoreReader {
    /// Plans a second look, unless one is planned.
    ///
    /// - Parameter now: monotonic milliseconds.
    mutating func planSecondLook(at now: Int64) {
        secondLookAt = secondLookAt ?? now + Self.secondLookWait
    }

    /// Returns whether the second look is due. If so, it is not planned any more.
    ///
    /// - Parameter now: monotonic milliseconds.
    mutating func beginSecondLook(at now: Int64) -> Bool {
        guard let at = secondLookAt, at <= now else { return false }
        secondLookAt = nil
        return true
    }

    /// Returns whether a renewal info has to be posted: once.
    mutating func post(_ renewalInfo: String) -> Bool {
        postedRenewals.insert(renewalInfo).inserted
    }
}
