import Foundation
import PerennialContract
import Testing

@testable import Perennial

/// Tests all transitions of ``OutboxPosting``.
@Suite struct OutboxPostingTests {
    private static let now = Timestamp(milliseconds: 1_798_000_000_000)

    private static func document(
        _ text: String, _ intent: PerennialContract.PurchaseIntent = .sync,
        for customer: String = "anna", at placement: String? = nil
    ) -> OutboxEntry {
        OutboxEntry(
            .document(
                .init(kind: .transaction, text: text, intent: intent, placement: placement)),
            for: customer, firstSeen: now)
    }

    private static func debit(_ key: String) -> OutboxEntry {
        OutboxEntry(
            .debit(.init(wallet: "seeds", amount: 1, reason: "a seed", key: key)), for: "anna",
            firstSeen: now)
    }

    private static func alias(_ id: String, for customer: String = "anna") -> OutboxEntry {
        OutboxEntry(.alias(id), for: customer, firstSeen: now)
    }

    // MARK: - One run

    private static let runs: [(OutboxPosting.State, Bool, Bool, OutboxPosting.State)] = [
        (.idle, false, true, .posting(isAwaited: false)),
        (.idle, true, true, .posting(isAwaited: true)),
        (.posting(isAwaited: false), false, false, .posting(isAwaited: false)),
        (.posting(isAwaited: false), true, false, .posting(isAwaited: true)),
        (.posting(isAwaited: true), false, false, .posting(isAwaited: true)),
        (.posting(isAwaited: true), true, false, .posting(isAwaited: true)),
    ]

    private func posting(in state: OutboxPosting.State) -> OutboxPosting {
        var posting = OutboxPosting()
        switch state {
        case .idle: break
        case .posting(let isAwaited): _ = posting.begin(isAwaited: isAwaited)
        }
        return posting
    }

    @Test(arguments: runs)
    func `only one run posts the outbox at a time, and a waiting caller joins this run`(
        before: OutboxPosting.State, isAwaited: Bool, begins: Bool, after: OutboxPosting.State
    ) {
        var posting = posting(in: before)
        #expect(posting.state == before)
        #expect(posting.begin(isAwaited: isAwaited) == begins)
        #expect(posting.state == after && posting.isPosting)
        #expect(posting.isAwaited == (after == .posting(isAwaited: true)))
        posting.finish()
        #expect(posting.state == .idle && !posting.isPosting && !posting.isAwaited)
    }

    // MARK: - The next batch

    @Test func `without due entries, there is no next batch to post`() {
        #expect(OutboxPosting().batch(of: []) == nil)
    }

    @Test func `a batch has only documents with the attributes of its first document`() {
        let first = Self.document("a")
        let alike = Self.document("b")
        let others = [
            Self.document("c", .purchase), Self.document("d", for: "ben"),
            Self.document("e", at: "paywall"), Self.debit("1"), Self.alias("anon"),
        ]
        #expect(OutboxPosting().batch(of: [first] + others + [alike]) == [first, alike])
    }

    @Test func `a batch has only documents of one environment`() {
        let texts = ["Production", "Sandbox"].map { environment in
            let json = """
                {"transactionId": "1", "originalTransactionId": "1", "productId": "month", \
                "type": "Auto-Renewable Subscription", "purchaseDate": 1, "signedDate": 1, \
                "environment": "\(environment)"}
                """
            let payload = Data(json.utf8).base64EncodedString()
            return "e30." + payload.replacing("=", with: "") + ".AA"
        }
        let due = texts.map { Self.document($0) }
        #expect(OutboxPosting().batch(of: due) == [due[0]])
        #expect(OutboxPosting().batch(of: due.reversed()) == [due[1]])
    }

    @Test func `each debit and each log-in is posted in a separate batch`() {
        let others = [Self.document("a"), Self.debit("2")]
        for entry in [Self.debit("1"), Self.alias("anon")] {
            #expect(OutboxPosting().batch(of: [entry] + others) == [entry])
        }
    }

    @Test func `a batch has at most the maximum number of documents`() {
        let due = (0...OutboxPosting.batchMax).map { Self.document("\($0)") }
        #expect(OutboxPosting().batch(of: due)?.count == OutboxPosting.batchMax)
    }

    @Test func `an entry that was set apart is posted in a separate batch`() {
        var apart = Self.document("a")
        apart.state = .setApart(code: "refused")
        #expect(OutboxPosting().batch(of: [apart, Self.document("b")]) == [apart])
        #expect(
            OutboxPosting().batch(of: [Self.document("b"), apart]) == [Self.document("b")])
    }

    @Test func `the outbox does not post the document of a running purchase`() {
        var posting = OutboxPosting()
        var later = Self.document("b")
        later.nextTry = Self.now
        let due = [Self.document("a"), later]
        posting.beginPosting("a")
        #expect(posting.batch(of: due) == [later])
        let before = Timestamp(milliseconds: Self.now.milliseconds - 1)
        #expect(posting.firstDue(of: due, at: before) == Self.now.milliseconds)
        posting.finishPosting("a")
        #expect(posting.batch(of: due)?.count == 2)
        #expect(posting.firstDue(of: due, at: before) == .min)
        #expect(posting.firstDue(of: [], at: before) == nil)
    }

    @Test func `an entry never waits for long because the device's clock was ahead`() {
        let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)
        let rows: [(OutboxEntry.State, Int64, Bool)] = [
            (.waiting, 0, true), (.waiting, 1, false), (.waiting, hour, false),
            (.waiting, 2 * hour + 1, true), (.waiting, 365 * day, true),
            (.setApart(code: "refused"), day, false),
            (.setApart(code: "refused"), 2 * day + 1, true),
            (.setApart(code: "refused"), 365 * day, true), (.waiting, -365 * day, true),
        ]
        for (state, wait, isDue) in rows {
            var entry = Self.document("a")
            entry.state = state
            entry.nextTry = Timestamp(milliseconds: Self.now.milliseconds + wait)
            #expect(entry.isDue(at: Self.now) == isDue, "\(state) \(wait)")
            let first = OutboxPosting().firstDue(of: [entry], at: Self.now)
            #expect((first == .min) == isDue, "\(state) \(wait)")
        }
        var last = Self.document("a")
        last.nextTry = Timestamp(milliseconds: .max)
        #expect(last.isDue(at: Timestamp(milliseconds: -1)))
    }

    // MARK: - Failed batches

    private static func error(
        _ status: Int, isTemporary: Bool = false, hasProblem: Bool = true
    ) -> ServerError {
        var error = ServerError(
            failure: Perennial.Failure("refused", remedy: "", isTemporary: isTemporary))
        error.status = status
        if hasProblem {
            error.problem = Problem(
                code: .init(rawValue: "refused"), status: status, title: "", remedy: "")
        }
        return error
    }

    private static let one = [document("a")]
    private static let two = [document("a"), document("b")]

    private static let failures: [(ServerError, [OutboxEntry], OutboxPosting.Consequence)] = [
        (.heldBack, one, .heldBack),
        (.heldBack, [alias("anon")], .heldBack),
        (error(409), [alias("anon")], .settled),
        (error(409, hasProblem: false), [alias("anon")], .postponed),
        (error(409), one, .postponed),
        (error(422), [alias("anon")], .setApart(code: "refused")),
        (error(400), one, .setApart(code: "refused")),
        (error(400), two, .postedAlone),
        (error(400, hasProblem: false), one, .postponed),
        (error(422), one, .setApart(code: "refused")),
        (error(422), two, .postedAlone),
        (error(413, hasProblem: false), one, .setApart(code: "refused")),
        (error(413, hasProblem: false), two, .postedAlone),
        (error(401), one, .postponed),
        (error(422, isTemporary: true), one, .postponed),
        (error(503, isTemporary: true), two, .postponed),
        (error(503, isTemporary: true), [debit("1")], .postponed),
    ]

    @Test(arguments: failures)
    func `each failure of a batch has the expected consequence`(
        error: ServerError, batch: [OutboxEntry], consequence: OutboxPosting.Consequence
    ) {
        var posting = OutboxPosting()
        #expect(posting.recordFailure(error, of: batch) == consequence)
        let ids = Set(batch.map(\.id))
        #expect(posting.alone == (consequence == .postedAlone ? ids : []))
    }

    @Test func `documents that were refused as a batch are posted one by one`() {
        var posting = OutboxPosting()
        _ = posting.recordFailure(Self.error(400), of: Self.two)
        let third = Self.document("c")
        #expect(posting.batch(of: Self.two + [third]) == [Self.two[0]])
        #expect(posting.batch(of: [third] + Self.two) == [third])
        posting.recordCompleted(Self.two.map(\.id))
        #expect(posting.alone == [])
        #expect(posting.batch(of: Self.two)?.count == 2)
    }

    // MARK: - Room and log-ins

    @Test func `if a full outbox skipped documents, they are read again exactly once`() {
        var posting = OutboxPosting()
        #expect(posting.makeRoom() == false)
        posting.recordFull()
        #expect(posting.isFull && posting.makeRoom())
        #expect(!posting.isFull && !posting.makeRoom())
    }

    @Test func `log-ins that could not be written keep their order`() {
        var posting = OutboxPosting()
        posting.add(Self.alias("1"))
        posting.add(Self.alias("2", for: "ben"))
        let writing = posting.removeUnwritten()
        #expect(writing.count == 2 && posting.unwritten == [])
        posting.add(Self.alias("3"))
        posting.restore(writing)
        #expect(posting.unwritten == writing + [Self.alias("3")])
        posting.removeLogins(of: "anna")
        #expect(posting.unwritten == [Self.alias("2", for: "ben")])
    }

    @Test func `if there are too many log-ins, the oldest one is dropped`() {
        var posting = OutboxPosting()
        for number in 0...OutboxPosting.unwrittenMax { posting.add(Self.alias("\(number)")) }
        #expect(posting.unwritten.count == OutboxPosting.unwrittenMax)
        #expect(posting.unwritten.first == Self.alias("1"))
    }
}
