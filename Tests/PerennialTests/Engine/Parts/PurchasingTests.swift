import AccessRules
import Foundation
import PerennialContract
import Testing

@testable import Perennial

/// Tests all transitions of ``Purchasing``, and the outcomes of a purchase.
@Suite struct PurchasingTests {
    private static let month = PurchaseKey(product: "month", customer: "anna")
    private static let year = PurchaseKey(product: "year", customer: "anna")
    private static let bens = PurchaseKey(product: "month", customer: "ben")
    private static let seats = PurchaseKey(product: "month", customer: "anna", seats: 3)

    private func purchasing(_ keys: [PurchaseKey]) -> Purchasing {
        var purchasing = Purchasing()
        for key in keys { _ = purchasing.start(key) }
        return purchasing
    }

    private static let starts: [([PurchaseKey], PurchaseKey, Purchasing.Start, [PurchaseKey])] = [
        ([], month, .atOnce, [month]),
        ([month], month, .joined, [month]),
        ([month], year, .after(month), [month, year]),
        ([month], bens, .after(month), [month, bens]),
        ([month], seats, .after(month), [month, seats]),
        ([month, year], month, .joined, [month, year]),
        ([month, year], year, .joined, [month, year]),
        ([month, year], bens, .after(year), [month, year, bens]),
    ]

    @Test(arguments: starts)
    func `a purchase joins a running purchase with the same key, or waits for another one`(
        before: [PurchaseKey], key: PurchaseKey, start: Purchasing.Start, after: [PurchaseKey]
    ) {
        var purchasing = purchasing(before)
        #expect(purchasing.start(key) == start)
        #expect(purchasing.state == .buying(after))
    }

    private static let ends: [([PurchaseKey], PurchaseKey, Purchasing.State)] = [
        ([], month, .idle),
        ([month], month, .idle),
        ([month], year, .buying([month])),
        ([month, year], month, .buying([year])),
        ([month, year], year, .buying([month])),
    ]

    @Test(arguments: ends)
    func `a finished purchase lets the next one start`(
        before: [PurchaseKey], key: PurchaseKey, after: Purchasing.State
    ) {
        var purchasing = purchasing(before)
        purchasing.finish(key)
        #expect(purchasing.state == after)
    }

    @Test func `the same product can be bought again after its purchase has ended`() {
        var purchasing = purchasing([Self.month])
        purchasing.finish(Self.month)
        #expect(purchasing.start(Self.month) == .atOnce)
    }

    @Test func `the transactions of this process's purchases are remembered`() {
        var purchasing = Purchasing()
        #expect(purchasing.ownTransactions == [])
        purchasing.recordTransaction("1")
        purchasing.recordTransaction("1")
        purchasing.recordTransaction("2")
        purchasing.finish(Self.month)
        #expect(purchasing.ownTransactions == ["1", "2"])
    }

    // MARK: - Outcomes

    /// One row of the table: what the store returned, and the expected outcome. The sheet for
    /// `month` was shown at the time 100.
    struct Row: Sendable {
        var product = "month"
        var type = "Auto-Renewable Subscription"
        var expires: Int64? = 101
        var id = "2"
        var verdict: Verdict?
        /// The expected outcome. Nil if the purchase failed.
        var outcome: Perennial.Purchase.Outcome?
    }

    private static let rows: [Row] = [
        Row(outcome: .bought),
        Row(expires: nil, outcome: .bought),
        Row(verdict: .theirs, outcome: .bought),
        Row(verdict: .anonymous, outcome: .bought),
        Row(verdict: .anotherPerson, outcome: .belongsToAnother),
        Row(id: "1", outcome: .alreadyHad),
        Row(expires: 100, outcome: nil),
        Row(expires: 99, id: "1", outcome: nil),
        Row(product: "year", outcome: .planChangeScheduled),
        Row(product: "year", expires: 1, outcome: .planChangeScheduled),
        Row(product: "year", verdict: .anotherPerson, outcome: .belongsToAnother),
        Row(product: "guide", type: "Non-Consumable", expires: nil, outcome: nil),
    ]

    @Test(arguments: rows)
    func `the outcome of a purchase depends on the returned transaction`(row: Row) throws {
        var members: [String: Any] = [
            "transactionId": row.id, "originalTransactionId": "1", "productId": row.product,
            "type": row.type, "purchaseDate": 1, "signedDate": 1,
        ]
        members["expiresDate"] = row.expires
        let payload = try JSONDecoder().decode(
            TransactionPayload.self, from: JSONSerialization.data(withJSONObject: members))
        let sheet = PaymentSheet(
            product: "month", buyer: .init(id: "anna", person: "anna"), known: ["1"],
            shownAt: Timestamp(milliseconds: 100))
        do {
            let outcome = try sheet.outcome(of: payload, row.verdict)
            #expect(outcome == row.outcome)
        } catch {
            #expect(row.outcome == nil)
            #expect(error.code == .purchaseReturnedAnother && error.charged == .unclear)
        }
    }
}
