/// How far the engine knows who the customer is. A value without IO: the engine reads the files,
/// and changes the customer.
struct Identity: Sendable {
    enum State: Hashable, Sendable {
        /// The files were not read yet: whom the app named at the launch counts, or else who was
        /// there before.
        case unread
        /// The customer was changed before the files could be read: that counts, and not who was
        /// there before.
        case changedUnread
        case known
        /// The server has refused the id of the customer, who is being left.
        case leaving
    }

    /// Whether the files of the device were read.
    enum Reading: Hashable, Sendable {
        case notBegun
        /// They are being read, or were read.
        case begun
        /// They could not be read, as before the first unlock. A later call tries again.
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
    /// Which attempt to read the files begins now. Nil: none, because one has begun.
    mutating func beginReading() -> Attempt? {
        defer { reading = .begun }
        switch reading {
        case .notBegun: return .first
        case .begun: return nil
        case .failed: return .again
        }
    }

    mutating func recordReadingFailure() { reading = .failed }

    /// The state of the device was read.
    mutating func recordKnown() {
        switch state {
        case .unread, .changedUnread: state = .known
        case .known, .leaving: break
        }
    }

    /// Somebody has signed in or out.
    mutating func recordChange() {
        switch state {
        case .unread: state = .changedUnread
        case .changedUnread, .known, .leaving: break
        }
    }

    /// Returns whether the customer has to be left: two answers may say so at a time. Nobody is
    /// left before the files were read, because nothing is sent before.
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
