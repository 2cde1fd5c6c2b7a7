import Testing

@testable import Perennial

/// Tests all transitions of ``ServerSession``.
@Suite struct ServerSessionTests {
    private static let failingOnce = ServerSession.State.failing(inARow: 1, silentUntil: nil)
    private static let silent = ServerSession.State.failing(inARow: 0, silentUntil: 3_000)
    private static let failingAndSilent = ServerSession.State.failing(
        inARow: 1, silentUntil: 3_000)

    private static let failingTwiceAndSilent = ServerSession.State.failing(
        inARow: 2, silentUntil: 3_000)

    /// The result of a request, at the time 1 000 in milliseconds of the monotonic clock.
    enum Event: Sendable {
        case answer
        case temporaryFailure
        case temporaryFailureWithWait
        case lastingFailure
        case lastingFailureWithWait
        case refusal

        func happen(to session: inout ServerSession) {
            switch self {
            case .answer: session.recordAnswer()
            case .temporaryFailure:
                session.recordFailure(isTemporary: true, retryAfter: nil, at: 1_000)
            case .temporaryFailureWithWait:
                session.recordFailure(isTemporary: true, retryAfter: 2, at: 1_000)
            case .lastingFailure:
                session.recordFailure(isTemporary: false, retryAfter: nil, at: 1_000)
            case .lastingFailureWithWait:
                session.recordFailure(isTemporary: false, retryAfter: 2, at: 1_000)
            case .refusal: session.recordRefusal()
            }
        }
    }

    private static let table: [([Event], Event, ServerSession.State)] = [
        ([], .answer, .answering),
        ([], .temporaryFailure, failingOnce),
        ([], .temporaryFailureWithWait, failingAndSilent),
        ([], .lastingFailure, .answering),
        ([], .lastingFailureWithWait, silent),
        ([], .refusal, failingOnce),
        ([.temporaryFailure], .answer, .answering),
        ([.temporaryFailure], .temporaryFailure, .failing(inARow: 2, silentUntil: nil)),
        (
            [.temporaryFailure], .temporaryFailureWithWait,
            .failing(inARow: 2, silentUntil: 3_000)
        ),
        ([.temporaryFailure], .lastingFailure, failingOnce),
        ([.temporaryFailure], .lastingFailureWithWait, failingAndSilent),
        ([.temporaryFailure], .refusal, .failing(inARow: 2, silentUntil: nil)),
        ([.lastingFailureWithWait], .answer, .answering),
        ([.lastingFailureWithWait], .temporaryFailure, failingAndSilent),
        ([.lastingFailureWithWait], .temporaryFailureWithWait, failingAndSilent),
        ([.lastingFailureWithWait], .lastingFailure, silent),
        ([.lastingFailureWithWait], .lastingFailureWithWait, silent),
        ([.lastingFailureWithWait], .refusal, failingAndSilent),
        ([.temporaryFailureWithWait], .answer, .answering),
        ([.temporaryFailureWithWait], .temporaryFailure, failingTwiceAndSilent),
        ([.temporaryFailureWithWait], .temporaryFailureWithWait, failingTwiceAndSilent),
        ([.temporaryFailureWithWait], .lastingFailure, failingAndSilent),
        ([.temporaryFailureWithWait], .lastingFailureWithWait, failingAndSilent),
        ([.temporaryFailureWithWait], .refusal, failingTwiceAndSilent),
    ]

    @Test(arguments: table)
    func `each result of a request leads to the expected state of the session`(
        before: [Event], event: Event, after: ServerSession.State
    ) {
        var session = ServerSession()
        for event in before { event.happen(to: &session) }
        event.happen(to: &session)
        #expect(session.state == after)
    }

    @Test func `if the server requests several waits, the last one is used`() {
        var session = ServerSession()
        session.recordFailure(isTemporary: true, retryAfter: 60, at: 1_000)
        session.recordFailure(isTemporary: true, retryAfter: 2, at: 5_000)
        #expect(session.state == .failing(inARow: 2, silentUntil: 7_000))
        session.recordFailure(isTemporary: true, retryAfter: nil, at: 6_000)
        #expect(session.state == .failing(inARow: 3, silentUntil: 7_000))
    }

    @Test func `a pause that the server requests ends after the requested time`() {
        var session = ServerSession()
        #expect(session.silence(at: 1_000) == 0)
        session.recordFailure(isTemporary: true, retryAfter: 2, at: 1_000)
        #expect(session.silence(at: 1_000) == 2_000)
        #expect(session.silence(at: 2_999) == 1)
        #expect(session.silence(at: 3_000) == 0)
        #expect(session.silence(at: 9_000) == 0)
        #expect(session.failuresInARow == 1, "The failure counts until the next answer.")
    }

    @Test(arguments: ServerSession.Need.allCases)
    func `a required request stays required until it succeeds`(need: ServerSession.Need) {
        var session = ServerSession()
        #expect(session.needs == [])
        session.require(need)
        session.require(need)
        #expect(session.needs == [need] && session.requires(need))
        #expect(session.mustAskCustomer == (need != .offerings))
        session.satisfy(need)
        session.satisfy(need)
        #expect(session.needs == [])
    }

    @Test(arguments: [true, false], [true, false])
    func `the SDK requests the customer again only after a temporary failure`(
        isTemporary: Bool, wasRequired: Bool
    ) {
        var session = ServerSession()
        session.require(.offerings)
        if wasRequired { session.require(.customer) }
        session.recordCustomerFailure(isTemporary: isTemporary)
        #expect(session.requires(.customer) == isTemporary)
        #expect(session.requires(.offerings))
    }

    /// An event that may change the stored tag of the server's last answer.
    enum TagEvent: Sendable {
        case tagged(String?)
        case untagged
        case forgotten

        func happen(to session: inout ServerSession) {
            switch self {
            case .tagged(let tag): session.setTag(tag)
            case .untagged: session.recordUntagged()
            case .forgotten: session.forgetTag()
            }
        }
    }

    private static let tags: [([TagEvent], ServerSession.CustomerTag)] = [
        ([], .none),
        ([.untagged], .none),
        ([.forgotten], .none),
        ([.tagged("a")], .current("a")),
        ([.tagged(nil)], .none),
        ([.tagged("a"), .tagged("b")], .current("b")),
        ([.tagged("a"), .tagged(nil)], .none),
        ([.tagged("a"), .untagged], .outdated("a")),
        ([.tagged("a"), .forgotten], .none),
        ([.tagged("a"), .untagged, .tagged("b")], .current("b")),
        ([.tagged("a"), .untagged, .untagged], .outdated("a")),
        ([.tagged("a"), .untagged, .forgotten], .none),
    ]

    @Test(arguments: tags)
    func `an ETag is current until another answer is accepted`(
        events: [TagEvent], tag: ServerSession.CustomerTag
    ) {
        var session = ServerSession()
        for event in events { event.happen(to: &session) }
        #expect(session.customerTag == tag)
        switch tag {
        case .none: #expect(session.currentTag == nil && session.lastTag == nil)
        case .current(let text):
            #expect(session.currentTag == text && session.lastTag == text)
        case .outdated(let text):
            #expect(session.currentTag == nil && session.lastTag == text)
        }
    }

    @Test func `one task at a time follows the changes of one customer`() {
        var session = ServerSession()
        #expect(session.follow("anna") && session.followed == "anna")
        #expect(session.follow("anna") == false)
        #expect(session.follow("ben") && session.followed == "ben")
        session.stopFollowing()
        #expect(session.followed == nil)
        #expect(session.follow("ben") == true)
    }

    @Test func `the budget delays only requests that no caller waits for`() throws {
        var session = ServerSession()
        let now = RequestBudget.Moment(device: 0, machine: 0)
        let free = RequestBudget.perMinute - RequestBudget.keptFree
        for number in 1...free {
            #expect(try session.countRequest(isAwaited: false, at: now) == number)
        }
        #expect(throws: ServerError.self) {
            try session.countRequest(isAwaited: false, at: now)
        }
        #expect(try session.countRequest(isAwaited: true, at: now) == free + 1)
        #expect(session.requestsSent == free + 1, "What is held back is not counted.")
    }

    @Test func `the session requests the server's keys once a minute at most`() {
        var session = ServerSession()
        #expect(session.mayFetchKeys(at: 5) == true)
        #expect(session.mayFetchKeys(at: 60_004) == false)
        #expect(session.mayFetchKeys(at: 60_005) == true)
        #expect(session.mayFetchKeys(at: 60_006) == false)
    }
}
