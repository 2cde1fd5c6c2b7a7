import Dice
import Foundation
import Ledger

/// Facts about one purchase in the random life of a customer. There are renewals, some of them
/// charged ahead of an upgrade, postponed ends, reversed refunds, and periods that are reported
/// under two numbers. Every fact is attested several times, some of them in the same millisecond.
enum RandomLife {
    static let purchase = PurchaseID("1000", in: .production)

    /// One seed from `PERENNIAL_SEED`, or two hundred seeds.
    static var seeds: [UInt64] {
        if let seed = ProcessInfo.processInfo.environment["PERENNIAL_SEED"].flatMap(UInt64.init) {
            return [seed]
        }
        return Array(1...200)
    }

    static func facts(_ dice: inout Dice) -> [Fact] {
        var facts: [Fact] = []
        var start = Instant(milliseconds: 1_700_000_000_000)
        for number in 0..<Int.random(in: 1...8, using: &dice) {
            let until = start + .days(30)
            let isUpgrade = Int.random(in: 0..<5, using: &dice) == 0
            facts += snapshots(number, from: start, until: until, &dice)
            // The renewal of this period had already been charged when the next product was
            // bought.
            if isUpgrade, Bool.random(using: &dice) {
                facts += snapshots(100 + number, from: until, until: until + .days(30), &dice)
            }
            facts += (0..<Int.random(in: 0...2, using: &dice)).map { _ in
                renewal(at: moment(between: start, and: until, &dice), end: until, &dice)
            }
            start = isUpgrade ? start + .days(7) : until
        }
        return facts
    }

    private static func snapshots(
        _ number: Int, from: Instant, until: Instant, _ dice: inout Dice
    ) -> [Fact] {
        (0..<Int.random(in: 1...4, using: &dice)).map { _ in
            let isAlias = Int.random(in: 0..<4, using: &dice) == 0
            let isRevoked = Int.random(in: 0..<4, using: &dice) == 0
            let attested = moment(between: from, and: until, &dice)
            return Fact(
                about: purchase, attestedAt: attested,
                .payment(
                    Payment(
                        transaction: TransactionID(rawValue: "\(isAlias ? 9000 : 1000 + number)"),
                        line: "line-\(number)",
                        product: number % 3 == 2 ? "pro.yearly" : "pro.monthly",
                        from: from, until: until, terms: number == 0 ? .trial : .full,
                        offer: Bool.random(using: &dice) ? Offer(.code, id: "spring") : nil,
                        commitment: number % 2 == 1 && isAlias
                            ? Commitment(month: number, months: 12, until: until) : nil,
                        quantity: Int.random(in: 1...2, using: &dice), price: price(&dice),
                        isRenewal: Bool.random(using: &dice),
                        isUpgraded: Int.random(in: 0..<6, using: &dice) == 0,
                        revocation: isRevoked ? revocation(at: attested, &dice) : nil)))
        }
    }

    /// The price of a payment: mostly the same, sometimes none, sometimes that of another country.
    private static func price(_ dice: inout Dice) -> Money? {
        switch Int.random(in: 0..<10, using: &dice) {
        case 0: nil
        case 1: Money(milliunits: 8_490, currency: "EUR")
        case 2: Money(milliunits: 4_990, currency: "USD")
        default: Money(milliunits: 9_990, currency: "USD")
        }
    }

    private static func revocation(at: Instant, _ dice: inout Dice) -> Revocation {
        let share: Int64? = Bool.random(using: &dice) ? .random(in: 0...100_000, using: &dice) : nil
        let isShared = Int.random(in: 0..<4, using: &dice) == 0
        return Revocation(at: at, kind: isShared ? .sharingEnded : .refund, percentage: share)
    }

    private static func renewal(at: Instant, end: Instant, _ dice: inout Dice) -> Fact {
        let later = laterEnd(than: end, dice)
        let isRetrying = Bool.random(using: &dice)
        var renewal = Renewal(
            willRenew: Bool.random(using: &dice), isRetrying: isRetrying,
            graceUntil: isRetrying && Bool.random(using: &dice) ? end + .days(16) : nil,
            ending: Renewal.Ending.allCases.randomElement(using: &dice),
            offer: Bool.random(using: &dice) ? Offer(.winBack) : nil,
            commitmentRenews: Bool.random(using: &dice),
            priceRise: Renewal.PriceRise.allCases.randomElement(using: &dice))
        // An ending would take precedence over the later date, so a renewal with such a date has
        // no ending.
        if let later { (renewal.renewsAt, renewal.ending) = (later, nil) }
        return Fact(about: purchase, attestedAt: at, .renewal(renewal))
    }

    /// In a few percent of the cases, returns the date to which the store postpones an end, by
    /// minutes or by days. Uses separate dice, seeded with the next number of the life's dice, so
    /// that the rest of a seed's life stays the same.
    private static func laterEnd(than end: Instant, _ dice: Dice) -> Instant? {
        var ahead = dice
        var own = Dice(seed: ahead.next())
        guard Int.random(in: 0..<20, using: &own) == 0 else { return nil }
        return Bool.random(using: &own)
            ? end + .seconds(60 * Int.random(in: 1...59, using: &own))
            : end + .days(Int.random(in: 1...9, using: &own))
    }

    /// Returns one of a few moments, so that several facts often share a millisecond.
    private static func moment(
        between from: Instant, and until: Instant, _ dice: inout Dice
    ) -> Instant {
        from + .days(10 * Int.random(in: 0...3, using: &dice))
    }
}
