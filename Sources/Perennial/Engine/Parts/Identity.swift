/// What the engine knows about who the customer is. A value without IO: the engine reads the files,
/// and changes the customer.
struct Identity: Sendable {
    enum State: Hashable, Sendable {
        /// The files were not read yet. The customer is the one whom the app named at the launch,
        /// or else the last one of this device.
        case unread
        /// The customer was changed before the files could be read. The new customer counts, not
        /// the stored one.
        case changedUnread
        case known
        /// The server has refused the customer's id, and the engine is leaving that customer.
        case leaving
    }

    /// Whether the files of the device were read.
    enum Reading: Hashable, Sendable {
        case notBegun
        /// They are being read, or were read.
        case begun
        /// They could not be read, for example before the first unlock. A later call tries again.
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
    /// Begins an attempt to read the files, and returns it. Nil if one has already begun.
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

    /// Returns whether the engine has to leave the customer: two answers may refuse the id at the
    /// same time. No customer is left before the files were read, because nothing is sent before.
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
