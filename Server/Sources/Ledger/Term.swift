/// A stretch of time that was bought once and does not renew. How long it lasts is the app's to
/// say: the store names no end.
package struct Term: Hashable, Sendable {
    package var purchase: PurchaseID
    package var payment: Payment
    package var from: Instant
    /// Where it ends: earlier than paid for where it was taken back.
    package var until: Instant
    /// It follows the term before it in its chain without a gap.
    package var continues: Bool
    package var chain: String

    package var product: ProductID { payment.product }

    /// How long one lasts, by the calendar.
    package struct Length: Hashable, Sendable {
        package var months: Int
        /// Whole days on top.
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

/// What the app says of its terms.
package struct TermRules: Hashable, Sendable {
    package var products: [ProductID: Product]
    /// Whose days and months count.
    package var clock: WallClock
    package var overlap: Overlap

    package struct Product: Hashable, Sendable {
        package var length: Term.Length
        /// Terms of one chain follow each other; those of different chains run side by side.
        package var chain: String
        /// How many days before its end it is told that it will be over.
        package var reminders: [Int]

        package init(length: Term.Length, chain: String, reminders: [Int] = []) {
            self.length = length
            self.chain = chain
            self.reminders = reminders
        }
    }

    /// What becomes of a term that is bought while another of its chain runs.
    package enum Overlap: String, Hashable, Sendable, CaseIterable {
        /// It begins where that one ends, as a term of its own.
        case stack
        /// It makes that one longer: the customer sees one term.
        case extend
        /// It is advised against before it is bought. Bought all the same, it is stacked: what was
        /// paid for is never lost.
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
    /// Of one chain of one customer; the eldest beyond are left out.
    private static let termsMax = 1_000
    /// Bought at once; the store itself stops at ten.
    package static let quantityMax = 100

    /// All terms that a customer has bought, in the order in which they begin.
    ///
    /// Each chain is folded from its first purchase on. A term begins when it is bought, or where
    /// the one before it ends; the ends of terms that follow each other are counted from where the
    /// first began, so that the last day of a month stays the last; but none is shorter than it
    /// would be by itself. A term that was taken back ends at that moment, and those behind it move
    /// up; one taken back before it began was never there.
    package func terms(of timelines: [Timeline]) -> [Term] {
        var chains: [String: [(PurchaseID, Payment)]] = [:]
        for timeline in timelines {
            for payment in timeline.payments(for: { $0 == .nonRenewing }) {
                guard let chain = products[payment.product]?.chain else { continue }
                chains[chain, default: []].append((timeline.purchase, payment))
            }
        }
        return chains.flatMap { folded($1, as: $0) }.sorted(by: Self.precedes)
    }

    /// Terms as the customer sees them: where the rules say so, each run without a gap as one, by
    /// its last purchase. For the eye only: what a term gives follows from each by itself.
    ///
    /// - Parameter terms: as ``terms(of:)`` says them.
    package func shown(_ terms: [Term]) -> [Term] {
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

    /// What was bought and does not renew, of products whose length nobody said.
    package func paymentsWithoutLength(of timelines: [Timeline]) -> [Payment] {
        timelines.flatMap { timeline in
            timeline.payments { $0 == .nonRenewing }.filter { products[$0.product] == nil }
        }
    }

    private static func precedes(_ one: Term, _ other: Term) -> Bool {
        (one.from, one.until, one.payment.transaction)
            < (other.from, other.until, other.payment.transaction)
    }

    private func folded(
        _ bought: [(purchase: PurchaseID, payment: Payment)], as name: String
    ) -> [Term] {
        let inOrder = bought.sorted {
            ($0.payment.from, $0.payment.transaction, $0.purchase)
                < ($1.payment.from, $1.payment.transaction, $1.purchase)
        }.onePerTransaction(\.payment)
        var chain = Chain(name: name)
        for (purchase, payment) in inOrder.suffix(Self.termsMax) {
            guard let length = products[payment.product]?.length else { continue }
            let count = min(payment.quantity, Self.quantityMax)
            chain.add(payment, of: purchase, lasting: length * count, by: clock)
        }
        return chain.terms
    }
}

/// Terms that follow each other, as far as they are folded.
private struct Chain {
    let name: String
    var terms: [Term] = []
    /// Where the run of terms without a gap began, and how much has been added to it since.
    private var anchor: Instant?
    private var length = Term.Length(months: 0, days: 0)
    private var end: Instant?

    /// A term that begins behind an hour that the clocks leap over ends at its run's time of day
    /// all the same: it may be shorter by that.
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
        // Days and months that are added up since long ago may fall short of this term alone:
        // then the run is counted from here on.
        let alone = clock.moment(months: more.months, days: more.days, after: from)
        if alone > paid + Self.leapMax { (paid, anchor, length) = (alone, from, more) }
        var term = Term(
            purchase: purchase, payment: payment, from: from, until: paid, continues: end == from,
            chain: name)
        if let revocation = payment.revocation, revocation.at < paid {
            term.until = revocation.at
            // What follows is counted anew from there.
            (anchor, length) = (revocation.at, .init(months: 0, days: 0))
        }
        end = term.until
        terms.append(term)
    }
}
