import AppStoreFormats
import Ledger

/// The facts in a receipt, a verifyReceipt response, or a version 1 notification. Rows that lack
/// required fields make no facts; `shortcomings` lists the missing fields.
package struct LegacyFacts: Hashable, Sendable {
    package var facts: [Fact]
    package var shortcomings: [IntakeFailure]
}

/// Legacy documents: each describes an account, or a part of it, as of one moment.
extension Intake {
    /// The facts that an app receipt attests. A receipt says nothing about future renewals.
    package static func facts(
        of receipt: AppReceipt, in environment: StoreEnvironment, createdAt: AppStoreDate
    ) throws(IntakeFailure) -> LegacyFacts {
        let place = try LegacyContext(environment, attestedAt: createdAt)
        return place.facts(
            rows: receipt.purchases.map { purchase in
                (VerifyReceiptRow(purchase), kind(of: purchase))
            })
    }

    /// The facts that the single transaction of a transaction receipt attests.
    package static func facts(
        of receipt: TransactionReceipt, in environment: StoreEnvironment, signedAt: AppStoreDate
    ) throws(IntakeFailure) -> LegacyFacts {
        let place = try LegacyContext(environment, attestedAt: signedAt)
        return place.facts(rows: [(VerifyReceiptRow(receipt), nil)])
    }

    /// The kind of each product according to a receipt: the rows of responses do not contain it.
    package static func kinds(in receipt: AppReceipt?) -> [String: ProductKind] {
        var kinds: [String: ProductKind] = [:]
        for purchase in receipt?.purchases ?? [] {
            if let product = purchase[.productID]?.text, let kind = kind(of: purchase) {
                kinds[product] = kind
            }
        }
        return kinds
    }

    /// Newsstand's free subscriptions never end and can be restored, so they are treated like
    /// non-consumables.
    private static func kind(of purchase: InAppReceipt) -> ProductKind? {
        purchase[.kind]?.integer.map { number in
            switch ReceiptProductKind(rawValue: number) {
            case .nonConsumable, .freeSubscription: .nonConsumable
            case .consumable: .consumable
            case .nonRenewing: .nonRenewing
            case .autoRenewable: .autoRenewable
            default: .unknown
            }
        }
    }
}

extension Intake {
    /// The facts that a verifyReceipt response attests, in either style.
    ///
    /// - Parameter kinds: the kinds of products, if known from receipts.
    package static func facts(
        of answer: VerifyReceiptResponse, in environment: StoreEnvironment,
        answeredAt: AppStoreDate, kinds: [String: ProductKind] = [:]
    ) throws(IntakeFailure) -> LegacyFacts {
        let place = try LegacyContext(environment, attestedAt: answeredAt)
        // The rows of the latest state of the account come last, because they contain later
        // information than the receipt.
        let rows = (answer.receipt?.purchases ?? []) + (answer.latestRows ?? [])
        return place.facts(
            rows: rows.map { ($0, kinds[$0.productID ?? ""]) }, renewals: answer.renewals ?? [])
    }

    package static func facts(
        of answer: VerifyReceiptTransactionResponse, in environment: StoreEnvironment,
        answeredAt: AppStoreDate, kinds: [String: ProductKind] = [:]
    ) throws(IntakeFailure) -> LegacyFacts {
        let place = try LegacyContext(environment, attestedAt: answeredAt)
        let rows = [answer.receipt, answer.latest, answer.latestExpired].compactMap { $0 }
            .map { VerifyReceiptRow($0) }
        var renewal = VerifyReceiptRenewal()
        renewal.originalTransactionID = rows.last.flatMap {
            $0.originalTransactionID ?? $0.transactionID
        }
        renewal.autoRenewStatus = answer.autoRenewStatus
        renewal.autoRenewProductID = answer.autoRenewProductID
        renewal.expirationIntent = answer.expirationIntent
        renewal.isInBillingRetry = answer.isInBillingRetry
        return place.facts(
            rows: rows.map { ($0, kinds[$0.productID ?? ""]) },
            renewals: answer.autoRenewStatus == nil ? [] : [renewal])
    }

    /// The facts that a version 1 notification of any year attests.
    ///
    /// - Parameters:
    ///   - attestedAt: when the notification's content was true; see ``V1Notification/moment``.
    ///   - receivedAt: when the notification arrived. Recorded with renewals if the notification
    ///     names no moment.
    package static func facts(
        of notification: V1Notification, in environment: StoreEnvironment,
        attestedAt: AppStoreDate, receivedAt: AppStoreDate? = nil,
        kinds: [String: ProductKind] = [:]
    ) throws(IntakeFailure) -> LegacyFacts {
        let rowsAt = notification.rowsMoment(receivedAt: attestedAt)
        var told = try LegacyContext(environment, attestedAt: rowsAt).facts(
            rows: notification.rows.map { ($0, kinds[$0.productID ?? ""]) })
        var place = try LegacyContext(environment, attestedAt: attestedAt)
        if !notification.namesItsMoment { place.receivedAt = receivedAt.map(Intake.instant) }
        let renewals = place.facts(rows: [], renewals: notification.renewals)
        told.facts += renewals.facts
        told.shortcomings += renewals.shortcomings
        return told
    }
}

/// The environment and moment in which a document describes an account.
private struct LegacyContext {
    let environment: Environment
    let attestedAt: Instant
    /// When the document arrived, if it does not say when its renewal info was true.
    var receivedAt: Instant?

    init(_ environment: StoreEnvironment, attestedAt: AppStoreDate) throws(IntakeFailure) {
        self.environment = try Intake.environment(environment)
        self.attestedAt = Intake.instant(attestedAt)
    }

    func facts(
        rows: [(VerifyReceiptRow, ProductKind?)], renewals: [VerifyReceiptRenewal] = []
    ) -> LegacyFacts {
        var result = LegacyFacts(facts: [], shortcomings: [])
        let neighbours = Neighbours(rows.map(\.0))
        var payments: [PurchaseID: [TransactionID: Fact]] = [:]
        for (row, kind) in rows {
            do throws(IntakeFailure) {
                let payment = try payment(row, kind, neighbours)
                let purchase = try purchase(row.originalTransactionID, or: row.transactionID)
                // If a transaction appears twice, the last one counts.
                payments[purchase, default: [:]][payment.transaction] = fact(
                    purchase, .payment(payment))
            } catch { result.shortcomings.append(error) }
        }
        result.facts = payments.values.flatMap(\.values).sorted { $0.precedes($1) }
        for renewal in renewals {
            do throws(IntakeFailure) {
                guard let meant = self.renewal(renewal) else { continue }
                let purchase = try purchase(renewal.originalTransactionID, or: nil)
                result.facts.append(fact(purchase, .renewal(meant)))
            } catch { result.shortcomings.append(error) }
        }
        return result
    }

    private func fact(_ purchase: PurchaseID, _ statement: Fact.Statement) -> Fact {
        Fact(about: purchase, attestedAt: attestedAt, grade: .legacy, statement)
    }

    private func purchase(
        _ original: String?, or transaction: String?
    ) throws(IntakeFailure) -> PurchaseID {
        let id = try Intake.required(
            original?.nonEmpty ?? transaction?.nonEmpty, "original_transaction_id")
        return PurchaseID(TransactionID(rawValue: id), in: environment)
    }

    private func payment(
        _ row: VerifyReceiptRow, _ kind: ProductKind?, _ neighbours: Neighbours
    ) throws(IntakeFailure) -> Payment {
        let id = try Intake.required(row.transactionID?.nonEmpty, "transaction_id")
        let product = try Intake.required(row.productID?.nonEmpty, "product_id")
        let kind = kind ?? (row.expires == nil ? .unknown : .autoRenewable)
        let (terms, offer) = row.terms
        let ownership: Ownership =
            switch row.ownership {
            case .familyShared?: .familyShared
            case .assigned?: .assigned
            default: .purchased
            }
        let dates = try dates(
            of: row, kind, isOriginal: (row.originalTransactionID?.nonEmpty ?? id) == id)
        let isUpgraded = row.isUpgraded == true || neighbours.hasReplacement(of: row)
        return Payment(
            transaction: TransactionID(rawValue: id), line: row.webOrderLineItemID?.nonEmpty,
            product: ProductID(rawValue: product), kind: kind,
            from: dates.from, until: row.expires.map(Intake.instant), terms: terms, offer: offer,
            quantity: Int(min(max(1, row.quantity ?? 1), Intake.quantityMax)),
            ownership: ownership,
            isRenewal: neighbours.hasPredecessor(of: row), isUpgraded: isUpgraded,
            revocation: row.cancelled.map {
                Revocation(
                    at: Intake.instant($0), kind: ownership == .purchased ? .refund : .sharingEnded)
            },
            accountToken: row.appAccountToken?.nonEmpty?.lowercased(),
            group: row.subscriptionGroupID?.nonEmpty, restoredAt: dates.restoredAt)
    }

    /// The dates of a row. In old restores of a subscription, the row's date is after the end of
    /// the subscription. Such a row counts as a period that begins at its own end.
    private func dates(
        of row: VerifyReceiptRow, _ kind: ProductKind, isOriginal: Bool
    ) throws(IntakeFailure) -> PurchaseDates {
        let purchased = Intake.instant(try Intake.required(row.purchased, "purchase_date"))
        let expires = row.expires.map(Intake.instant)
        return PurchaseDates(
            purchased: expires.map { min(purchased, $0) } ?? purchased,
            original: row.originallyPurchased.map(Intake.instant), kind, ends: expires != nil,
            isOriginal: isOriginal)
    }

    /// The renewal that a row attests. Returns nil if the document does not say whether there will
    /// be another period.
    private func renewal(_ renewal: VerifyReceiptRenewal) -> Renewal? {
        guard let status = renewal.autoRenewStatus else { return nil }
        let rise = renewal.priceIncreaseStatus ?? renewal.priceConsentStatus
        return Renewal(
            willRenew: status != .off,
            renewsTo: renewal.autoRenewProductID?.nonEmpty.map(ProductID.init(rawValue:)),
            isRetrying: renewal.isInBillingRetry == .yes,
            graceUntil: renewal.graceUntil.map(Intake.instant),
            ending: renewal.expirationIntent.map(Intake.ending),
            priceRise: rise.flatMap(Intake.priceRise), receivedAt: receivedAt)
    }
}

/// Properties of a row that only the other rows of its document reveal.
private struct Neighbours {
    private let rows: [String: [VerifyReceiptRow]]

    /// The maximum time between an upgrade and its refund. Apple refunds an upgraded period within
    /// seconds of the purchase that replaces it.
    private static let replacementMax = Duration.seconds(60)

    init(_ rows: [VerifyReceiptRow]) {
        self.rows = Dictionary(grouping: rows, by: Self.chain)
    }

    private func others(of row: VerifyReceiptRow) -> [VerifyReceiptRow] {
        rows[Self.chain(of: row)] ?? []
    }

    /// The chain to which a row belongs. A row that names no chain is a chain by itself.
    private static func chain(of row: VerifyReceiptRow) -> String {
        row.originalTransactionID?.nonEmpty ?? row.transactionID ?? ""
    }

    /// Whether the row begins where another row ends.
    func hasPredecessor(of row: VerifyReceiptRow) -> Bool {
        guard row.expires != nil, let purchased = row.purchased else { return false }
        return others(of: row).contains { $0.expires == purchased }
    }

    /// Whether the row was refunded because another product replaced it. Older rows do not contain
    /// this information.
    func hasReplacement(of row: VerifyReceiptRow) -> Bool {
        guard row.expires != nil, let cancelled = row.cancelled else { return false }
        return others(of: row).contains { other in
            guard other.productID != row.productID, let purchased = other.purchased else {
                return false
            }
            let distance = Intake.instant(purchased) - Intake.instant(cancelled)
            return max(distance, .zero - distance) <= Self.replacementMax
        }
    }
}

extension VerifyReceiptRow {
    /// Creates a row from the transaction of a transaction receipt.
    fileprivate init(_ receipt: TransactionReceipt) {
        self.init()
        quantity = receipt.quantity
        productID = receipt.productID
        transactionID = receipt.transactionID
        originalTransactionID = receipt.originalTransactionID
        purchased = receipt.purchased
        originallyPurchased = receipt.originallyPurchased
        expires = receipt.expires
        cancelled = receipt.cancelled
        webOrderLineItemID = receipt.webOrderLineItemID
        isTrial = receipt.isTrial
        isIntroductory = receipt.isIntroductory
        subscriptionGroupID = receipt.subscriptionGroupID
        appAccountToken = receipt.appAccountToken
    }

    /// The terms and the offer of a row. A named offer is certain. If a free period has no named
    /// offer, the row does not say whether the period belongs to an offer of another kind. If a
    /// period with a named offer is free, it is undocumented whether the App Store marks the period
    /// as free. Without such a mark, the period counts as a period at a reduced price.
    fileprivate var terms: (Terms, Offer?) {
        let isFree = isTrial == true
        guard let offer = namedOffer ?? (isFree ? Offer(.introductory) : nil) else {
            return isIntroductory == true ? (.offer, Offer(.introductory)) : (.full, nil)
        }
        return (isFree ? .trial : .offer, offer)
    }

    private var namedOffer: Offer? {
        if let id = promotionalOfferID?.nonEmpty { return Offer(.promotional, id: id) }
        return offerCodeReferenceName?.nonEmpty.map { Offer(.code, id: $0) }
    }
}

extension V1Notification {
    /// Every transaction that the notification contains. Refunds of subscriptions are named only at
    /// the top level.
    fileprivate var rows: [VerifyReceiptRow] {
        var rows = [latest, latestExpired].compactMap { $0 }.map { VerifyReceiptRow($0) }
        rows += unifiedReceipt?.latestRows ?? []
        guard let cancelled, let line = webOrderLineItemID else { return rows }
        for index in rows.indices
        where rows[index].webOrderLineItemID == line && rows[index].cancelled == nil {
            rows[index].cancelled = cancelled
        }
        return rows
    }

    /// The renewal info of each subscription. Older notifications contain no list: their renewal
    /// info is at the top level.
    fileprivate var renewals: [VerifyReceiptRenewal] {
        var listed = unifiedReceipt?.renewals ?? []
        let shown = latest ?? latestExpired
        let subject =
            originalTransactionID?.text ?? shown?.originalTransactionID
            ?? shown?.transactionID ?? unifiedReceipt?.latestRows?.first?.originalTransactionID
        if listed.count == 1, listed[0].originalTransactionID == nil {
            listed[0].originalTransactionID = subject
        }
        guard listed.isEmpty, let autoRenewStatus else { return listed }
        var renewal = VerifyReceiptRenewal()
        renewal.originalTransactionID = subject
        renewal.autoRenewStatus = autoRenewStatus ? .on : .off
        renewal.autoRenewProductID = autoRenewProductID
        renewal.expirationIntent = expirationIntent
        renewal.isInBillingRetry = notificationType == .didFailToRenew ? .yes : nil
        return [renewal]
    }
}

extension Fact {
    fileprivate func precedes(_ other: Fact) -> Bool {
        if purchase != other.purchase { return purchase < other.purchase }
        guard case .payment(let one) = statement, case .payment(let two) = other.statement else {
            return false
        }
        return one.transaction < two.transaction
    }
}

extension String {
    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
