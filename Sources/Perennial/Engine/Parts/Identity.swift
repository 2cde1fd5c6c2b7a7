/// What the engine knows about the identity of the customer. A value without IO: the engine reads
/// the files, and changes the customer.
struct Identity: Sendable {
    enum State: Hashable, Sendable {
        /// The files were not read yet. The present customer is the customer whom the app named at
        /// the launch or, without a name, the last customer of this device.
        case unread
        /// The customer was changed before the files could be read. The new customer counts instead
        /// of the stored customer.
        case changedUnread
        case known
        /// The server has refused the customer's id, and the engine is leaving that customer.
        case leaving
    }

    /// Whether the files of the device were read.
    enum Reading: Hashable, Sendable {
        case notBegun
        /// The files are being read, or were read.
        case begun
        /// The files could not be read, for example before the first unlock. A later call tries
        /// again.
        case failed
    }

    enum Attempt: Hashable, Sendable {
        case first
        case again
    }

    private(set) var state = State.unread
    private(set) var reading = Reading.notBegun
}

extension Identity {
    /// Begins an attempt to read the files, and returns the attempt. Returns nil if an attempt has
    /// already begun.
    mutating func beginReading() -> Attempt? {
        defer { reading = .begun }
        switch reading {
        case .notBegun: return .first
        case .begun: return nil
        case .failed: return .again
        }
    }

    mutating func recordReadingFailure() { reading = .failed }

    /// Records that the state of the device was read.
    mutating func recordKnown() {
        switch state {
        case .unread, .changedUnread: state = .known
        case .known, .leaving: break
        }
    }

    /// Records that a customer has signed in or out.
    mutating func recordChange() {
        switch state {
        case .unread: state = .changedUnread
        case .changedUnread, .known, .leaving: break
        }
    }

    /// Returns whether the engine must leave the customer. False for the second of two answers that
    /// refuse the id at the same time. Also false before the files were read, because nothing is
    /// sent earlier.
    mutating func beginLeaving() -> Bool {
        guard state == .known else { return false }
        state = .leaving
        return true
    }

    mutating func finishLeaving() {
        if state == .leaving { state = .known }
    }

    /// Whether the customer was changed before the files could be read.
    var isChangedUnread: Bool { state == .changedUnread }
}
