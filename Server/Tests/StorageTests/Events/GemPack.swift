import Ledger

@testable import Storage

/// A pack of 100 gems that also has 5 coins.
enum GemPack {
    static let rules = DatabaseRules(
        wallets: [app: WalletRules(credits: ["gems.100": ["gems": 100, "coins": 5]])],
        erasedHash: hash)

    static func id(_ number: Int) -> PurchaseID {
        PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
    }

    static func fact(
        _ number: Int, quantity: Int = 1, at moment: Instant = now, refundedAt: Instant? = nil,
        token: String? = nil
    ) -> Fact {
        Fact(
            about: id(number), attestedAt: refundedAt ?? moment,
            .payment(
                Payment(
                    transaction: TransactionID(rawValue: "\(number)"), product: "gems.100",
                    kind: .consumable, from: moment, until: nil, quantity: quantity,
                    price: Money(milliunits: 990, currency: "USD"),
                    revocation: refundedAt.map { Revocation(at: $0, kind: .refund) },
                    accountToken: token)))
    }

    static func hash(_ id: CustomerID) -> [UInt8] {
        Array((Array(id.rawValue.lowercased().utf8) + Array(repeating: 0, count: 32)).prefix(32))
    }
}
