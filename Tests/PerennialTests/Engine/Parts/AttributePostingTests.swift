import PerennialContract
import Testing

@testable import Perennial

/// Tests all transitions of ``AttributePosting``.
@Suite struct AttributePostingTests {
    private static func change(
        _ name: String, for customer: String? = "anna"
    ) -> PendingAttribute {
        PendingAttribute(
            customerID: customer, name: name, value: "x",
            setAt: .init(Timestamp(milliseconds: 0), monotonic: 0, bootID: "boot"))
    }

    // MARK: - One run

    private static let runs: [(AttributePosting.State, Bool, Bool, AttributePosting.State)] = [
        (.idle, false, true, .posting(isAwaited: false)),
        (.idle, true, true, .posting(isAwaited: true)),
        (.posting(isAwaited: false), false, false, .posting(isAwaited: false)),
        (.posting(isAwaited: false), true, false, .posting(isAwaited: true)),
        (.posting(isAwaited: true), false, false, .posting(isAwaited: true)),
        (.posting(isAwaited: true), true, false, .posting(isAwaited: true)),
        (paused(until: 101), false, false, paused(until: 101)),
        (paused(until: 101), true, true, .posting(isAwaited: true)),
        (paused(until: 100), false, true, .posting(isAwaited: false)),
        (ordered(until: 101), false, false, ordered(until: 101)),
        (ordered(until: 101), true, false, ordered(until: 101)),
        (ordered(until: 100), true, true, .posting(isAwaited: true)),
    ]

    private static func paused(until: Int64) -> AttributePosting.State {
        .paused(until: until, isOrdered: false)
    }

    private static func ordered(until: Int64) -> AttributePosting.State {
        .paused(until: until, isOrdered: true)
    }

    private func posting(in state: AttributePosting.State) -> AttributePosting {
        var posting = AttributePosting()
        switch state {
        case .idle: break
        case .posting(let isAwaited): _ = posting.begin(isAwaited: isAwaited, at: 0)
        case .paused(let until, let isOrdered): posting.pause(until: until, isOrdered: isOrdered)
        }
        return posting
    }

    @Test(arguments: runs)
    func `a caller can shorten the SDK's own pause, but not a pause that the server requests`(
        before: AttributePosting.State, isAwaited: Bool, begins: Bool, after: AttributePosting.State
    ) {
        var posting = posting(in: before)
        #expect(posting.state == before)
        #expect(posting.begin(isAwaited: isAwaited, at: 100) == begins)
        #expect(posting.state == after)
        #expect(posting.isAwaited == (after == .posting(isAwaited: true)))
        let wasPosting = posting.isPosting
        posting.finish()
        #expect(posting.state == (wasPosting ? .idle : after))
    }

    @Test func `when the app comes to the foreground, only the SDK's own pauses end`() {
        for (before, after) in [
            (.idle, .idle), (.posting(isAwaited: true), .posting(isAwaited: true)),
            (Self.paused(until: 9), .idle), (Self.ordered(until: 9), Self.ordered(until: 9)),
        ] as [(AttributePosting.State, AttributePosting.State)] {
            var posting = posting(in: before)
            posting.hurry()
            #expect(posting.state == after)
        }
    }

    @Test func `the time until the next posting is known only if a change can be sent`() {
        let changes = [Self.change("a")]
        let rows: [(AttributePosting.State, Int64)] = [
            (.idle, 0), (.posting(isAwaited: false), RetryPauses.min),
            (Self.paused(until: 150), 50), (Self.paused(until: 1), 0),
        ]
        for (state, wait) in rows {
            #expect(posting(in: state).wait(of: changes, at: 100) == wait)
            #expect(posting(in: state).wait(of: [], at: 100) == nil)
            #expect(posting(in: state).wait(of: [Self.change("a", for: nil)], at: 100) == nil)
        }
    }

    // MARK: - The next batch

    @Test func `a batch has only the changes of one customer with a known id, in order`() {
        let changes = [
            Self.change("a", for: nil), Self.change("b"), Self.change("c", for: "ben"),
            Self.change("d"),
        ]
        #expect(AttributePosting().batch(of: changes, at: 0) == [changes[1], changes[3]])
        #expect(AttributePosting().batch(of: [changes[0]], at: 0) == nil)
    }

    @Test func `a batch has at most as many changes as the server accepts in one request`() {
        let changes = (0...AttributeRules.changesMax).map { Self.change("a\($0)") }
        #expect(AttributePosting().batch(of: changes, at: 0)?.count == AttributeRules.changesMax)
    }

    @Test func `nothing is sent for a customer who is being erased`() {
        var posting = AttributePosting()
        let changes = [Self.change("a"), Self.change("b", for: "ben")]
        posting.block("anna")
        #expect(posting.batch(of: changes, at: 0) == [changes[1]])
        #expect(posting.wait(of: [changes[0]], at: 0) == nil)
        posting.unblock("anna")
        #expect(posting.batch(of: changes, at: 0) == [changes[0]])
    }

    // MARK: - Failures

    private static func error(
        _ status: Int?, isTemporary: Bool = false, hasProblem: Bool = true,
        code: String = "refused"
    ) -> ServerError {
        var error = ServerError(
            failure: Perennial.Failure(
                .init(rawValue: code), remedy: "", isTemporary: isTemporary))
        error.status = status
        if hasProblem, let status {
            error.problem = Problem(
                code: .init(rawValue: code), status: status, title: "", remedy: "")
        }
        return error
    }

    private static let one = [change("a")]
    private static let two = [change("a"), change("b")]

    private static let failures: [(ServerError, Bool, AttributePosting.Consequence)] = [
        (.heldBack, true, .heldBack),
        (error(400), true, .dropped(code: "refused")),
        (error(400), false, .postedAlone),
        (error(422), true, .dropped(code: "refused")),
        (error(422), false, .postedAlone),
        (error(422, hasProblem: false), false, .postponed),
        (error(413, hasProblem: false), true, .dropped(code: "refused")),
        (error(413, hasProblem: false), false, .postedAlone),
        (error(401), true, .postponed),
        (error(403), false, .dropped(code: "refused")),
        (error(403, hasProblem: false), true, .postponed),
        (error(404), false, .routeMissing),
        (error(405), true, .routeMissing),
        (error(404, hasProblem: false), true, .postponed),
        (error(409), true, .dropped(code: "refused")),
        (error(429, isTemporary: true), true, .postponed),
        (error(503, isTemporary: true), false, .postponed),
        (error(nil, isTemporary: true), true, .postponed),
        (error(nil), true, .postponed),
        (error(301), true, .postponed),
        (error(401, code: "customer_proof_missing"), true, .customerDelayed("anna")),
        (error(401, code: "customer_proof_not_valid"), false, .customerDelayed("anna")),
        (
            error(nil, isTemporary: true, code: "customer_proof_missing"), true,
            .customerDelayed("anna")
        ),
    ]

    @Test(arguments: failures)
    func `each failure of a batch has the expected consequence`(
        error: ServerError, isOne: Bool, consequence: AttributePosting.Consequence
    ) {
        var posting = AttributePosting()
        let batch = isOne ? Self.one : Self.two
        #expect(posting.recordFailure(error, of: batch) == consequence)
        #expect(posting.alone == (consequence == .postedAlone ? Set(batch.map(\.key)) : []))
    }

    @Test func `a customer without a proof delays no other customer`() {
        var posting = AttributePosting()
        let changes = [Self.change("a"), Self.change("b", for: "ben")]
        posting.delay("anna", until: 50)
        #expect(posting.batch(of: changes, at: 49) == [changes[1]])
        #expect(posting.batch(of: changes, at: 50) == [changes[0]])
        #expect(posting.wait(of: [changes[0]], at: 10) == 40)
        posting.delay("anna", until: 90)
        #expect(posting.delays["anna"] == .init(until: 90, failuresInARow: 2))
        posting.hurry()
        #expect(posting.batch(of: changes, at: 0) == [changes[0]])
        posting.delay("anna", until: 200)
        #expect(posting.begin(isAwaited: true, at: 100) == true)
        #expect(posting.batch(of: changes, at: 100) == [changes[0]])
        posting.recordSuccess(of: [changes[0]])
        #expect(posting.delays.isEmpty)
    }

    @Test func `attributes that were refused as a batch are sent one by one`() {
        var posting = AttributePosting()
        _ = posting.recordFailure(Self.error(422), of: Self.two)
        let third = Self.change("c")
        #expect(posting.batch(of: Self.two + [third], at: 0) == [Self.two[0]])
        #expect(posting.batch(of: [third] + Self.two, at: 0) == [third])
        posting.recordSuccess(of: [Self.two[0]])
        _ = posting.recordFailure(Self.error(422), of: [Self.two[1]])
        #expect(posting.alone == [])
    }

    @Test func `each failure lengthens the next pause until a success`() {
        var posting = AttributePosting()
        for count in 1...3 {
            posting.pause(until: 1, isOrdered: false)
            #expect(posting.failuresInARow == count)
        }
        posting.recordSuccess(of: Self.one)
        #expect(posting.failuresInARow == 0)
    }

    @Test
    func `a server that does not support attributes is reported once, until it supports them`() {
        var posting = AttributePosting()
        #expect(posting.recordMissingRoute() == true)
        #expect(!posting.recordMissingRoute() && posting.isRouteMissing)
        posting.recordSuccess(of: Self.one)
        #expect(!posting.isRouteMissing && posting.recordMissingRoute())
    }

    @Test func `if there are too many refusals, the oldest one is dropped`() {
        var posting = AttributePosting()
        for number in 0...AttributePosting.refusalsMax {
            posting.recordRefusal(of: [Self.change("a\(number)")], code: "c", remedy: "")
        }
        #expect(posting.refusals.count == AttributePosting.refusalsMax)
        #expect(posting.refusals.first?.name == "a1")
    }
}
