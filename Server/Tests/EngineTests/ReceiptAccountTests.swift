import AppStoreFormats
import Crypto
import Ledger
import Storage
import Testing

@testable import Engine

/// What verifyReceipt answers about an account, depending on what is stored.
@Suite struct ReceiptAccountTests {
    static let start = Instant(milliseconds: 1_767_268_800_000)
    static let chain = PurchaseID("1", in: .production)

    static func day(_ count: Int) -> Instant { start + .days(count) }

    /// One month of the subscription, by number. Each month begins thirty days after the previous
    /// one.
    static func month(
        _ number: Int, attestedAt: Instant, _ change: (inout Payment) -> Void = { _ in }
    ) -> Fact {
        let id = TransactionID(rawValue: "\(number)")
        var payment = Payment(
            transaction: id, line: "9\(number)", product: "pro.monthly",
            from: day(30 * number - 30), until: day(30 * number), isRenewal: number > 1)
        change(&payment)
        return Fact(about: chain, attestedAt: attestedAt, .payment(payment))
    }

    static func renewal(_ renewal: Renewal, attestedAt: Instant) -> Fact {
        Fact(about: chain, attestedAt: attestedAt, .renewal(renewal))
    }

    static func row(_ number: Int) -> VerifyReceiptRow {
        var row = VerifyReceiptRow()
        row.productID = "pro.monthly"
        row.transactionID = "\(number)"
        row.originalTransactionID = "1"
        row.webOrderLineItemID = "9\(number)"
        row.purchased = AppStoreDate(day(30 * number - 30))
        row.expires = AppStoreDate(day(30 * number))
        return row
    }

    /// Apple's answer as a stored document.
    static func document(
        _ rows: [VerifyReceiptRow], _ renewals: [VerifyReceiptRenewal] = [], at: Instant,
        bought: [VerifyReceiptRow] = []
    ) -> StoredDocument {
        var answer = VerifyReceiptResponse(.valid, environment: .production)
        var app = VerifyReceiptApp()
        app.bundleID = "com.example.birds"
        app.purchases = bought
        answer.receipt = app
        answer.latestRows = rows
        answer.renewals = renewals
        let bytes = answer.json.bytes
        let packed = PackedDocument(packing: bytes)
        return StoredDocument(
            app: "birds", id: Array(SHA256.hash(data: bytes)), kind: .receiptResponse,
            environment: .production, source: .reconciliation, signedAt: at, receivedAt: at,
            parts: packed.parts,
            headers: packed.headers.map {
                StoredDocument.Header(digest: Array(SHA256.hash(data: $0)), segment: $0)
            })
    }

    static func account(_ facts: [Fact], told: StoredDocument? = nil) -> VerifyReceiptComposer {
        var account = VerifyReceiptComposer()
        account.apply(told)
        account.timelines = [Timeline(of: chain, facts)]
        return account
    }

    private static func ids(_ rows: [VerifyReceiptRow]) -> [String?] { rows.map(\.transactionID) }

    private static func rows(
        of account: VerifyReceiptComposer, _ receipt: AppReceipt = AppReceipt()
    )
        -> [String?]
    {
        ids(account.rows(of: receipt, madeAt: start))
    }

    @Test
    func `a period that Apple's answer lacks is added to ours, even if Apple's answer is newer`() {
        let facts = (1...3).map { Self.month($0, attestedAt: Self.day(61)) }
        for at in [Self.day(61), Self.day(62)] {
            let ascending = Self.document([Self.row(1), Self.row(2)], at: at)
            #expect(Self.rows(of: Self.account(facts, told: ascending)) == ["1", "2", "3"])
            let descending = Self.document([Self.row(2), Self.row(1)], at: at)
            #expect(Self.rows(of: Self.account(facts, told: descending)) == ["3", "2", "1"])
        }
        let whole = Self.document([Self.row(2), Self.row(3), Self.row(1)], at: Self.day(62))
        #expect(Self.rows(of: Self.account(facts, told: whole)) == ["2", "3", "1"])
    }

    @Test func `a period that Apple lists only in in_app is not added to latest_receipt_info`() {
        let facts = (1...2).map { Self.month($0, attestedAt: Self.day(61)) }
        let document = Self.document([], at: Self.day(62), bought: [Self.row(1), Self.row(2)])
        #expect(Self.rows(of: Self.account(facts, told: document)).isEmpty)
    }

    @Test func `the period that ends last is the newest of a subscription, in any order of rows`() {
        let rows = (1...4).map(Self.row)
        for order in [rows, rows.reversed(), [rows[2], rows[3], rows[0], rows[1]]] {
            #expect(Self.ids(VerifyReceiptComposer.newestOfEachSubscription(order)) == ["4"])
        }
        var other = Self.row(1)
        (other.originalTransactionID, other.transactionID) = ("5", "5")
        let two = VerifyReceiptComposer.newestOfEachSubscription([other] + rows.reversed())
        #expect(Self.ids(two) == ["5", "4"])
    }

    @Test
    func `the newest period of a subscription is never a refunded or replaced one`() {
        var year = Self.row(1)
        year.expires = AppStoreDate(Self.day(365))
        var refunded = year
        refunded.cancelled = AppStoreDate(Self.day(20))
        var upgraded = year
        upgraded.isUpgraded = true
        for old in [refunded, upgraded] {
            let newest = VerifyReceiptComposer.newestOfEachSubscription([Self.row(2), old])
            #expect(Self.ids(newest) == ["2"])
        }
        var last = Self.row(2)
        last.cancelled = last.purchased
        let newest = VerifyReceiptComposer.newestOfEachSubscription([last, Self.row(1)])
        #expect(Self.ids(newest) == ["2"], "given back at once, and nothing since")
    }

    // MARK: - Renewals

    private static let cancelled = Renewal(
        willRenew: false, renewsTo: "pro.monthly", ending: .cancelled)

    private static func told(_ change: (inout VerifyReceiptRenewal) -> Void) -> StoredDocument {
        var renewal = VerifyReceiptRenewal()
        renewal.originalTransactionID = "1"
        renewal.productID = "pro.monthly"
        renewal.autoRenewProductID = "pro.monthly"
        change(&renewal)
        return document([row(1)], [renewal], at: day(40))
    }

    @Test func `a customer who has subscribed again is not reported as cancelled`() throws {
        let left = Self.renewal(Self.cancelled, attestedAt: Self.day(40))
        let before = Self.told {
            $0.autoRenewStatus = .off
            $0.expirationIntent = .cancelled
            $0.isInBillingRetry = .no
        }
        let first = Self.month(1, attestedAt: Self.day(40))
        let former = try #require(Self.account([first, left], told: before).renewals.first)
        #expect(former.autoRenewStatus == .off && former.expirationIntent == .cancelled)
        let again = Self.month(3, attestedAt: Self.day(61)) { payment in
            payment.isRenewal = false
            payment.product = "pro.yearly"
        }
        for told in [before, nil] {
            let renewals = Self.account([first, left, again], told: told).renewals
            #expect(renewals.count == 1)
            let renewal = try #require(renewals.first)
            #expect(renewal.autoRenewStatus == .on && renewal.autoRenewProductID == "pro.yearly")
            #expect(renewal.expirationIntent == nil && renewal.isInBillingRetry == nil)
        }
    }

    @Test func `a grace period that ends after the paid period is reported if renewal is on`()
        throws
    {
        let grace = Self.day(46)
        let rows: [(renewal: Renewal, isReported: Bool)] = [
            (Renewal(willRenew: true, isRetrying: true, graceUntil: grace), true),
            (Renewal(willRenew: true, graceUntil: grace), true),
            (Renewal(willRenew: false, graceUntil: grace, ending: .cancelled), false),
            (Renewal(willRenew: true, isRetrying: true, graceUntil: Self.day(16)), false),
            (Renewal(willRenew: true, graceUntil: Self.day(16)), false),
        ]
        for (renewal, isReported) in rows {
            let facts = [
                Self.month(1, attestedAt: Self.day(0)),
                Self.renewal(renewal, attestedAt: Self.day(31)),
            ]
            let told = try #require(Self.account(facts).renewals.first)
            #expect((told.graceUntil == AppStoreDate(grace)) == isReported, "\(renewal)")
            #expect((told.graceUntil != nil) == isReported, "\(renewal)")
        }
    }

    // MARK: - What only some documents contain

    private static let token = "3fa85f64-5717-4562-b3fc-2c963f66afa6"

    @Test func `a row of the answer also has fields that only other documents contain`() throws {
        let offers: [(kind: Offer.Kind, promotion: String?, code: String?)] = [
            (.promotional, "loyal", nil), (.code, nil, "loyal"), (.winBack, nil, nil),
        ]
        for offer in offers {
            let fact = Self.month(1, attestedAt: Self.day(0)) { payment in
                payment.accountToken = Self.token
                payment.group = "21400001"
                payment.offer = Offer(offer.kind, id: "loyal")
            }
            for told in [Self.document([Self.row(1)], at: Self.day(2)), nil] {
                let account = Self.account([fact], told: told)
                let row = try #require(
                    account.rows(of: AppReceipt(), madeAt: Self.day(2)).first)
                #expect(row.appAccountToken == Self.token)
                #expect(row.subscriptionGroupID == "21400001")
                #expect(row.promotionalOfferID == offer.promotion)
                #expect(row.offerCodeReferenceName == offer.code)
            }
        }
    }

    @Test
    func `a consumable's refund is added to Apple's answer, but no new consumable is added`() {
        func seeds(_ change: (inout Payment) -> Void) -> Fact {
            Self.month(1, attestedAt: Self.day(3)) { payment in
                (payment.kind, payment.line, payment.until) = (.consumable, nil, nil)
                change(&payment)
            }
        }
        let refunded = seeds { $0.revocation = Revocation(at: Self.day(2), kind: .refund) }
        var row = Self.row(1)
        (row.webOrderLineItemID, row.expires) = (nil, nil)
        let account = Self.account([refunded], told: Self.document([row], at: Self.day(1)))
        let rows = account.rows(of: AppReceipt(), madeAt: Self.day(1))
        #expect(rows.map(\.cancelled) == [AppStoreDate(Self.day(2))])
        #expect(Self.rows(of: Self.account([refunded])).isEmpty)
    }

    @Test
    func `renewal information has the next period's offer, and the price consent in two fields`()
        throws
    {
        let facts = [
            Self.month(1, attestedAt: Self.day(0)),
            Self.renewal(
                Renewal(
                    willRenew: true, offer: Offer(.promotional, id: "loyal"), priceRise: .waiting),
                attestedAt: Self.day(5)),
        ]
        let renewal = try #require(Self.account(facts).renewals.first)
        #expect(renewal.promotionalOfferID == "loyal" && renewal.offerCodeReferenceName == nil)
        #expect(renewal.priceConsentStatus == .notAnswered)
        #expect(renewal.priceIncreaseStatus == .notAnswered)
    }
}
