/// A stretch of time that was bought once and does not renew. Its length is configured by the app,
/// because the App Store names no end.
package struct Term: Hashable, Sendable {
    package var purchase: PurchaseID
    package var payment: Payment
    package var from: Instant
    /// The end of the term. If the term was revoked, this is earlier than the end that was paid
    /// for.
    package var until: Instant
    /// Whether the term follows the previous term of its chain without a gap.
    package var continues: Bool
    package var chain: String

    package var product: ProductID { payment.product }

    /// The length of one term by the calendar.
    package struct Length: Hashable, Sendable {
        package var months: Int
        /// Whole days, in addition to the months.
        package var days: Int

        package init(months: Int, days: Int) {
            self.months = months
            self.days = days
        }

        fileprivate static func * (length: Self, count: Int) -> Self {
            Self(months: length.months * count, days: length.days * count)
        }

        fileprivate static func + (one: Self, other: Self) -> Self {
            Self(months: one.months + other.months, days: one.days + other.days)
        }
    }
}

/// The app's rules for its terms.
package struct TermRules: Hashable, Sendable {
    package var products: [ProductID: Product]
    /// The clock that determines days and months when terms are counted.
    package var clock: WallClock
    package var overlap: Overlap

    /// The rules of one product.
    package struct Product: Hashable, Sendable {
        package var length: Term.Length
        /// How many days of the length are a bonus.
        package var bonusDays: Int
        /// The name of the chain. Terms of one chain follow each other; terms of different chains
        /// run in parallel.
        package var chain: String
        /// How many days before the end of a term to emit a reminder.
        package var reminders: [Int]

        package init(
            length: Term.Length, bonusDays: Int = 0, chain: String, reminders: [Int] = []
        ) {
            self.length = length
            self.bonusDays = bonusDays
            self.chain = chain
            self.reminders = reminders
        }
    }

    /// What happens if a term is bought while another term of its chain runs.
    package enum Overlap: String, Hashable, Sendable, CaseIterable {
        /// The new term begins at the end of the running term, as a separate term.
        case stack
        /// The new term extends the running term, and the customer sees one term.
        case extend
        /// The app is advised to refuse the purchase. If the purchase is made nevertheless, it is
        /// stacked, so that no paid time is lost.
        case refuse
    }

    package static let none = TermRules(products: [:])

    package init(
        products: [ProductID: Product], clock: WallClock = .utc, overlap: Overlap = .stack
    ) {
        self.products = products
        self.clock = clock
        self.overlap = overlap
    }
}

extension TermRules {
    /// The maximum number of terms in one chain of a customer. If there are more, older terms are
    /// ignored.
    private static let termsMax = 1_000
    /// The maximum number of units bought at once; the App Store itself limits it to ten.
    package static let quantityMax = 100

    /// All terms that a customer has bought, sorted by start.
    ///
    /// Each chain is computed from its first purchase. A term begins when it is bought, or at the
    /// end of the previous term. The ends of consecutive terms are counted from the start of the
    /// first term. So if the first term began on the last day of a month, each term ends on the
    /// last day of a month. But no term is shorter than it would be alone. A revoked term ends at
    /// its revocation, and the following terms begin earlier. A term revoked before it began does
    /// not count.
    package func terms(of timelines: [Timeline]) -> [Term] {
        var chains: [String: [(PurchaseID, Payment)]] = [:]
        for timeline in timelines {
            for payment in timeline.payments(for: { $0 == .nonRenewing }) {
                guard let chain = products[payment.product]?.chain else { continue }
                chains[chain, default: []].append((timeline.purchase, payment))
            }
        }
        return chains.flatMap { chainedTerms($1, as: $0) }.sorted(by: Self.precedes)
    }

    /// Terms as shown to the customer: if ``overlap`` is ``Overlap/extend``, each run without a gap
    /// is one term, represented by its last purchase. For display only: access is computed from
    /// each single term.
    ///
    /// - Parameter terms: the result of ``terms(of:)``.
    package func displayed(_ terms: [Term]) -> [Term] {
        guard overlap == .extend else { return terms }
        var shown: [Term] = []
        var last: [String: Int] = [:]
        for term in terms {
            if term.continues, let run = last[term.chain] {
                shown[run].purchase = term.purchase
                shown[run].payment = term.payment
                shown[run].until = term.until
            } else {
                last[term.chain] = shown.count
                shown.append(term)
            }
        }
        return shown.sorted(by: Self.precedes)
    }

    /// Non-renewing payments for products whose length is not configured.
    package func paymentsWithoutLength(of timelines: [Timeline]) -> [Payment] {
        timelines.flatMap { timeline in
            timeline.payments { $0 == .nonRenewing }.filter { products[$0.product] == nil }
        }
    }

    private static func precedes(_ one: Term, _ other: Term) -> Bool {
        (one.from, one.until, one.payment.transaction)
            < (other.from, other.until, other.payment.transaction)
    }

    private func chainedTerms(
        _ bought: [(purchase: PurchaseID, payment: Payment)], as name: String
    ) -> [Term] {
        let inOrder = bought.sorted {
            ($0.payment.from, $0.payment.transaction, $0.purchase)
                < ($1.payment.from, $1.payment.transaction, $1.purchase)
        }.uniquedByTransaction(\.payment)
        var chain = Chain(name: name)
        for (purchase, payment) in inOrder.suffix(Self.termsMax) {
            guard let length = products[payment.product]?.length else { continue }
            let count = min(payment.quantity, Self.quantityMax)
            chain.add(payment, of: purchase, lasting: length * count, by: clock)
        }
        return chain.terms
    }
}

/// The terms of one chain, built one after the other.
private struct Chain {
    let name: String
    var terms: [Term] = []
    /// The start of the current run of terms without a gap, and the length added to it since.
    private var anchor: Instant?
    private var length = Term.Length(months: 0, days: 0)
    private var end: Instant?

    /// The maximum time by which a term may be too short because of clock changes. Such a
    /// difference arises because the end of a term has the same local time as the start of its run.
    private static let leapMax = Duration.hours(12)

    init(name: String) { self.name = name }

    mutating func add(
        _ payment: Payment, of purchase: PurchaseID, lasting more: Term.Length, by clock: WallClock
    ) {
        let running = end.flatMap { payment.from < $0 ? $0 : nil }
        let from = running ?? payment.from
        if let revocation = payment.revocation, revocation.at <= from { return }
        if running == nil || anchor == nil { (anchor, length) = (from, .init(months: 0, days: 0)) }
        length = length + more
        var paid = clock.moment(months: length.months, days: length.days, after: anchor ?? from)
        // If the days and months of a long run are added up, the end may be earlier than the end of
        // this term alone. Then the run is counted anew from this term.
        let alone = clock.moment(months: more.months, days: more.days, after: from)
        if alone > paid + Self.leapMax { (paid, anchor, length) = (alone, from, more) }
        var term = Term(
            purchase: purchase, payment: payment, from: from, until: paid, continues: end == from,
            chain: name)
        if let revocation = payment.revocation, revocation.at < paid {
            term.until = revocation.at
            // Later terms are counted from this term.
            (anchor, length) = (revocation.at, .init(months: 0, days: 0))
        }
        end = term.until
        terms.append(term)
    }
}
