import Ledger
import Testing

@testable import Engine
@testable import Storage

/// The budget of documents that devices may post about one purchase.
@Suite struct DocumentBudgetTests {
    @Test func `the whole document budget can be used at once, and is full again after an hour`() {
        let budget = DocumentBudget(perHour: 6)
        var fullAt: Instant?
        func take(_ count: Int, after minutes: Int) -> DocumentBudget.Outcome {
            let taking = budget.consume(count, fullAt: fullAt, at: now + .seconds(minutes * 60))
            if case .consumed(let end) = taking { fullAt = end }
            return taking
        }
        #expect(take(4, after: 0) == .consumed(fullAt: now + .seconds(40 * 60)))
        #expect(take(3, after: 0) == .exhausted(until: now + .seconds(10 * 60)))
        #expect(take(2, after: 0) == .consumed(fullAt: now + .seconds(60 * 60)))
        #expect(take(1, after: 9) == .exhausted(until: now + .seconds(10 * 60)))
        #expect(take(1, after: 10) == .consumed(fullAt: now + .seconds(70 * 60)))
        #expect(take(6, after: 70) == .consumed(fullAt: now + .seconds(130 * 60)))
        // A clock that was set back by a day does not block the device.
        #expect(take(6, after: -1_440) == .consumed(fullAt: now - .days(1) + .seconds(3_600)))
    }

    @Test(arguments: Driver.allCases)
    func `a posting beyond the document budget is undone, and other purchases are not affected`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let budget = DocumentBudget(perHour: 2)
            let other = PurchaseID("2000", in: .production)
            func post(_ numbers: [UInt8], about purchase: PurchaseID) async throws {
                try await store.transaction { tx in
                    let new = numbers.map {
                        DocumentWithFacts(
                            document($0), [fact(TransactionID(rawValue: "\($0)"), about: purchase)])
                    }
                    let kept = try new.filter { try DocumentRecorder(tx).record($0) }
                    try tx.documents.spend(budget, on: kept, at: now)
                }
            }
            try await post([1, 2], about: purchase)
            try await post([1, 2], about: purchase)
            let spent = await #expect(throws: DocumentBudgetExhausted.self) {
                try await post([3], about: purchase)
            }
            #expect(spent == DocumentBudgetExhausted(purchase: purchase, wait: .seconds(1800)))
            try await post([4], about: other)
            let count = try await store.read { tx in try tx.documents.count() }
            #expect(count == 3)
        }
    }
}
