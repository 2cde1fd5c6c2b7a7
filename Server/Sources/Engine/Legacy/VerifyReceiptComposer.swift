import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// Composes a response in Apple's format about a receipt's store account. The response combines
/// Apple's last response about the account, unchanged, with everything that was received since.
struct VerifyReceiptComposer: Sendable {
    var timelines: [Timeline] = []
    /// Purchases that stay open although their period is over, each with the end of the hold. The
    /// App Store cannot be queried about them, or the receipt of the request does not show them.
    var held: [PurchaseID: Instant] = [:]
    private var told: (answer: VerifyReceiptResponse, at: Instant, of: Ledger.Environment)?

    /// Uses the response of Apple that a document contains, if it is newer than the response in
    /// use.
    mutating func apply(_ document: StoredDocument?) {
        guard let document, let bytes = document.bytes,
            told.map({ $0.at < document.signedAt }) ?? true,
            let answer = try? VerifyReceiptResponse(parsing: bytes), answer.receipt?.bundleID != nil
        else { return }
        told = (answer, document.signedAt, document.environment)
    }

    /// The purchases that Apple's response names, in its rows or its renewal info.
    var purchasesInResponse: Set<PurchaseID> {
        guard let told else { return [] }
        let named =
            (told.answer.latestRows ?? []).map(\.originalTransactionID)
            + (told.answer.renewals ?? []).map(\.originalTransactionID)
        let ids = Set(named.compactMap(\.self)).filter { !$0.isEmpty }
        return Set(ids.map { PurchaseID(TransactionID(rawValue: $0), in: told.of) })
    }

    /// Purchases whose period is over and whose renewal the App Store has not confirmed or denied,
    /// each with the end of the hold.
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

    /// Adds to a response the values that the receipt itself does not contain.
    func complete(
        _ answer: inout VerifyReceiptResponse, from receipt: Verified<AppReceipt>, text: String,
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

    /// The rows of a response. Without a response of Apple, the rows begin with the receipt's own
    /// rows. Missing rows are added. Existing rows are changed only by documents that were received
    /// later.
    func rows(of receipt: AppReceipt, madeAt: Instant) -> [VerifyReceiptRow] {
        var rows = told?.answer.latestRows ?? []
        if told == nil { rows = receipt.purchases.map { VerifyReceiptRow($0) } }
        let since = told?.at ?? madeAt
        for timeline in timelines {
            for period in timeline.periods where !period.isVoid {
                if let place = rows.firstIndex(where: { $0.isOf(period) }) {
                    if period.attestedAt > since { rows[place].update(from: period.payment) }
                    rows[place].complete(from: period.payment)
                    rows[place].apply(timeline.replacement(of: period))
                } else if period.isShown, !isLeftOut(period) {
                    rows.append(VerifyReceiptRow(period, in: timeline))
                }
            }
        }
        return inOrder(rows)
    }

    /// Whether Apple's response omits the period on purpose: Apple already knew of the period when
    /// it responded. For example, the sandbox forgets old transactions, and a product of unknown
    /// kind may have been consumed.
    private func isLeftOut(_ period: Timeline.Period) -> Bool {
        guard let told, period.attestedAt <= told.at else { return false }
        guard period.payment.kind != .unknown else { return true }
        return told.answer.receipt?.purchases?.contains { $0.isOf(period) } ?? false
    }

    /// Sorts rows by age. If no row was added, Apple's order is preserved. If rows were added, the
    /// direction of Apple's order is preserved.
    private func inOrder(_ rows: [VerifyReceiptRow]) -> [VerifyReceiptRow] {
        let apples = told?.answer.latestRows ?? []
        if told != nil, rows.count == apples.count { return rows }
        let sorted = rows.sorted { $0.isOlder(than: $1) }
        guard let first = apples.first, let last = apples.last, last.isOlder(than: first) else {
            return sorted
        }
        return sorted.reversed()
    }

    /// For each subscription, the row that ends last. If two rows end together, the row that was
    /// bought later. The order of the result has no meaning.
    static func newestOfEachSubscription(_ rows: [VerifyReceiptRow]) -> [VerifyReceiptRow] {
        var newest: [String: Int] = [:]
        for (place, row) in rows.enumerated() where row.expires != nil {
            let id = row.originalTransactionID ?? ""
            if let known = newest[id], rows[known].endsLater(than: row) { continue }
            newest[id] = place
        }
        return newest.values.sorted().map { rows[$0] }
    }

    /// The renewal info of each subscription's last period. Reports about an earlier period, such
    /// as why it ended, no longer apply.
    var renewals: [VerifyReceiptRenewal] {
        var renewals = told?.answer.renewals ?? []
        for timeline in timelines {
            guard let renewal = timeline.renewal, let period = timeline.lastToRenew,
                !isCovered(renewal, of: period)
            else { continue }
            let row = VerifyReceiptRenewal(
                timeline.renewalInfo(about: period)?.value, of: timeline.purchase, period)
            renewals.upsert(row)
        }
        // If a subscription is held open, the response shows a grace period. This is Apple's term
        // for access that continues without a payment.
        for timeline in timelines {
            guard let until = held[timeline.purchase], let period = timeline.lastToRenew else {
                continue
            }
            let known = renewals.first { $0.isOf(timeline.purchase) }
            var row = known ?? VerifyReceiptRenewal(nil, of: timeline.purchase, period)
            row.isInBillingRetry = .yes
            row.graceUntil = AppStoreDate(until)
            renewals.upsert(row)
        }
        return renewals
    }

    /// Whether Apple's response already considered the renewal. A response that considered the
    /// renewal lists it, or omits it on purpose.
    private func isCovered(
        _ renewal: Timeline.Attested<Renewal>, of period: Timeline.Period
    ) -> Bool {
        guard let told, renewal.at <= told.at else { return false }
        let rows = (told.answer.latestRows ?? []) + (told.answer.receipt?.purchases ?? [])
        return rows.contains { $0.isOf(period) }
    }
}

extension VerifyReceiptComposer {
    /// Completes a response in the style of iOS 6. Such a response contains the subscription's
    /// latest transaction. The transaction has one key while the subscription is active, and
    /// another key after that.
    func complete(
        _ answer: inout VerifyReceiptTransactionResponse,
        from receipt: Verified<TransactionReceipt>, text: String, at now: AppStoreDate
    ) {
        guard let timeline = timelines.first,
            let period = timeline.latestPeriod
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
        let news = timeline.renewalInfo(about: period)?.value
        let renewal = VerifyReceiptRenewal(news, of: timeline.purchase, period)
        answer.autoRenewStatus = renewal.autoRenewStatus
        answer.autoRenewProductID = renewal.autoRenewProductID
        guard isOver else { return }
        answer.expirationIntent = renewal.expirationIntent
        answer.isInBillingRetry = news?.isRetrying == true ? .yes : .no
    }
}

// MARK: - Conversion to Apple's format

extension Timeline.Period {
    /// Whether responses contain the period. Consumables are left out: Apple lists a consumable
    /// until the app has finished its transaction, which this server cannot know.
    fileprivate var isShown: Bool { !isVoid && payment.kind != .consumable }
}

extension Timeline {
    /// The last period that can be followed by a renewal. Nil if there is no such period.
    fileprivate var lastToRenew: Period? {
        periods.last { !$0.isVoid && $0.payment.until != nil }
    }

    /// When another product replaced a period before the period's end. Nil if no product did. This
    /// moment is the start of the newer period.
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
        if period.transactions.contains(where: { $0.rawValue == transactionID }) { return true }
        // A row without a line item is identified by other fields within its chain.
        guard let until = payment.until, payment.kind == .autoRenewable else { return false }
        return productID == payment.product.rawValue && expires.map { Instant($0) } == until
    }

    fileprivate func endsLater(than other: Self) -> Bool {
        let (mine, others) = (lastMoment, other.lastMoment)
        return mine == others ? other.isOlder(than: self) : mine > others
    }

    /// The last moment for which the row counts, in milliseconds since 1970. If the row was
    /// refunded, this is the moment of the refund. If another product replaced the row and Apple
    /// does not say when, it is the moment of the purchase. Otherwise it is the end of the row.
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

    /// Adds to a row the values that a receipt does not contain but that are known about its
    /// account.
    fileprivate mutating func complete(from payment: Payment) {
        subscriptionGroupID = subscriptionGroupID ?? payment.group
        appAccountToken = appAccountToken ?? payment.accountToken
        promotionalOfferID = promotionalOfferID ?? payment.offer?.name(as: .promotional)
        offerCodeReferenceName = offerCodeReferenceName ?? payment.offer?.name(as: .code)
    }

    /// Sets when another product replaced the row's period.
    fileprivate mutating func apply(_ replacement: Instant?) {
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
        isTrial = payment.isIntroductory && payment.isFree
        isIntroductory = isRenewing ? payment.isIntroductory && !payment.isFree : nil
        ownership = payment.ownership == .familyShared ? .familyShared : .purchased
        update(from: payment)
        complete(from: payment)
        apply(timeline.replacement(of: period))
    }
}

extension VerifyReceiptRenewal {
    fileprivate func isOf(_ purchase: PurchaseID) -> Bool {
        originalTransactionID == purchase.original.rawValue
    }

    /// - Parameter renewal: the renewal info of the period's end. If there is none, renewal counts
    ///   as on, because the purchase of the period switched it on.
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
        // The same value under its older name, for the oldest clients.
        priceConsentStatus = priceIncreaseStatus
        offerCodeReferenceName = renewal.offer?.name(as: .code)
        promotionalOfferID = renewal.offer?.name(as: .promotional)
    }
}

extension [VerifyReceiptRenewal] {
    /// Inserts the row, or replaces the existing row of the same subscription.
    fileprivate mutating func upsert(_ row: VerifyReceiptRenewal) {
        let place = firstIndex { $0.originalTransactionID == row.originalTransactionID }
        if let place { self[place] = row } else { append(row) }
    }
}

extension Offer {
    /// The offer's name, if the offer is of this kind. Nil for any other offer.
    fileprivate func name(as kind: Kind) -> String? { self.kind == kind ? id : nil }
}

extension Renewal {
    /// The end of the grace period after a period. Nil if there is no grace period. Also nil if the
    /// grace period ended before the period or at its end, because it then belongs to an earlier
    /// failure. Also nil if renewal is off and no payment is being retried.
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
    /// Creates another transaction of the same subscription, on the same device.
    fileprivate init(_ payment: Payment, like receipt: TransactionReceipt) {
        self = receipt
        expires = payment.until.map { AppStoreDate($0) }
        cancelled = payment.revocation.map { AppStoreDate($0.at) }
        if cancelled == nil { cancellationReason = nil }
        guard transactionID != payment.transaction.rawValue else { return }
        // The reason for another transaction's refund is unknown.
        cancellationReason = nil
        productID = payment.product.rawValue
        transactionID = payment.transaction.rawValue
        quantity = Int64(payment.quantity)
        purchased = AppStoreDate(payment.from)
        webOrderLineItemID = payment.line
        isTrial = payment.isIntroductory && payment.isFree
        isIntroductory = payment.isIntroductory && !payment.isFree
        appAccountToken = payment.accountToken
    }
}
