import Dice
import Ledger
import Testing

@testable import Reports

/// What must be true of any purchase, whatever happens to it.
@Suite struct RandomHistoryTests {
    private static let purchases = 300

    @Test func `a purchase is never counted twice or with a negative amount`() {
        let seed = Dice.seed(announcedBy: "RandomHistoryTests", usual: 1)
        var dice = Dice(seed: seed)
        for number in 0..<Self.purchases {
            let history = RandomHistory(number, &dice)
            var (sum, at) = (Totals(), Instant(milliseconds: 0))
            for movement in history.movements {
                // Several movements at one moment count as one change.
                if movement.at != at { expectPossible(sum, "purchase \(number), seed \(seed)") }
                sum += Totals(movement.amounts, movement.counts)
                at = movement.at
            }
            expectPossible(sum, "purchase \(number), seed \(seed)")
            #expect(sum.amounts.mrr == 0 && sum.amounts.contracted == 0, "the end of \(number)")
            #expect(sum.amounts.promised == 0 && sum.amounts.mrrOfFourWeeks == 0)
            #expect(sum.counts == Movement.Counts(payments: sum.counts.payments))
        }
    }

    @Test func `between a refund and its reversal, reports show what was known at that time`() {
        let seed = Dice.seed(announcedBy: "RandomHistoryTests", usual: 6)
        var dice = Dice(seed: seed)
        var meanwhile = 0
        for number in 0..<Self.purchases {
            let history = RandomHistory(number, &dice)
            let marked = history.movements.filter(\.isMeanwhile)
            guard let first = marked.map(\.at).min(), let last = marked.map(\.at).max() else {
                continue
            }
            var moment = first - .days(2) + .seconds(1)
            while moment < last + .days(2) {
                let now = history.standing(at: moment, history.movements)
                let then = history.standing(
                    at: moment, history.movements(attestedBy: moment))
                #expect(now == then, "purchase \(number), \(moment), seed \(seed)")
                let restated = history.standing(
                    at: moment, history.movements.filter { !$0.isMeanwhile })
                meanwhile += restated == now ? 0 : 1
                moment = moment + .days(1)
            }
        }
        #expect(meanwhile > 50)
    }

    private func expectPossible(_ sum: Totals, _ place: String) {
        let (amounts, counts) = (sum.amounts, sum.counts)
        #expect(counts.active + counts.trials <= 1, "\(place)")
        #expect(counts.active >= 0 && counts.trials >= 0, "\(place)")
        #expect(counts.seats == counts.active, "\(place)")
        #expect((0...1).contains(counts.retry) && (0...1).contains(counts.grace), "\(place)")
        #expect(counts.grace <= counts.active && counts.notRenewing <= counts.active, "\(place)")
        #expect(counts.active == 1 || amounts.mrr == 0, "\(place)")
        #expect(amounts.mrr >= 0 && amounts.mrrOfFourWeeks >= 0, "\(place)")
        #expect(amounts.mrrTax + amounts.mrrCommission <= amounts.mrr, "\(place)")
        #expect(amounts.contracted >= amounts.mrr && amounts.promised >= 0, "\(place)")
        #expect(amounts.refunded <= amounts.gross, "\(place)")
    }

    @Test func `movements of MRR add up on each day, by each service's definition`() {
        let seed = Dice.seed(announcedBy: "RandomHistoryTests", usual: 2)
        let sums = RandomHistory.sums(of: Self.purchases, seed: seed)
        let periods = ReportPeriod.periods(.day, in: RandomHistory.days)
        for definition in [ReportCatalogue.mrrMovement, ReportCatalogue.seats] {
            for row in Report(definition, periods, from: sums).rows {
                let numbers = row.values.map(\.amount)
                #expect(numbers.dropLast().reduce(0, +) == numbers.last, "\(row), seed \(seed)")
            }
        }
        for profile in ReportProfile.allCases {
            for name in ["mrr_movement", "active_movement", "trials"] {
                guard let definition = profile.named(name) else { continue }
                let minus = definition.columns.map { ["churned", "ended"].contains($0.name) }
                for row in Report(definition, periods, from: sums).rows {
                    let numbers = zip(row.values, minus).map { $1 ? -$0.amount : $0.amount }
                    #expect(
                        numbers.dropLast().reduce(0, +) == numbers.last,
                        "\(definition.id) \(row), seed \(seed)")
                }
            }
        }
    }

    @Test func `movements add up on each day in each part of every segment`() {
        let seed = Dice.seed(announcedBy: "RandomHistoryTests", usual: 4)
        let periods = ReportPeriod.periods(.day, in: RandomHistory.days)
        let definitions =
            [ReportCatalogue.mrrMovement, ReportCatalogue.activeMovement]
            + ReportProfile.allCases.flatMap { profile in
                ["mrr_movement", "active_movement"].compactMap(profile.named)
            }
        for division in Division.allCases {
            let sums = RandomHistory.sums(of: Self.purchases, seed: seed, by: division)
            for definition in definitions {
                let minus = definition.columns.map { $0.name == "churned" }
                let open = Report(definition, periods, from: sums).rows.filter { row in
                    let numbers = zip(row.values, minus).map { $1 ? -$0.amount : $0.amount }
                    return numbers.dropLast().reduce(0, +) != numbers.last
                }
                #expect(open == [], "\(definition.id) by \(division), seed \(seed)")
            }
        }
    }

    @Test func `a change to a product of the same price moves MRR from one segment to another`() {
        let seed = Dice.seed(announcedBy: "RandomHistoryTests", usual: 5)
        let periods = ReportPeriod.periods(.day, in: RandomHistory.days)
        func switched(_ division: Division?) -> [Int64] {
            let sums = RandomHistory.sums(of: Self.purchases, seed: seed, by: division)
            let definition = ReportCatalogue.mrrMovement
            let place = definition.columns.firstIndex { $0.name == "switched" } ?? 0
            return Report(definition, periods, from: sums).rows.map { $0.values[place].amount }
        }
        #expect(switched(nil).allSatisfy { $0 == 0 })
        #expect(switched(.product).contains { $0 > 0 })
        #expect(switched(.product).contains { $0 < 0 })
        #expect(switched(.product).reduce(0, +) == 0)
    }

    @Test func `the parts of every segment add up to the whole, by each service's definition`() {
        let seed = Dice.seed(announcedBy: "RandomHistoryTests", usual: 3)
        let periods = ReportPeriod.periods(.month, in: RandomHistory.days)
        let whole = RandomHistory.sums(of: Self.purchases, seed: seed)
        let definitions = ReportCatalogue.all + ReportProfile.allCases.flatMap(\.definitions)
        for division in Division.allCases {
            let parts = RandomHistory.sums(of: Self.purchases, seed: seed, by: division)
            #expect(Set(parts.map(\.part)).count > 1)
            for definition in definitions where definition.cohort == nil {
                #expect(
                    totals(Report(definition, periods, from: parts))
                        == totals(Report(definition, periods, from: whole)),
                    "\(definition.id) by \(division), seed \(seed)")
            }
        }
    }

    /// Values by period, currency and column; ratios do not add up.
    private func totals(_ report: Report) -> [String: Int64] {
        var totals: [String: Int64] = [:]
        for row in report.rows {
            for (column, value) in zip(report.definition.columns, row.values)
            where column.unit != .percent {
                let place = "\(row.period.days.lowerBound) \(row.currency ?? "") \(column.name)"
                totals[place, default: 0] += value.amount
            }
        }
        return totals.filter { $0.value != 0 }
    }
}

/// A purchase with random events: trials, offers, changes of product and price, commitments, gaps,
/// refunds, some of them reversed, grace and retry, renewal switched off, family members.
private struct RandomHistory {
    private(set) var movements: [Movement] = []
    private(set) var facts: [Fact] = []
    private let purchase: PurchaseID

    static let days: Range<Int64> = 20_454..<20_454 + 800
    private static let products: [(id: ProductID, days: Int64, price: Int64)] = [
        ("pro.weekly", 7, 4_990), ("pro.monthly", 30, 9_990), ("plus.monthly", 30, 19_990),
        ("twin.monthly", 30, 9_990), ("pro.yearly", 365, 79_990),
    ]
    private static let places = [("USA", "USD"), ("DEU", "EUR"), ("AUT", "EUR")]
    private static let rules = MoneyRules(
        taxes: ["DEU": 19_000, "AUT": 20_000], clock: .utc)

    init(_ number: Int, _ dice: inout Dice) {
        let purchase = PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
        let place = Self.places.randomElement(using: &dice) ?? ("USA", "USD")
        let isShared = Int.random(in: 0..<20, using: &dice) == 0
        var facts: [Fact] = []
        var start = Instant(milliseconds: Self.days.lowerBound * 86_400_000)
        start = start + .days(Int.random(in: 0..<200, using: &dice))
        var product = Self.products.randomElement(using: &dice) ?? Self.products[0]
        let commits = product.id == "pro.yearly" && Bool.random(using: &dice)
        for index in 0..<Int.random(in: 1...14, using: &dice) {
            if Int.random(in: 0..<6, using: &dice) == 0, !commits {
                product = Self.products.randomElement(using: &dice) ?? product
            }
            var payment = Payment(
                transaction: TransactionID(rawValue: "\(number)-\(index)"),
                line: "\(number)-\(index)", product: product.id, from: start,
                until: start + .days(Int(commits ? 30 : product.days)),
                price: Money(milliunits: product.price, currency: place.1),
                isRenewal: index > 0)
            payment.storefront = place.0
            payment.group = "group \(number % 2)"
            payment.ownership = isShared ? .familyShared : .purchased
            if commits {
                payment.commitment = Commitment(month: index % 12 + 1, months: 12)
            } else if index == 0, Bool.random(using: &dice) {
                payment.terms = .trial
                payment.offer = Offer(.introductory)
                payment.price?.milliunits = 0
                payment.until = start + .days(7)
            } else if Int.random(in: 0..<8, using: &dice) == 0 {
                payment.terms = .offer
                payment.offer = Offer(.promotional, id: "stay")
                payment.price?.milliunits = product.price / 2
            }
            let end = payment.until ?? start
            start = Self.next(after: &payment, &facts, of: purchase, until: end, &dice)
            facts.append(Fact(about: purchase, attestedAt: payment.from, .payment(payment)))
        }
        movements = PurchaseBooks(of: purchase, facts, rules: Self.rules).movements
        (self.facts, self.purchase) = (facts, purchase)
    }

    /// The sum of all movements until a moment: the amounts that are active or free then.
    func standing(at moment: Instant, _ movements: [Movement]) -> Totals {
        var sum = movements.filter { $0.at <= moment }.reduce(Totals()) {
            $0 + Totals($1.amounts.ofStock, $1.counts)
        }
        sum.counts = Movement.Counts(active: sum.counts.active, trials: sum.counts.trials)
        sum.amounts = Movement.Amounts(mrr: sum.amounts.mrr)
        return sum
    }

    /// The movements as they were attested at a moment.
    func movements(attestedBy moment: Instant) -> [Movement] {
        PurchaseBooks(
            of: purchase, facts.filter { $0.attestedAt <= moment }, rules: Self.rules
        ).movements
    }

    /// Adds the events within or after a period. Returns when the next period begins.
    private static func next(
        after payment: inout Payment, _ facts: inout [Fact], of purchase: PurchaseID,
        until end: Instant, _ dice: inout Dice
    ) -> Instant {
        func say(_ renewal: Renewal, at moment: Instant) {
            facts.append(Fact(about: purchase, attestedAt: moment, .renewal(renewal)))
        }
        switch Int.random(in: 0..<12, using: &dice) {
        case 0:
            let percent = Bool.random(using: &dice) ? nil : Int64(40_000)
            payment.revocation = Revocation(
                at: payment.from + .days(3), kind: .refund, percentage: percent)
            return end + .days(Int.random(in: 0..<40, using: &dice))
        case 1:
            say(Renewal(willRenew: false), at: payment.from + .days(2))
            return end + .days(Int.random(in: 1..<40, using: &dice))
        case 2:
            var renewal = Renewal(willRenew: true, isRetrying: true)
            if payment.commitment == nil, Bool.random(using: &dice) {
                renewal.graceUntil = end + .days(16)
            }
            renewal.renewsAt = end
            say(renewal, at: end)
            return end + .days(Int.random(in: 1..<100, using: &dice))
        case 4:
            // The period is refunded, and charged again within the period or after it.
            let refunded = payment.from + .days(3)
            var then = payment
            then.revocation = Revocation(
                at: refunded, kind: .refund, percentage: Bool.random(using: &dice) ? 40_000 : nil)
            facts.append(Fact(about: purchase, attestedAt: refunded, .payment(then)))
            let again = refunded + .days(Int.random(in: 1...60, using: &dice))
            facts.append(Fact(about: purchase, attestedAt: again, .payment(payment)))
            return end + .days(Bool.random(using: &dice) ? 0 : 20)
        case 3 where payment.commitment == nil:
            payment.isUpgraded = true
            return payment.from + .days(4)
        default: return end
        }
    }

    /// The sums of many purchases' movements, all before the end of ``days``.
    static func sums(
        of count: Int, seed: UInt64, by division: Division? = nil
    ) -> [MovementSum] {
        var dice = Dice(seed: seed)
        return (0..<count).flatMap { RandomHistory($0, &dice).movements }.map { movement in
            MovementSum(
                day: movement.at.milliseconds / 86_400_000, kind: movement.kind,
                currency: movement.segment.price?.currency,
                part: division.flatMap { $0.part(of: movement.segment) },
                totals: Totals(movement.amounts, movement.counts))
        }.filter { $0.day < days.upperBound }
    }
}

extension ReportValue {
    fileprivate var amount: Int64 {
        switch self {
        case .money(let amount), .count(let amount): amount
        case .share(let part, _): part
        }
    }
}
