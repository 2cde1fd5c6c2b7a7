import AccessRules
import PerennialContract
import Testing

@Suite struct StoreEvidenceTests {
    private func second(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1000) }

    private func status(_ state: StoreStatus.State, signed: Int64 = 0) -> StoreStatus {
        StoreStatus(
            originalID: "1", state: state, willRenew: nil, signedAt: second(signed),
            isConfirmed: false)
    }

    private func isActive(_ store: StoreEvidence, at now: Timestamp) -> Bool {
        let evidence = Evidence(
            person: nil, store: store, meanings: Situation.meanings, now: now)
        return AccessRules.decision(on: "pro", by: evidence).isActive
    }

    // MARK: - Documents

    @Test func `the server's record of a purchase does not count as a record of the refund`() {
        var dice = Dice(announcedBy: "acknowledged")
        var bought = dice.transaction("1", in: "1", "month")
        bought.revokedAt = nil
        bought.isAcknowledged = false
        var refunded = bought
        refunded.signedAt = Timestamp(milliseconds: bought.signedAt.milliseconds + 1)
        refunded.revokedAt = refunded.signedAt
        var evidence = StoreEvidence()
        evidence.record(bought)
        evidence.record(refunded)
        evidence.acknowledge(bought)
        #expect(evidence.transactions["1"]?.isAcknowledged == false)
        evidence.acknowledge(refunded)
        #expect(evidence.transactions["1"]?.isAcknowledged == true)
    }

    @Test func `the order in which documents were recorded does not matter`() {
        var dice = Dice(announcedBy: "order")
        for _ in 0..<500 {
            var documents: [StoreTransaction] = []
            for number in 0..<Int.random(in: 1...6, using: &dice) {
                let id = dice.pick(["1", "2", "3"])
                var document = dice.transaction(id, in: "1", "month")
                document.signedAt = second(Int64(number / 2) * 10)
                document.isAcknowledged = true
                // If two documents have the same signing time and the same refund, they are the
                // same document.
                document.purchasedAt = second(Int64(id) ?? 0)
                document.expiresAt = document.purchasedAt
                document.revokedAt = document.revokedAt.map { _ in document.purchasedAt }
                document.isRevokedByFamily = false
                document.isUpgraded = false
                document.offer = .none
                documents.append(document)
            }
            var (one, other) = (StoreEvidence(isTrusted: true), StoreEvidence(isTrusted: true))
            for document in documents { one.record(document) }
            for document in documents.shuffled(using: &dice) { other.record(document) }
            for document in documents.shuffled(using: &dice) { other.record(document) }
            #expect(one == other)
        }
    }

    @Test func `an older document of a transaction changes nothing`() {
        var dice = Dice(announcedBy: "older")
        for _ in 0..<500 {
            let store = dice.evidence().store
            guard let known = store.transactions.values.randomElement(using: &dice) else {
                continue
            }
            var older = dice.transaction(known.id, in: known.originalID, known.productID)
            older.signedAt = Timestamp(milliseconds: known.signedAt.milliseconds - 1)
            older.isHeld = true
            var after = store
            after.record(older)
            #expect(after == store)
        }
    }

    @Test func `a refund closes access, until a later document of the transaction shows no refund`()
    {
        var dice = Dice(announcedBy: "refund")
        for _ in 0..<500 {
            var document = dice.transaction("1", in: "1", dice.pick(["month", "guide"]))
            (document.revokedAt, document.isUpgraded) = (nil, false)
            if document.kind == .renewing { document.expiresAt = dice.time(1...900) }
            let now = Timestamp(milliseconds: 0)
            var store = StoreEvidence(isTrusted: true)
            store.record(document)
            #expect(isActive(store, at: now))
            var refund = document
            refund.revokedAt = document.signedAt
            // If a refund and another document were signed at the same time, the refund counts, in
            // either order.
            for step in [0, Int64.random(in: 1...9, using: &dice)] {
                var refunded = store
                refund.signedAt = Timestamp(
                    milliseconds: document.signedAt.milliseconds + step)
                refunded.record(refund)
                refunded.record(document)
                #expect(!isActive(refunded, at: now))
                #expect(!isActive(refunded, at: Timestamp(milliseconds: -1)))
                var reversed = document
                reversed.signedAt = Timestamp(milliseconds: refund.signedAt.milliseconds + 1)
                refunded.record(reversed)
                refunded.record(refund)
                #expect(isActive(refunded, at: now))
            }
        }
    }

    @Test func `a renewal belongs to the customer for whom the purchase was first seen`() {
        var store = StoreEvidence(isTrusted: true)
        var first = StoreTransaction.bought("1", "month", from: -40, to: -10)
        first.firstSeenFor = "anna"
        var renewal = StoreTransaction.bought("2", in: "1", "month", from: -10, to: 20)
        renewal.firstSeenFor = "ben"
        store.record(first)
        store.record(renewal)
        #expect(store.transactions["2"]?.firstSeenFor == "anna")
    }

    // MARK: - Statuses

    @Test func `a lapse is confirmed if it is seen again at least thirty seconds later`() {
        var store = StoreEvidence()
        store.record(status(.expired), at: second(0), launch: 1)
        #expect(store.statuses["1"]?.isConfirmed == false)
        store.record(status(.expired), at: second(29), launch: 1)
        #expect(store.statuses["1"]?.isConfirmed == false)
        store.record(status(.expired, signed: 20), at: second(30), launch: 1)
        #expect(store.statuses["1"]?.isConfirmed == true)
        #expect(store.statuses["1"]?.firstLapse == Sighting(seenAt: second(0), launch: 1))
    }

    @Test func `a lapse is confirmed if it is seen again at the next launch`() {
        var store = StoreEvidence()
        store.record(status(.expired), at: second(0), launch: 1)
        store.record(status(.expired), at: second(1), launch: 2)
        #expect(store.statuses["1"]?.isConfirmed == true)
        store.record(status(.expired), at: second(2), launch: 2)
        #expect(store.statuses["1"]?.isConfirmed == true)
    }

    @Test func `a lapse is forgotten if the status is subscribed again`() {
        var store = StoreEvidence()
        store.record(status(.expired), at: second(0), launch: 1)
        store.record(status(.subscribed), at: second(1), launch: 1)
        store.record(status(.expired), at: second(40), launch: 1)
        #expect(store.statuses["1"]?.isConfirmed == false)
    }

    @Test func `renewal info changes nothing if later renewal info is recorded`() {
        var store = StoreEvidence()
        store.record(status(.subscribed, signed: 10), at: second(10), launch: 1)
        let before = store
        store.record(status(.revoked, signed: 9), at: second(11), launch: 1)
        #expect(store == before)
    }

    // MARK: - Lists

    @Test func `an empty list from the store changes nothing`() {
        var dice = Dice(announcedBy: "empty")
        for launch in 0..<500 {
            let before = dice.evidence().store
            var after = before
            after.recordList(of: [], at: dice.time(-100...100), launch: launch)
            #expect(after == before)
        }
    }

    @Test
    func `a purchase is absent if it is missing from two lists that are 30 seconds apart`() {
        var store = StoreEvidence(isTrusted: true)
        store.record(.bought("1", "guide", from: -9, to: 0))
        store.record(.bought("2", "season", from: -9, to: 0))
        store.recordList(of: ["7"], at: second(0), launch: 1)
        store.recordList(of: ["7"], at: second(29), launch: 1)
        #expect(store.absent.isEmpty && isActive(store, at: second(29)))
        store.recordList(of: ["7"], at: second(30), launch: 1)
        #expect(store.absent == ["1"] && !isActive(store, at: second(30)))
        store.recordList(of: ["1"], at: second(31), launch: 1)
        #expect(store.absent.isEmpty && isActive(store, at: second(31)))
        store.recordList(of: ["7"], at: second(32), launch: 1)
        store.recordList(of: ["7"], at: second(33), launch: 2)
        #expect(store.absent == ["1"])
        #expect(store.answeredAt == second(33))
    }

    @Test func `a renewal ends the absence of a purchase, but an older document does not`() {
        var store = StoreEvidence(isTrusted: true)
        store.record(.bought("2", in: "1", "month", from: -30, to: 0))
        store.absent = ["1"]
        store.record(.bought("1", "month", from: -60, to: -30))
        #expect(store.absent == ["1"])
        store.record(.bought("3", in: "1", "month", from: 0, to: 30))
        #expect(store.absent.isEmpty)
    }

    @Test func `a purchase is marked as held only until a list contains it`() {
        var store = StoreEvidence(isTrusted: true)
        var bought = StoreTransaction.bought("1", "month", from: 0, to: 30)
        bought.isHeld = true
        store.record(bought)
        store.recordList(of: ["1"], at: second(0), launch: 1)
        #expect(store.transactions["1"]?.isHeld == false)
        store.record(bought)
        #expect(store.transactions["1"]?.isHeld == false)
    }
}
