import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// What is known of the account of a receipt, for an answer in Apple's form: what Apple last
/// answered about it, word for word, and what has been heard since.
struct ReceiptAccount: Sendable {
    var timelines: [Timeline] = []
    /// What is held open although its period is over, and until when: where nobody can be asked
    /// whether it goes on, and of what the receipt in question does not show.
    var held: [PurchaseID: Instant] = [:]
    private var told: (answer: VerifyReceiptAnswer, at: Instant, of: Ledger.Environment)?

    /// Takes Apple's answer out of a document, where it is the newest.
    mutating func take(_ document: StoredDocument?) {
        guard let document, let bytes = document.bytes,
            told.map({ $0.at < document.signedAt }) ?? true,
            let answer = try? VerifyReceiptAnswer(parsing: bytes), answer.receipt?.bundleID != nil
        else { return }
        told = (answer, document.signedAt, document.environment)
    }

    /// The purchases that Apple's answer names, in its rows or in what it says of renewals.
    var purchasesTold: Set<PurchaseID> {
        guard let told else { return [] }
        let named =
            (told.answer.latestRows ?? []).map(\.originalTransactionID)
            + (told.answer.renewals ?? []).map(\.originalTransactionID)
        let ids = Set(named.compactMap(\.self)).filter { !$0.isEmpty }
        return Set(ids.map { PurchaseID(TransactionID(rawValue: $0), in: told.of) })
    }

    /// Purchases whose period is over, and of which the store has not said whether they go on: each
    /// with until when it is held open.
    func held(at now: Instant, _ rules: AccessRules) -> [PurchaseID: Instant] {
        var held: [PurchaseID: Instant] = [:]
        for timeline in timelines {
            guard let access = timeline.access(at: now, rules: rules),
                case .unconfirmed(_, let until) = access.reason
            else { continue }
            held[timeline.purchase] = until
        }
        return held
    }

    /// Adds what the receipt itself cannot say.
    func complete(
        _ answer: inout VerifyReceiptAnswer, from receipt: Verified<AppReceipt>, text: String,
        excludesOld: Bool
    ) {
        let rows = rows(of: receipt.payload, madeAt: Instant(receipt.signedAt))
        let shown = excludesOld ? Self.newestOfEachSubscription(rows) : rows
        answer.latestRows = shown.isEmpty ? nil : shown
        let isToldNewer = told.map { $0.at >= Instant(receipt.signedAt) } ?? false
        answer.latestReceipt = (isToldNewer ? told?.answer.latestReceipt : nil) ?? text
        let renewals = renewals
        answer.renewals = renewals.isEmpty ? nil : renewals
    }

    /// Without an answer of Apple's, the receipt's own rows are what is known. What is missing is
    /// added; of what is there, only what was heard later changes anything.
    func rows(of receipt: AppReceipt, madeAt: Instant) -> [VerifyReceiptRow] {
        var rows = told?.answer.latestRows ?? []
        if told == nil { rows = receipt.purchases.map { VerifyReceiptRow($0) } }
        let since = told?.at ?? madeAt
        for timeline in timelines {
            for period in timeline.periods where !period.isVoid {
                if let place = rows.firstIndex(where: { $0.isOf(period) }) {
                    if period.attestedAt > since { rows[place].update(from: period.payment) }
                    rows[place].complete(from: period.payment)
                    rows[place].take(timeline.replacement(of: period))
                } else if period.isShown, !isLeftOut(period) {
                    rows.append(VerifyReceiptRow(period, in: timeline))
                }
            }
        }
        return inOrder(rows)
    }

    /// Apple knew of it when it answered, and did not list it: as where the sandbox has forgotten
    /// what was long ago. Of a product whose kind is not known it may have been used up.
    private func isLeftOut(_ period: Timeline.Period) -> Bool {
        guard let told, period.attestedAt <= told.at else { return false }
        guard period.payment.kind != .unknown else { return true }
        return told.answer.receipt?.purchases?.contains { $0.isOf(period) } ?? false
    }

    /// By age. Apple's own order is left as it is; where rows were added, its direction.
    private func inOrder(_ rows: [VerifyReceiptRow]) -> [VerifyReceiptRow] {
        let apples = told?.answer.latestRows ?? []
        if told != nil, rows.count == apples.count { return rows }
        let sorted = rows.sorted { $0.isOlder(than: $1) }
        guard let first = apples.first, let last = apples.last, last.isOlder(than: first) else {
            return sorted
        }
        return sorted.reversed()
    }

    /// Of each the row that ends last; of two that end together the one that was bought later.
    /// Where it stands among the others says nothing.
    static func newestOfEachSubscription(_ rows: [VerifyReceiptRow]) -> [VerifyReceiptRow] {
        var newest: [String: Int] = [:]
        for (place, row) in rows.enumerated() where row.expires != nil {
            let id = row.originalTransactionID ?? ""
            if let known = newest[id], rows[known].endsLater(than: row) { continue }
            newest[id] = place
        }
        return newest.values.sorted().map { rows[$0] }
    }

    /// Of each subscription, by what was said of its last period: what was said of a former one,
    /// and why that ended, is no longer so.
    var renewals: [VerifyReceiptRenewal] {
        var renewals = told?.answer.renewals ?? []
        for timeline in timelines {
            guard let renewal = timeline.renewal, let period = timeline.lastToRenew,
                !isTold(renewal, of: period)
            else { continue }
            let row = VerifyReceiptRenewal(
                timeline.news(about: period)?.value, of: timeline.purchase, period)
            renewals.put(row)
        }
        // What we hold open is shown as in grace: Apple's word for what goes on although nothing
        // was paid.
        for timeline in timelines {
            guard let until = held[timeline.purchase], let period = timeline.lastToRenew else {
                continue
            }
            let known = renewals.first { $0.isOf(timeline.purchase) }
            var row = known ?? VerifyReceiptRenewal(nil, of: timeline.purchase, period)
            row.isInBillingRetry = .yes
            row.graceUntil = AppStoreDate(until)
            renewals.put(row)
        }
        return renewals
    }

    /// Whether Apple's answer knew of it: then it stands there, or was left out on purpose.
    private func isTold(
        _ renewal: Timeline.Attested<Renewal>, of period: Timeline.Period
    ) -> Bool {
        guard let told, renewal.at <= told.at else { return false }
        let rows = (told.answer.latestRows ?? []) + (told.answer.receipt?.purchases ?? [])
        return rows.contains { $0.isOf(period) }
    }
}

extension ReceiptAccount {
    /// The same in the style of iOS 6: the subscription's latest transaction, under one key while
    /// it is in force and under another after.
    func complete(
        _ answer: inout VerifyReceiptTransactionAnswer,
        from receipt: Verified<TransactionReceipt>, text: String, at now: AppStoreDate
    ) {
        guard let timeline = timelines.first,
            let period = timeline.periods.last(where: { !$0.isVoid })
        else { return }
        let latest = TransactionReceipt(period.payment, like: receipt.payload)
        let isOver = period.payment.revocation != nil || (latest.expires.map { $0 <= now } ?? false)
        if isOver {
            answer.latestExpired = latest
            answer.cancellationReason = latest.cancellationReason
            answer.status = .expired
        } else {
            answer.latest = latest
            answer.latestReceipt = text
        }
        guard timeline.renewal != nil else { return }
        let news = timeline.news(about: period)?.value
        let renewal = VerifyReceiptRenewal(news, of: timeline.purchase, period)
        answer.autoRenewStatus = renewal.autoRenewStatus
        answer.autoRenewProductID = renewal.autoRenewProductID
        guard isOver else { return }
        answer.expirationIntent = renewal.expirationIntent
        answer.isInBillingRetry = news?.isRetrying == true ? .yes : .no
    }
}

// MARK: - Our words in Apple's

extension Timeline.Period {
    /// Consumables are in an answer until the app has finished them, which we are not told.
    fileprivate var isShown: Bool { !isVoid && payment.kind != .consumable }
}

extension Timeline {
    /// The period that the next one would follow.
    fileprivate var lastToRenew: Period? {
        periods.last { !$0.isVoid && $0.payment.until != nil }
    }

    /// When another product took a period's place before its own end; nil where none did. It is the
    /// newer one that tells it.
    fileprivate func replacement(of period: Period) -> Instant? {
        guard period.isReplaced, let end = period.end else { return nil }
        let next = periods.first { $0.from == end && !$0.isVoid && $0.product != period.product }
        return next.map { _ in end }
    }
}

extension VerifyReceiptRow {
    fileprivate func isOf(_ period: Timeline.Period) -> Bool {
        let payment = period.payment
        if let line = payment.line, let mine = webOrderLineItemID { return mine == line }
        if transactionID == payment.transaction.rawValue { return true }
        // What has no line is known by what else is one in its chain.
        guard let until = payment.until, payment.kind == .autoRenewable else { return false }
        return productID == payment.product.rawValue && expires.map { Instant($0) } == until
    }

    fileprivate func endsLater(than other: Self) -> Bool {
        let (mine, others) = (lastMoment, other.lastMoment)
        return mine == others ? other.isOlder(than: self) : mine > others
    }

    /// Up to when it counted: what was given back no longer than that; and not at all where another
    /// product took its place and Apple does not say when.
    private var lastMoment: Int64 {
        let end = expires?.milliseconds ?? 0
        if let cancelled { return min(cancelled.milliseconds, end) }
        return isUpgraded == true ? min(purchased?.milliseconds ?? end, end) : end
    }

    fileprivate func isOlder(than other: Self) -> Bool {
        let (mine, others) = (purchased?.milliseconds ?? 0, other.purchased?.milliseconds ?? 0)
        return mine == others ? (transactionID ?? "") < (other.transactionID ?? "") : mine < others
    }

    fileprivate mutating func update(from payment: Payment) {
        expires = payment.until.map { AppStoreDate($0) } ?? expires
        cancelled = payment.revocation.map { AppStoreDate($0.at) }
        if cancelled == nil { cancellationReason = nil }
        if payment.isUpgraded { isUpgraded = true }
    }

    /// Adds what a receipt does not say of a purchase, and its account knows.
    fileprivate mutating func complete(from payment: Payment) {
        subscriptionGroupID = subscriptionGroupID ?? payment.group
        appAccountToken = appAccountToken ?? payment.accountToken
        promotionalOfferID = promotionalOfferID ?? payment.offer?.name(as: .promotional)
        offerCodeReferenceName = offerCodeReferenceName ?? payment.offer?.name(as: .code)
    }

    /// Takes in when another product took its place.
    fileprivate mutating func take(_ replacement: Instant?) {
        guard let replacement, cancelled == nil else { return }
        cancelled = AppStoreDate(replacement)
        isUpgraded = true
    }

    fileprivate init(_ period: Timeline.Period, in timeline: Timeline) {
        self.init()
        let payment = period.payment
        let first = timeline.periods.first { !$0.isVoid } ?? period
        let isRenewing = payment.until != nil
        quantity = Int64(payment.quantity)
        productID = payment.product.rawValue
        transactionID = payment.transaction.rawValue
        originalTransactionID = timeline.purchase.original.rawValue
        purchased = AppStoreDate(payment.from)
        originallyPurchased = AppStoreDate(first.from)
        expires = payment.until.map { AppStoreDate($0) }
        webOrderLineItemID = payment.line
        isTrial = payment.terms == .trial
        let isIntroduction = payment.terms == .offer && payment.offer?.kind == .introductory
        isIntroductory = isRenewing ? isIntroduction : nil
        ownership = payment.ownership == .familyShared ? .familyShared : .purchased
        update(from: payment)
        complete(from: payment)
        take(timeline.replacement(of: period))
    }
}

extension VerifyReceiptRenewal {
    fileprivate func isOf(_ purchase: PurchaseID) -> Bool {
        originalTransactionID == purchase.original.rawValue
    }

    /// - Parameter renewal: what was said of the period's end. Where nothing was, whoever has
    ///   bought the period has switched renewal on with it.
    fileprivate init(_ renewal: Renewal?, of purchase: PurchaseID, _ period: Timeline.Period) {
        self.init()
        originalTransactionID = purchase.original.rawValue
        productID = period.product.rawValue
        autoRenewProductID = (renewal?.renewsTo ?? period.product).rawValue
        autoRenewStatus = renewal?.willRenew == false ? .off : .on
        guard let renewal else { return }
        expirationIntent = renewal.ending.map(ExpirationIntent.init)
        if renewal.isRetrying || renewal.ending != nil {
            isInBillingRetry = renewal.isRetrying ? .yes : .no
        }
        graceUntil = renewal.grace(after: period).map { AppStoreDate($0) }
        priceIncreaseStatus = renewal.priceRise.map { $0 == .agreed ? .agreed : .notAnswered }
        // The older spelling, which the oldest programs know.
        priceConsentStatus = priceIncreaseStatus
        offerCodeReferenceName = renewal.offer?.name(as: .code)
        promotionalOfferID = renewal.offer?.name(as: .promotional)
    }
}

extension [VerifyReceiptRenewal] {
    /// In the place of what was there of the same subscription.
    fileprivate mutating func put(_ row: VerifyReceiptRenewal) {
        let place = firstIndex { $0.originalTransactionID == row.originalTransactionID }
        if let place { self[place] = row } else { append(row) }
    }
}

extension Offer {
    /// Its name, where it is of a kind.
    fileprivate func name(as kind: Kind) -> String? { self.kind == kind ? id : nil }
}

extension Renewal {
    /// One of an earlier failure is over; and once renewal is off, a grace still named means
    /// nothing.
    fileprivate func grace(after period: Timeline.Period) -> Instant? {
        guard isRetrying || willRenew, let graceUntil, let end = period.payment.until else {
            return nil
        }
        return graceUntil > end ? graceUntil : nil
    }
}

extension ExpirationIntent {
    fileprivate init(_ ending: Renewal.Ending) {
        switch ending {
        case .cancelled: self = .cancelled
        case .billing: self = .billingError
        case .priceNotAgreed: self = .noConsentToPriceIncrease
        case .productUnavailable: self = .productUnavailable
        case .other: self = .other
        }
    }
}

extension TransactionReceipt {
    /// Another transaction of the same subscription, on the same device.
    fileprivate init(_ payment: Payment, like receipt: TransactionReceipt) {
        self = receipt
        expires = payment.until.map { AppStoreDate($0) }
        cancelled = payment.revocation.map { AppStoreDate($0.at) }
        if cancelled == nil { cancellationReason = nil }
        guard transactionID != payment.transaction.rawValue else { return }
        // Why another was given back is not known.
        cancellationReason = nil
        productID = payment.product.rawValue
        transactionID = payment.transaction.rawValue
        quantity = Int64(payment.quantity)
        purchased = AppStoreDate(payment.from)
        webOrderLineItemID = payment.line
        isTrial = payment.terms == .trial
        isIntroductory = payment.terms == .offer && payment.offer?.kind == .introductory
        appAccountToken = payment.accountToken
    }
}
