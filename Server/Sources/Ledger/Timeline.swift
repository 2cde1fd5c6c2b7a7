/// All periods of one purchase, and what the store last said of its renewal: a pure function of a
/// set of facts.
///
/// Of each transaction the snapshot attested last holds; transactions that name the same line are
/// one period, and again the last attested holds. No check of the order in which anything arrived:
/// facts are a set. What signed documents and older ones say of one thing is held apart, and put
/// together by ``Mergeable``.
package struct Timeline: Hashable, Sendable {
    package var purchase: PurchaseID
    /// In the order in which they begin.
    package private(set) var periods: [Period]
    package private(set) var renewal: Attested<Renewal>?
    package private(set) var renewalSources = Sources<Renewal>.signed

    /// A value, and when its signer wrote it.
    package struct Attested<Value: Hashable & Sendable>: Hashable, Sendable {
        package var value: Value
        package var at: Instant

        package init(_ value: Value, at: Instant) {
            self.value = value
            self.at = at
        }
    }

    /// One stretch of time, by the payment that was attested last.
    package struct Period: Hashable, Sendable {
        /// A period is copied far more often than it is made, and a payment has many parts.
        private var told: Boxed<Payment>
        package var attestedAt: Instant
        package var sources: Sources<Payment>
        /// Where it ends: its own end, or the beginning of the period that took its place. Nil:
        /// never by itself.
        package var end: Instant?
        /// The period that follows has begun before this one's own end.
        package var isReplaced: Bool
        /// It was paid ahead, and an upgrade took its place before it began: it never counts.
        package var isVoid = false

        fileprivate init(_ told: Sourced<Payment>) {
            self.told = Boxed(told.value.value)
            attestedAt = told.value.at
            sources = told.sources
            isReplaced = false
        }

        package var payment: Payment {
            get { told.value }
            set { told = Boxed(newValue) }
        }
        package var from: Instant { payment.from }
        package var product: ProductID { payment.product }

        /// The name that stays the same under several transaction numbers.
        package var id: String { payment.id(sources.grade) }

        fileprivate var sourced: Sourced<Payment> {
            Sourced(value: Attested(payment, at: attestedAt), sources: sources)
        }
    }

    /// The timeline that facts about one purchase make; facts about others are left out.
    package init(of purchase: PurchaseID, _ facts: some Sequence<Fact>) {
        self.purchase = purchase
        periods = []
        for fact in facts where fact.purchase == purchase { take(fact) }
        settle()
    }

    /// The timeline with more facts in it: the same as one made of all facts at once.
    package func adding(_ facts: [Fact]) -> Timeline {
        var result = self
        for fact in facts where fact.purchase == purchase { result.take(fact) }
        result.settle()
        return result
    }

    /// Puts parts together that a timeline was stored as.
    package init(
        stored purchase: PurchaseID, payments: [Sourced<Payment>], renewal: Sourced<Renewal>?
    ) {
        self.purchase = purchase
        self.renewal = renewal?.value
        renewalSources = renewal?.sources ?? .signed
        periods = payments.map(Period.init)
        settle()
    }

    /// What ``init(stored:payments:renewal:)`` takes.
    package var sourcedPayments: [Sourced<Payment>] { periods.map(\.sourced) }
    package var sourcedRenewal: Sourced<Renewal>? {
        renewal.map { Sourced(value: $0, sources: renewalSources) }
    }

    /// The account that the app named at the latest purchase that named one.
    package var accountToken: String? {
        periods.last { $0.payment.accountToken != nil }?.payment.accountToken
    }

    /// The payments for products of some kinds, in the order in which their periods begin. By
    /// index: to take a period out of the list costs more than to look at it, and most answers want
    /// none.
    package func payments(for isWanted: (ProductKind) -> Bool) -> [Payment] {
        var payments: [Payment] = []
        for index in periods.indices where isWanted(periods[index].payment.kind) {
            payments.append(periods[index].payment)
        }
        return payments
    }

    private mutating func take(_ fact: Fact) {
        switch fact.statement {
        case .payment(let payment): take(payment, at: fact.attestedAt, fact.grade)
        case .renewal(let renewal):
            var told = Sourced(Attested(renewal, at: fact.attestedAt), fact.grade)
            if let known = sourcedRenewal { told = known.adding(told) }
            self.renewal = told.value
            renewalSources = told.sources
        }
    }

    private mutating func take(_ payment: Payment, at attestedAt: Instant, _ grade: Grade) {
        let told = Sourced(Attested(payment, at: attestedAt), grade)
        let id = payment.id(grade)
        guard let index = periods.firstIndex(where: { $0.id == id }) else {
            periods.append(Period(told))
            return
        }
        periods[index] = Period(periods[index].sourced.adding(told))
    }

    /// Puts the periods in order, and closes each where the next one takes its place.
    private mutating func settle() {
        periods.sort { $0.precedes($1) }
        var last: Int?
        for index in periods.indices {
            periods[index].end = periods[index].payment.until
            periods[index].isReplaced = false
            periods[index].isVoid =
                last.map { isVoid(periods[index].payment, after: $0) } ?? false
                || toldBetter(periods[index]) != nil
            guard !periods[index].isVoid else { continue }
            let from = periods[index].from
            if let last, periods[last].end.map({ from < $0 }) ?? true,
                !periods[last].outlives(periods[index])
            {
                periods[last].end = from
                periods[last].isReplaced = true
            }
            last = index
        }
    }

    /// Where an older document tells of a period without its line, and another has the line: then
    /// both are the same period, and it is that one.
    private func toldBetter(_ period: Period) -> Period? {
        guard period.sources == .legacy, period.payment.line == nil,
            let until = period.payment.until
        else { return nil }
        return periods.first {
            $0.payment.line != nil && $0.payment.until == until && $0.product == period.product
        }
    }

    /// The period that a payment tells of, by whichever number; nil where its fact is not here.
    package func period(toldBy payment: Payment, _ grade: Grade) -> Period? {
        let id = payment.id(grade)
        let own = periods.first { $0.id == id }
        return own.map { toldBetter($0) ?? $0 }
    }

    /// Whether a renewal, charged ahead of its time, was given back because the customer bought
    /// another product before it began.
    ///
    /// A renewal begins where the period before it ends. If that falls within a period of another
    /// product, or of its renewal, it was charged before that was bought. The store marks it as
    /// upgraded, but does not say so of its own accord. Where it is known, what was bought instead
    /// may have ended.
    private func isVoid(_ renewal: Payment, after last: Int) -> Bool {
        let isWithin = periods[last].payment.until.map { renewal.from < $0 } ?? false
        guard renewal.isRenewal, renewal.neverBegan || isWithin,
            let before = periods[..<last].lastIndex(where: { $0.payment.until == renewal.from })
        else { return false }
        // Whoever has changed back since has bought the renewal's product anew.
        return periods[(before + 1)...last].contains {
            !$0.payment.isRenewal && $0.payment.product != renewal.product
        }
    }
}

extension Payment {
    /// Whether it was taken back before it began, or another product took its place.
    fileprivate var neverBegan: Bool {
        isUpgraded || revocation.map { $0.at <= from } == true
    }
}

extension Timeline.Period {
    /// Whether it goes on behind one that began within it: the store has spoken of it since, when
    /// it must have known of the next one, and neither as upgraded nor as given back. So it is
    /// where a refund is reversed for somebody who has bought anew.
    fileprivate func outlives(_ next: Self) -> Bool {
        guard let spokenAt = lastWord(besides: next.product) else { return false }
        return spokenAt > next.from + Timeline.clockSkewMax && payment.revocation == nil
            && !payment.isUpgraded
    }

    /// When it was spoken of by a document that would have said that another product has taken its
    /// place. Most older ones cannot; but the same product takes nobody's place.
    private func lastWord(besides other: ProductID) -> Instant? {
        switch sources {
        case .signed: attestedAt
        case .legacy: other == product ? attestedAt : nil
        case .both(let signed, _): other == product ? attestedAt : signed.at
        }
    }

    /// Begins earlier; of two that begin together the one that was upgraded, then the one with the
    /// smaller number.
    fileprivate func precedes(_ other: Self) -> Bool {
        if from != other.from { return from < other.from }
        if payment.isUpgraded != other.payment.isUpgraded { return payment.isUpgraded }
        if id.utf8.count != other.id.utf8.count { return id.utf8.count < other.id.utf8.count }
        return id < other.id
    }
}

extension Timeline.Attested {
    /// Later attested; of two attested in the same millisecond the greater by a fixed order, so
    /// that the answer does not depend on which came first.
    func supersedes(_ other: Self) -> Bool where Value: Ordered {
        if at != other.at { return at > other.at }
        return value.ordering.lexicographicallyPrecedes(other.value.ordering) == false
    }
}

/// Values that can be put into an order which means nothing but is always the same.
protocol Ordered {
    var ordering: [String] { get }
}

extension Payment: Ordered {
    /// What takes away stands first: of two snapshots of one millisecond the one that knows of a
    /// refund is the later.
    var ordering: [String] {
        [
            revocation.map { "1 \($0.at) \($0.kind.rawValue) \($0.percentage ?? -1)" } ?? "0",
            isUpgraded ? "1" : "0", until?.description ?? "", from.description,
            transaction.rawValue, product.rawValue, line ?? "", kind.rawValue, terms.rawValue,
            offer.text, commitment.text, "\(quantity)", price.text, ownership.rawValue,
            isRenewal ? "1" : "0", accountToken ?? "", group ?? "", storefront ?? "",
        ]
    }
}

extension Renewal: Ordered {
    var ordering: [String] {
        [
            willRenew ? "0" : "1", isRetrying ? "1" : "0", graceUntil?.description ?? "",
            ending?.rawValue ?? "", renewsTo?.rawValue ?? "", renewsAt?.description ?? "",
            price.text, offer.text, commitmentRenews.map { $0 ? "0" : "1" } ?? "",
            priceRise?.rawValue ?? "",
        ]
    }
}

// Of what a payment and a renewal both have.

extension Money? {
    fileprivate var text: String { map { "\($0.milliunits) \($0.currency)" } ?? "" }
}

extension Offer? {
    fileprivate var text: String { map { "\($0.kind.rawValue) \($0.id ?? "")" } ?? "" }
}

extension Commitment? {
    fileprivate var text: String {
        map { "\($0.month) \($0.months) \($0.until?.description ?? "") \($0.price.text)" } ?? ""
    }
}
