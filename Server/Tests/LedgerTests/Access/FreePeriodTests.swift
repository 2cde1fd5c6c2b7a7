import Testing

@testable import Ledger

/// Free periods, and the payment that follows each of them.
@Suite struct FreePeriodTests {
    private static let start = Instant(milliseconds: 1_767_225_600_000)
    private static let purchase = PurchaseID("1", in: .production)

    /// Months of one subscription. Each month is a letter: `f` free, `o` reduced, `p` full price;
    /// `-` no period.
    private static func timeline(_ months: String, product: (Int) -> ProductID = { _ in "pro" })
        -> Timeline
    {
        let facts = months.enumerated().filter { $0.element != "-" }.map { index, letter in
            let from = start + .days(30 * index)
            return Fact(
                about: purchase, attestedAt: from,
                .payment(
                    Payment(
                        transaction: TransactionID(rawValue: "\(index)"), line: "\(index)",
                        product: product(index), from: from, until: from + .days(30),
                        terms: letter == "f" ? .trial : letter == "o" ? .offer : .full,
                        isRenewal: index > 0)))
        }
        return Timeline(of: purchase, facts)
    }

    @Test(arguments: [
        ("p", ""), ("f", ""), ("fp", "1"), ("fpp", "1"), ("ffp", "2"), ("fop", "1"),
        ("f-p", "2"), ("pfp", "2"), ("fpfp", "13"), ("opp", ""),
    ])
    func `the first payment after a free period is its conversion, even after a gap`(
        months: String, conversions: String
    ) {
        let timeline = Self.timeline(months)
        let found = timeline.periods.filter(timeline.convertsFreePeriod)
        #expect(found.map(\.payment.transaction.rawValue).joined() == conversions)
        #expect(timeline.periods.map(timeline.number) == (1...timeline.periods.count).map { $0 })
    }

    @Test func `the first payment after a free period is its conversion, even for another product`()
    {
        let timeline = Self.timeline("fp") { $0 == 0 ? "pro" : "plus" }
        #expect(timeline.convertsFreePeriod(timeline.periods[1]))
    }

    @Test
    func `a renewal charged ahead counts as a conversion at once, even if it never begins`() {
        func paid(
            _ id: String, _ product: ProductID, days: Range<Int>, terms: Terms = .full,
            isRenewal: Bool = false, isUpgraded: Bool = false
        ) -> Fact {
            Fact(
                about: Self.purchase, attestedAt: Self.start,
                .payment(
                    Payment(
                        transaction: TransactionID(rawValue: id), line: id, product: product,
                        from: Self.start + .days(days.lowerBound),
                        until: Self.start + .days(days.upperBound), terms: terms,
                        isRenewal: isRenewal, isUpgraded: isUpgraded)))
        }
        let timeline = Timeline(
            of: Self.purchase,
            [
                paid("1", "pro", days: 0..<30, terms: .trial, isUpgraded: true),
                paid("2", "pro", days: 30..<60, isRenewal: true, isUpgraded: true),
                paid("3", "premium", days: 29..<59),
            ])
        let numbers = timeline.periods.map {
            [$0.payment.transaction.rawValue: timeline.number(of: $0)]
        }
        #expect(numbers == [["1": 1], ["3": 3], ["2": 2]])
        let conversions = timeline.periods.filter(timeline.convertsFreePeriod)
        #expect(conversions.map(\.payment.transaction) == ["2"])
    }

    @Test func `free periods and periods that somebody else pays for cost nothing`() {
        func charge(_ terms: Terms, _ ownership: Ownership, _ price: Int64?) -> Int64? {
            Payment(
                transaction: "1", product: "pro", from: Self.start, until: nil, terms: terms,
                price: price.map { Money(milliunits: $0, currency: "EUR") }, ownership: ownership
            ).charge?.milliunits
        }
        #expect(charge(.full, .purchased, 9_990) == 9_990)
        #expect(charge(.offer, .purchased, 990) == 990)
        #expect(charge(.full, .familyShared, 9_990) == 0)
        #expect(charge(.full, .assigned, 9_990) == 0)
        #expect(charge(.trial, .purchased, 0) == 0)
        #expect(charge(.full, .purchased, 0) == 0)
        #expect(charge(.full, .purchased, nil) == nil)
    }
}
