import Testing

@testable import Perennial

/// Tests all transitions of ``Identity``.
@Suite struct IdentityTests {
    enum Event: CaseIterable, Sendable {
        case known, change, beginLeaving, finishLeaving

        /// Returns the result of the transition, or true if the transition has no result.
        func happen(to identity: inout Identity) -> Bool {
            switch self {
            case .known: identity.recordKnown()
            case .change: identity.recordChange()
            case .beginLeaving: return identity.beginLeaving()
            case .finishLeaving: identity.finishLeaving()
            }
            return true
        }
    }

    private static func identity(in state: Identity.State) -> Identity {
        var identity = Identity()
        switch state {
        case .unread: break
        case .changedUnread: identity.recordChange()
        case .known: identity.recordKnown()
        case .leaving:
            identity.recordKnown()
            _ = identity.beginLeaving()
        }
        return identity
    }

    private static let table: [(Identity.State, Event, Bool, Identity.State)] = [
        (.unread, .known, true, .known),
        (.unread, .change, true, .changedUnread),
        (.unread, .beginLeaving, false, .unread),
        (.unread, .finishLeaving, true, .unread),
        (.changedUnread, .known, true, .known),
        (.changedUnread, .change, true, .changedUnread),
        (.changedUnread, .beginLeaving, false, .changedUnread),
        (.changedUnread, .finishLeaving, true, .changedUnread),
        (.known, .known, true, .known),
        (.known, .change, true, .known),
        (.known, .beginLeaving, true, .leaving),
        (.known, .finishLeaving, true, .known),
        (.leaving, .known, true, .leaving),
        (.leaving, .change, true, .leaving),
        (.leaving, .beginLeaving, false, .leaving),
        (.leaving, .finishLeaving, true, .known),
    ]

    @Test(arguments: table)
    func `each event in each state of the identity leads to the expected state`(
        before: Identity.State, event: Event, result: Bool, after: Identity.State
    ) {
        var identity = Self.identity(in: before)
        #expect(identity.state == before)
        #expect(event.happen(to: &identity) == result)
        #expect(identity.state == after)
        #expect(identity.isChangedUnread == (after == .changedUnread))
    }

    @Test func `the table of the identity has every state and event`() {
        let states: [Identity.State] = [.unread, .changedUnread, .known, .leaving]
        #expect(Self.table.count == states.count * Event.allCases.count)
    }

    @Test func `the identity's files are read once, and again after a failure`() {
        var identity = Identity()
        #expect(identity.reading == .notBegun)
        #expect(identity.beginReading() == .first && identity.reading == .begun)
        #expect(identity.beginReading() == nil && identity.reading == .begun)
        identity.recordReadingFailure()
        #expect(identity.reading == .failed)
        #expect(identity.beginReading() == .again && identity.reading == .begun)
        #expect(identity.beginReading() == nil)
        identity.recordReadingFailure()
        #expect(identity.beginReading() == .again)
    }

    @Test func `if the files cannot be read, the customer stays the same`() {
        for state in [Identity.State.unread, .changedUnread, .known, .leaving] {
            var identity = Self.identity(in: state)
            _ = identity.beginReading()
            identity.recordReadingFailure()
            #expect(identity.state == state)
        }
    }
}
