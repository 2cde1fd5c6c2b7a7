import Dice
import Ledger

@testable import Storage

/// Documents about random subscriptions that renew, change, stop and are refunded.
struct RandomSales {
    private struct Chain {
        var payments: [Payment] = []
    }

    private var dice: Dice
    private var chains: [PurchaseID: Chain] = [:]
    private let purchases: [PurchaseID]
    /// The time at which the next document is received.
    private(set) var clock = now
    private var documents = 0
    private let name: String

    /// - Parameter name: the prefix of every id, so that different names never share a purchase.
    init(seed: UInt64, name: String, purchases count: Int) {
        dice = Dice(seed: seed)
        self.name = name
        purchases = (0..<count).map {
            PurchaseID(
                TransactionID(rawValue: "\(name)\($0)"), in: $0 % 7 == 0 ? .sandbox : .production)
        }
    }

    /// The next document and its facts. Some documents are received in the same millisecond.
    mutating func next() -> (document: StoredDocument, facts: [Fact]) {
        clock = clock + .seconds([0, 3_600, 86_400, 777_777].randomElement(using: &dice) ?? 0)
        let purchase = purchases.randomElement(using: &dice) ?? purchases[0]
        documents += 1
        var document = document(0, signedAt: clock)
        document.id = (0..<32).map { _ in UInt8.random(in: 0...255, using: &dice) }
        document.receivedAt = clock
        return (document, facts(about: purchase))
    }

    private mutating func facts(about purchase: PurchaseID) -> [Fact] {
        let payments = chains[purchase]?.payments ?? []
        guard let last = payments.last, Int.random(in: 0..<10, using: &dice) < 6 else {
            let payment = payment(after: payments.last)
            chains[purchase, default: Chain()].payments.append(payment)
            return [Fact(about: purchase, attestedAt: clock, .payment(payment))]
        }
        if Int.random(in: 0..<4, using: &dice) == 0 {
            var refunded = last
            refunded.revocation = Revocation(at: max(clock, last.from), kind: .refund)
            return [Fact(about: purchase, attestedAt: clock, .payment(refunded))]
        }
        let renewal = Renewal(
            willRenew: Bool.random(using: &dice), renewsTo: last.product,
            isRetrying: Bool.random(using: &dice),
            graceUntil: last.until.map { $0 + .days(6) }, ending: nil, renewsAt: last.until,
            price: nil, offer: nil, commitmentRenews: nil, priceRise: nil)
        return [Fact(about: purchase, attestedAt: clock, .renewal(renewal))]
    }

    private mutating func payment(after last: Payment?) -> Payment {
        let isNext = last != nil && Bool.random(using: &dice)
        let from = isNext ? last?.until ?? clock : max(clock, last?.until ?? clock)
        let isTrial = last == nil && Bool.random(using: &dice)
        let product = ["pro.monthly", "pro.yearly", "plus.monthly"].randomElement(using: &dice)
        let country =
            [("USA", "USD"), ("DEU", "EUR"), ("AUT", "EUR"), ("", "")]
            .randomElement(using: &dice) ?? ("USA", "USD")
        let amount = [4_990, 9_990, 49_990].randomElement(using: &dice) ?? 0
        return Payment(
            transaction: TransactionID(rawValue: "t\(name)-\(documents)"),
            line: "l\(name)-\(documents)", product: ProductID(rawValue: product ?? ""), from: from,
            until: from + .days(product == "pro.yearly" ? 365 : 30),
            terms: isTrial ? .trial : .full,
            offer: isTrial
                ? Offer(.introductory) : Bool.random(using: &dice) ? nil : Offer(.code, id: "x"),
            price: country.1.isEmpty
                ? nil : Money(milliunits: isTrial ? 0 : Int64(amount), currency: country.1),
            isRenewal: last != nil, group: Bool.random(using: &dice) ? "G" : nil,
            storefront: country.0.isEmpty ? nil : country.0)
    }
}
