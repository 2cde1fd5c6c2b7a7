import Engine
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// The pages of the list of a wallet's payments and bookings.
@Suite struct StatementTests {
    private func wallet(
        spending amounts: ClosedRange<Int64>, packs: ClosedRange<Int> = 1...1
    ) -> Ledger.Wallet {
        let packs = packs.map { number in
            Ledger.Payment(
                transaction: TransactionID(rawValue: "\(number)"), product: "gems.100",
                kind: .consumable, from: TestServer.now + .seconds(1 - number), until: nil)
        }
        let debits = amounts.map { amount in
            Ledger.Booking(
                .debit, id: BookingID(rawValue: "d\(amount)"), currency: "gems", amount: amount,
                reason: "",
                at: TestServer.now + .seconds(Int(amount)))
        }
        return Ledger.Wallet(
            of: "gems", packs, debits, rules: WalletRules(credits: ["gems.100": ["gems": 100]]))
    }

    private func page(
        _ wallet: Ledger.Wallet, after cursor: String? = nil, limit: Int = 2
    ) throws -> WalletStatement {
        let position = try cursor.map { try #require(ListCursor($0)) }
        return WalletStatement(wallet, of: "gems", before: position, limit: limit)
    }

    @Test func `the lines of a wallet are listed newest first, each once`() throws {
        let wallet = wallet(spending: 1...4)
        let first = try page(wallet)
        #expect(first.items.map(\.amount) == [-4, -3])
        let second = try page(wallet, after: first.nextCursor)
        #expect(second.items.map(\.amount) == [-2, -1])
        let last = try page(wallet, after: second.nextCursor)
        #expect(last.items.map(\.amount) == [100] && last.nextCursor == nil)
        let whole = try page(wallet, limit: 5)
        #expect(whole.items.count == 5 && whole.nextCursor == nil)
    }

    @Test func `if a debit is booked between two pages, no line is repeated`() throws {
        let first = try page(wallet(spending: 1...4))
        let second = try page(wallet(spending: 1...7), after: first.nextCursor)
        #expect(second.items.map(\.amount) == [-2, -1])
    }

    @Test func `no line is omitted if an older payment arrives between two pages`() throws {
        let first = try page(wallet(spending: 1...4))
        let more = wallet(spending: 1...4, packs: 1...2)
        let second = try page(more, after: first.nextCursor, limit: 10)
        #expect(second.items.map(\.amount) == [-2, -1, 100, 100] && second.nextCursor == nil)
    }

    @Test
    func `if the last line of a page disappears, the next page continues with the older lines`()
        throws
    {
        let first = try page(wallet(spending: 1...4), limit: 4)
        let second = try page(wallet(spending: 2...4), after: first.nextCursor)
        #expect(second.items.map(\.amount) == [100])
    }
}
