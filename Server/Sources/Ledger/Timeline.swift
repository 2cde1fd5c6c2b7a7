/// All periods of one purchase, and the latest renewal info from the App Store: a pure function of
/// a set of facts.
///
/// For each transaction, the snapshot with the latest attestation wins. Transactions that name the
/// same line item are one period, and again the latest attestation wins. A one-time purchase is one
/// period, however often it was restored: see ``Copy``. The order of arrival does not matter,
/// because facts are a set. The statements of signed and legacy documents about the same thing are
/// stored separately and merged by ``Mergeable``.
package struct Timeline: Hashable, Sendable {
    package var purchase: PurchaseID
    /// The periods of the purchase, sorted by start.
    package internal(set) var periods: [Period]
    package internal(set) var renewal: Attested<Renewal>?
    package private(set) var renewalSources = Sources<Renewal>.signed
    /// The end of the latest grace period. Once it is over, renewal info no longer contains it.
    package private(set) var lastGrace: Attested<Instant>?
    /// Boxed, because only the purchase of the app itself has proofs.
    private var boxedAppProofs: Box<AppProofs>?

    /// The proofs, if this is the purchase of the app itself, which has no periods. Otherwise nil.
    package var appProofs: AppProofs? { boxedAppProofs?.value }

    /// Boxed, because few timelines belong to a member.
    private var boxedSeat: Box<MemberSeat>?

    /// The member's seat, if this timeline is a member's view of another customer's subscription:
    /// see ``seen(from:)``. Otherwise nil. Not stored.
    package internal(set) var seat: MemberSeat? {
        get { boxedSeat?.value }
        set { boxedSeat = newValue.map(Box.init) }
    }

    /// A statement, and when its signer wrote it.
    package struct Attested<Value: Hashable & Sendable>: Hashable, Sendable {
        package var value: Value
        package var at: Instant

        package init(_ value: Value, at: Instant) {
            self.value = value
            self.at = at
        }
    }

    /// One stretch of time, described by the payment with the latest attestation.
    package struct Period: Hashable, Sendable {
        /// Boxed, because a payment has many fields, and a period is copied far more often than it
        /// is created.
        private var boxedPayment: Box<Payment>
        package var attestedAt: Instant
        package var sources: Sources<Payment>
        /// The end of the period: its own end, or the start of the period that replaced it. Nil if
        /// it never ends by itself.
        package var end: Instant?
        /// Whether the next period began before the end of the paid time of this period.
        package var isReplaced: Bool
        /// Whether these are seats that were added within the period of another payment. Such an
        /// addition does not end the period of the other payment. Both end at the same time.
        package var isAddition = false
        /// Whether the period was paid ahead and replaced by an upgrade before it began. Such a
        /// period never counts.
        package var isVoid = false
        /// Whether the customer bought another period after this renewal was charged, and that
        /// period still runs when the renewal begins. Neither of the two periods ends the other.
        package var isOvertaken = false
        /// The copies, if they contain more than the payment. Boxed, because few periods have any.
        private var boxedCopies: Box<[Copy]>?

        init(_ told: Sourced<Payment>, copies: [Copy] = []) {
            self.boxedPayment = Box(told.value.value)
            attestedAt = told.value.at
            sources = told.sources
            isReplaced = false
            boxedCopies = copies.isEmpty ? nil : Box(copies)
        }

        package var payment: Payment {
            get { boxedPayment.value }
            set { boxedPayment = Box(newValue) }
        }
        package var from: Instant { payment.from }
        package var product: ProductID { payment.product }

        /// An identifier that stays the same if the period is reported under several transaction
        /// numbers.
        package var id: String { payment.id(sources.grade) }

        /// What documents say about each transaction of the period. Only a restored one-time
        /// purchase has several.
        package var copies: [Copy] { boxedCopies?.value ?? [Copy(sourced)] }

        fileprivate var sourced: Sourced<Payment> {
            Sourced(value: Attested(payment, at: attestedAt), sources: sources)
        }
    }

    /// Builds the timeline from facts about one purchase. Facts about other purchases are ignored.
    package init(of purchase: PurchaseID, _ facts: some Sequence<Fact>) {
        self.purchase = purchase
        periods = []
        for fact in facts where fact.purchase == purchase { apply(fact) }
        closePeriods()
    }

    /// Returns the timeline with more facts added. The result equals a timeline built from all
    /// facts at once.
    package func adding(_ facts: [Fact]) -> Timeline {
        var result = self
        if result.hasSeparateCopies { result.periods = Self.joinedCopies(of: result) }
        for fact in facts where fact.purchase == purchase { result.apply(fact) }
        result.closePeriods()
        return result
    }

    /// Restores a timeline from its stored parts.
    package init(
        stored purchase: PurchaseID, copies: [Copy], renewal: Sourced<Renewal>?,
        lastGrace: Attested<Instant>?
    ) {
        self.purchase = purchase
        self.renewal = renewal?.value
        self.lastGrace = lastGrace
        renewalSources = renewal?.sources ?? .signed
        periods = copies.map { Period([$0], of: purchase) }
        if hasSeparateCopies { periods = Self.joinedCopies(of: self) }
        closePeriods()
    }

    /// Restores the purchase of the app itself.
    package init(stored purchase: PurchaseID, app: AppProofs) {
        self.purchase = purchase
        periods = []
        boxedAppProofs = Box(app)
    }

    /// The parts to store: see ``init(stored:copies:renewal:lastGrace:)``.
    package var copies: [Copy] { periods.flatMap(\.copies) }
    package var sourcedRenewal: Sourced<Renewal>? {
        renewal.map { Sourced(value: $0, sources: renewalSources) }
    }

    /// The account token of the latest payment that has an account token.
    package var accountToken: String? {
        periods.last { $0.payment.accountToken != nil }?.payment.accountToken
    }

    /// Payments for products of the wanted kinds, sorted by the start of their periods. Iterates by
    /// index, because copying a period out of the array costs more than reading it in place, and
    /// most callers want only few periods.
    package func payments(for isWanted: (ProductKind) -> Bool) -> [Payment] {
        var payments: [Payment] = []
        for index in periods.indices where isWanted(periods[index].payment.kind) {
            payments.append(periods[index].payment)
        }
        return payments
    }

    private mutating func apply(_ fact: Fact) {
        switch fact.statement {
        case .payment(let payment): apply(payment, at: fact.attestedAt, fact.grade)
        case .renewal(let renewal):
            var told = Sourced(Attested(renewal, at: fact.attestedAt), fact.grade)
            if let known = sourcedRenewal { told = known.adding(told) }
            self.renewal = told.value
            renewalSources = told.sources
            recordGrace(renewal, at: fact.attestedAt)
        case .appPurchase(let app):
            let proofs = AppProofs(Attested(app, at: fact.attestedAt))
            boxedAppProofs = Box(appProofs?.adding(proofs) ?? proofs)
        }
    }

    private mutating func recordGrace(_ renewal: Renewal, at attestedAt: Instant) {
        guard let until = renewal.graceUntil else { return }
        let isLast = lastGrace.map { ($0.value, $0.at) < (until, attestedAt) } ?? true
        if isLast { lastGrace = Attested(until, at: attestedAt) }
    }

    private mutating func apply(_ payment: Payment, at attestedAt: Instant, _ grade: Grade) {
        let told = Sourced(Attested(payment, at: attestedAt), grade)
        let id = payment.id(grade)
        // A later document may be the first to mention the other seats of a payment's period. Then
        // the period's id changes.
        let same = periods.firstIndex { $0.isSeated(as: payment) }
        guard let index = same ?? periods.firstIndex(where: { $0.isTold(by: payment, id, grade) })
        else {
            periods.append(Period([Copy(told)], of: purchase))
            return
        }
        periods[index] =
            payment.isBoughtOnce
            ? Period(periods[index].copies.adding([Copy(told)]), of: purchase)
            : Period(periods[index].sourced.adding(told))
    }

    /// Sorts the periods, and ends each period where the next period replaces it.
    private mutating func closePeriods() {
        periods.sort { $0.precedes($1) }
        var last: Int?
        for index in periods.indices {
            periods[index].end = periods[index].payment.until
            periods[index].isReplaced = false
            periods[index].isAddition = last.map { isAddition(index, to: $0) } ?? false
            if periods[index].isAddition, let last { extend(index, with: last) }
            periods[index].isVoid =
                !periods[index].isAddition
                && last.map { isVoid(periods[index].payment, after: $0) } ?? false
                || betterDocumented(periods[index]) != nil
            periods[index].isOvertaken =
                !periods[index].isVoid && !periods[index].isAddition && isOvertaken(index)
            // A renewal that was refunded before it began does not shorten the period that runs.
            guard !periods[index].isVoid, !periods[index].isAddition,
                !periods[index].isOvertaken, !periods[index].payment.isRefundedAhead
            else { continue }
            let from = periods[index].from
            if let last {
                for part in parts(of: last, before: index)
                where periods[part].end.map({ from < $0 }) ?? true
                    && !periods[part].outlives(periods[index])
                {
                    periods[part].end = from
                    periods[part].isReplaced = true
                }
            }
            last = index
        }
    }

    /// Whether a period consists of seats that were added to another period that is not fully
    /// refunded.
    private func isAddition(_ index: Int, to main: Int) -> Bool {
        let period = periods[index]
        guard period.adds(to: periods[main]) else { return false }
        return parts(of: main, before: index).contains { part in
            periods[part].openUntil.map { $0 > period.from } ?? true
        }
    }

    /// Added seats last as long as their period. A document about an extension may name only one
    /// payment.
    private mutating func extend(_ index: Int, with main: Int) {
        guard let end = periods[main].end, periods[index].end.map({ $0 < end }) ?? false else {
            return
        }
        periods[index].end = end
    }

    /// A period and the seats that were added to it.
    private func parts(of index: Int, before next: Int) -> [Int] {
        [index] + (index + 1..<next).filter { periods[$0].isAddition }
    }

    /// The last period that counts. Added seats are not a separate period.
    package var latestPeriod: Period? { periods.last { !$0.isVoid && !$0.isAddition } }

    /// The better description of the same period. If a legacy document describes a period without
    /// its line item, and another period with a line item has the same end and product, both are
    /// the same period. Returns that other period, or nil if there is none.
    func betterDocumented(_ period: Period) -> Period? {
        guard period.sources == .legacy, period.payment.line == nil,
            let until = period.payment.until
        else { return nil }
        return periods.first {
            $0.payment.line != nil && $0.payment.until == until && $0.product == period.product
        }
    }

    /// The period to which a payment belongs, under whichever transaction number it was reported.
    /// Returns nil if the payment's fact is not in this timeline.
    package func period(toldBy payment: Payment, _ grade: Grade) -> Period? {
        let id = payment.id(grade)
        let own =
            periods.first { $0.isTold(by: payment, id, grade) }
            ?? periods.first { $0.isSeated(as: payment) }
        return own.map { betterDocumented($0) ?? $0 }
    }
}

extension Timeline.Period {
    /// Whether both values describe the same period, as it was known at different times.
    package func isSame(as other: Self) -> Bool {
        isTold(by: other.payment, other.id, other.sources.grade) || isSeated(as: other.payment)
    }

    /// Whether this period continues after another period that began within it. The period
    /// continues if the App Store described it again, as neither upgraded nor revoked, at a time
    /// when the App Store must have known the other period. This happens when a refund is reversed
    /// after the customer has bought again.
    fileprivate func outlives(_ next: Self) -> Bool {
        guard let spokenAt = lastDescribedAt(besides: next.product) else { return false }
        return spokenAt > next.from + Timeline.clockSkewMax && payment.revocation == nil
            && !payment.isUpgraded
    }

    /// The latest attestation by a document that would have reported the replacement of this
    /// product by another product. Most legacy documents cannot report a replacement. That does not
    /// matter if the next period is for the same product. Returns nil if there is no such document.
    private func lastDescribedAt(besides other: ProductID) -> Instant? {
        switch sources {
        case .signed: attestedAt
        case .legacy: other == product ? attestedAt : nil
        case .both(let signed, _): other == product ? attestedAt : signed.at
        }
    }

    /// Whether this period comes before another period: by start. If two periods start together,
    /// the upgraded period comes first, and then the period with the smaller transaction number.
    fileprivate func precedes(_ other: Self) -> Bool {
        if from != other.from { return from < other.from }
        if payment.isUpgraded != other.payment.isUpgraded { return payment.isUpgraded }
        if id.utf8.count != other.id.utf8.count { return id.utf8.count < other.id.utf8.count }
        return id < other.id
    }
}

extension Timeline.Attested {
    /// Whether this value replaces the other: the later attestation wins. If both were attested in
    /// the same millisecond, a fixed order decides, so that the result does not depend on the order
    /// of arrival.
    func supersedes(_ other: Self) -> Bool where Value: CanonicallyOrdered {
        if at != other.at { return at > other.at }
        return value.canonicalOrder.lexicographicallyPrecedes(other.value.canonicalOrder) == false
    }
}

/// Values with a total order that has no meaning but is always the same.
protocol CanonicallyOrdered {
    var canonicalOrder: [String] { get }
}

extension Payment: CanonicallyOrdered {
    /// The fields, with revocation and upgrade first: if two snapshots are from the same
    /// millisecond, the snapshot that reports a refund counts as the later one.
    var canonicalOrder: [String] {
        [
            revocation.map { "1 \($0.at) \($0.kind.rawValue) \($0.percentage ?? -1)" } ?? "0",
            isUpgraded ? "1" : "0", until?.description ?? "", from.description,
            transaction.rawValue, product.rawValue, line ?? "", kind.rawValue, terms.rawValue,
            offer.text, commitment.text, "\(quantity)", price.text, ownership.rawValue,
            isRenewal ? "1" : "0", accountToken ?? "", group ?? "", storefront ?? "",
            restoredAt?.description ?? "", seats?.canonicalText ?? "",
        ]
    }
}

extension Renewal: CanonicallyOrdered {
    var canonicalOrder: [String] {
        [
            willRenew ? "0" : "1", isRetrying ? "1" : "0", graceUntil?.description ?? "",
            ending?.rawValue ?? "", renewsTo?.rawValue ?? "", renewsAt?.description ?? "",
            price.text, offer.text, commitmentRenews.map { $0 ? "0" : "1" } ?? "",
            priceRise?.rawValue ?? "", seats.map { "\($0)" } ?? "",
        ]
    }
}

// Fields that a payment and a renewal have in common.

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
