import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// A wallet's statement in pieces.
@Suite struct StatementTests {
    private func wallet(spending amounts: ClosedRange<Int64>) -> Ledger.Wallet {
        let pack = Ledger.Payment(
            transaction: "1", product: "gems.100", kind: .consumable, from: TestServer.now,
            until: nil)
        let debits = amounts.map { amount in
            Ledger.Debit(
                id: DebitID(rawValue: "d\(amount)"), currency: "gems", amount: amount, reason: "",
                at: TestServer.now + .seconds(Int(amount)))
        }
        return Ledger.Wallet(
            of: "gems", [pack], debits, rules: WalletRules(credits: ["gems.100": ["gems": 100]]))
    }

    private func page(
        _ wallet: Ledger.Wallet, after cursor: String? = nil, limit: Int = 2
    ) throws -> WalletStatement {
        let end = try cursor.map { try #require(Int($0)) }
        return WalletStatement(wallet, of: "gems", before: end, limit: limit)
    }

    @Test func `the newest lines come first, and each once`() throws {
        let wallet = wallet(spending: 1...4)
        let first = try page(wallet)
        #expect(first.items.map(\.amount) == [-4, -3])
        let second = try page(wallet, after: first.nextCursor)
        #expect(second.items.map(\.amount) == [-2, -1])
        let last = try page(wallet, after: second.nextCursor)
        #expect(last.items.map(\.amount) == [100] && last.nextCursor == nil)
        let whole = try page(wallet, limit: 5)
        #expect(whole.items.count == 5 && whole.nextCursor == nil)
        #expect(try page(wallet, after: "0").items.isEmpty)
        #expect(try page(wallet, after: "99").items == first.items)
    }

    @Test func `what is spent between two pages repeats no line`() throws {
        let first = try page(wallet(spending: 1...4))
        let second = try page(wallet(spending: 1...7), after: first.nextCursor)
        #expect(second.items.map(\.amount) == [-2, -1])
    }
}
