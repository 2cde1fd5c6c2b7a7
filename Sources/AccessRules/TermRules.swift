package import PerennialContract

/// How long terms last, computed in the same way as on the server. Terms do not renew, and the App
/// Store does not report when they end.
package struct TermRules: Sendable {
    /// The length of each term, by product id.
    package var products: [String: Length]
    /// The local time in which the days and months of terms are counted.
    package var clock: WallClock
    /// Whether terms that follow each other without a gap are shown to the customer as one term.
    package var isExtending: Bool

    package init(products: [String: Length], clock: WallClock, isExtending: Bool = false) {
        self.products = products
        self.clock = clock
        self.isExtending = isExtending
    }

    /// The length of one unit of a product, by the calendar.
    package struct Length: Hashable, Sendable {
        package var months: Int
        /// The whole days in addition to the months, including the bonus.
        package var days: Int
        /// The name of the chain. Terms of one chain follow each other; terms of different chains
        /// run in parallel.
        package var chain: String

        package init(months: Int, days: Int, chain: String) {
            self.months = months
            self.days = days
            self.chain = chain
        }
    }

    /// One term that was bought.
    package struct Term: Hashable, Sendable {
        package var transactionID: String
        package var productID: String
        package var from: Timestamp
        /// When the term ends. A refunded term ends at its refund.
        package var until: Timestamp
        /// Whether the term follows the previous term of its chain without a gap.
        package var continues: Bool
        package var chain: String
    }
}

extension TermRules {
    /// The maximum number of terms of a chain. Further, older terms are ignored.
    private static let termsMax = 1_000
    /// The maximum number of units in one transaction. The App Store allows only ten.
    private static let quantityMax = 100

    /// All terms of a customer, sorted by start. Transactions of other kinds, and terms of products
    /// without a length, are skipped.
    ///
    /// Each chain is computed from its first purchase. A term begins when it is bought, or at the
    /// end of the previous term. The ends of consecutive terms are counted from the start of the
    /// first term. So if the first term began on the last day of a month, each of the terms ends on
    /// the last day of a month. But no term is shorter than it would be alone. A refunded term ends
    /// at its refund, and the later terms begin earlier. A term that was refunded before it began
    /// does not count.
    package func terms(of transactions: some Sequence<StoreTransaction>) -> [Term] {
        var chains: [String: [StoreTransaction]] = [:]
        for transaction in transactions where transaction.kind == .nonRenewing {
            guard let chain = products[transaction.productID]?.chain else { continue }
            chains[chain, default: []].append(transaction)
        }
        return chains.flatMap { chainedTerms($1, as: $0) }.sorted(by: Self.precedes)
    }

    /// The end of each term, by transaction id: `termEnds` of ``Evidence``.
    package func ends(of transactions: some Sequence<StoreTransaction>) -> [String: Timestamp] {
        terms(of: transactions).reduce(into: [:]) { $0[$1.transactionID] = $1.until }
    }

    /// Terms as shown to the customer. If ``isExtending`` is true, terms without a gap between them
    /// are shown as one term, which has the data of the last purchase. For display only.
    ///
    /// - Parameter terms: the result of ``terms(of:)``.
    package func displayed(_ terms: [Term]) -> [Term] {
        guard isExtending else { return terms }
        var shown: [Term] = []
        var last: [String: Int] = [:]
        for term in terms {
            if term.continues, let run = last[term.chain] {
                let from = shown[run].from
                shown[run] = term
                shown[run].from = from
            } else {
                last[term.chain] = shown.count
                shown.append(term)
            }
        }
        return shown.sorted(by: Self.precedes)
    }

    private static func precedes(_ one: Term, _ other: Term) -> Bool {
        (one.from, one.until, one.transactionID) < (other.from, other.until, other.transactionID)
    }

    private func chainedTerms(_ bought: [StoreTransaction], as name: String) -> [Term] {
        let inOrder = bought.sorted { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
        var chain = Chain(name: name)
        for transaction in inOrder.suffix(Self.termsMax) {
            guard var length = products[transaction.productID] else { continue }
            let count = max(1, min(transaction.quantity, Self.quantityMax))
            length.months *= count
            length.days *= count
            chain.add(transaction, lasting: length, by: clock)
        }
        return chain.terms
    }
}

/// The terms of one chain, built one after the other.
private struct Chain {
    let name: String
    var terms: [TermRules.Term] = []
    /// The start of the current run of terms without a gap. The length since that start is in
    /// ``months`` and ``days``.
    private var anchor: Timestamp?
    private var months = 0
    private var days = 0
    private var end: Timestamp?

    /// The maximum number of milliseconds by which a term may be too short. A term ends at the same
    /// local time of day at which its run began, so it is shorter if the clocks skip an hour in
    /// between.
    private static let leapMax: Int64 = 12 * 3_600_000

    init(name: String) { self.name = name }

    mutating func add(
        _ transaction: StoreTransaction, lasting more: TermRules.Length, by clock: WallClock
    ) {
        let running = end.flatMap { transaction.purchasedAt < $0 ? $0 : nil }
        let from = running ?? transaction.purchasedAt
        if let refund = transaction.revokedAt, refund <= from { return }
        if running == nil || anchor == nil { (anchor, months, days) = (from, 0, 0) }
        (months, days) = (months + more.months, days + more.days)
        var paid = clock.moment(months: months, days: days, after: anchor ?? from)
        // In a long run, the sum of days and months may end earlier than this term alone would.
        // Then a new run begins with this term.
        let alone = clock.moment(months: more.months, days: more.days, after: from)
        if alone > paid.adding(Self.leapMax) {
            (paid, anchor, months, days) = (alone, from, more.months, more.days)
        }
        var term = TermRules.Term(
            transactionID: transaction.id, productID: transaction.productID, from: from,
            until: paid, continues: end == from, chain: name)
        if let refund = transaction.revokedAt, refund < paid {
            term.until = refund
            // Later terms are counted from the date of the refund.
            (anchor, months, days) = (refund, 0, 0)
        }
        end = term.until
        terms.append(term)
    }
}
