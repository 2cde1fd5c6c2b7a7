/// Decides which announcements of the App Store are recorded next, and when the store is read
/// again. A value without IO: the engine reads the store, and records its documents.
struct StoreReader: Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// A task must begin or continue, because some announcements are not recorded yet.
        case due
        /// A task records the announced documents. Nothing new was announced since it began.
        case recording
    }

    /// The time in milliseconds after which a lapse is checked again. The rules require a little
    /// less.
    static let secondLookWait: Int64 = 31_000

    private(set) var state = State.idle
    /// When the store is read again, in monotonic milliseconds, because it reported a state that
    /// counts only if the store reports it twice. Nil if no second look is planned.
    private(set) var secondLookAt: Int64?
    /// The announced documents that are not recorded yet.
    private var announced: [StoreDocument] = []
    /// Renewal infos that were posted. None of them is posted again.
    private var postedRenewals: Set<String> = []
}

// MARK: - Announcements

extension StoreReader {
    /// Adds an announced document, to be recorded by the next run.
    mutating func announce(_ document: StoreDocument) { announced.append(document) }

    /// Records that the store must be read. Returns whether a task must begin. If a task is
    /// running, that task reads the store.
    mutating func start() -> Bool {
        defer { state = .due }
        return state == .idle
    }

    /// The documents to record now, possibly none. Nil if the task has nothing left to do.
    mutating func next() -> [StoreDocument]? {
        guard state == .due else {
            state = .idle
            return nil
        }
        state = .recording
        defer { announced = [] }
        return announced
    }

    /// Records that the task has ended.
    mutating func finish() { state = .idle }
}

// MARK: - A second look, and renewals

extension StoreReader {
    /// Plans a second look at the store, unless a second look is already planned.
    ///
    /// - Parameter now: monotonic milliseconds.
    mutating func planSecondLook(at now: Int64) {
        secondLookAt = secondLookAt ?? now + Self.secondLookWait
    }

    /// Returns whether the second look is due. If it is due, also removes the plan for it.
    ///
    /// - Parameter now: monotonic milliseconds.
    mutating func beginSecondLook(at now: Int64) -> Bool {
        guard let at = secondLookAt, at <= now else { return false }
        secondLookAt = nil
        return true
    }

    /// Returns whether a renewal info must be posted. The result is true once for each renewal
    /// info.
    mutating func post(_ renewalInfo: String) -> Bool {
        postedRenewals.insert(renewalInfo).inserted
    }
}
