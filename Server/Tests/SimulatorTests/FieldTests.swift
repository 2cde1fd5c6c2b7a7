import AppStoreFormats
import Testing

@testable import Simulator

/// What documents contain after each event in the life of a subscription.
@Suite struct FieldTests {
    @Test func `the first transaction of a subscription is the original one, and lasts a month`()
        async throws
    {
        let stage = try Stage()
        let bought = try await stage.buy("pro.monthly")
        let letter = try require(try await stage.letters().first, "no letter")
        let transaction = letter.transaction
        #expect(transaction.transactionId == transaction.originalTransactionId)
        #expect(transaction.transactionId == bought.transactionID)
        #expect(try transaction.purchaseDate == moment(Stage.noon))
        #expect(try transaction.expiresDate == moment("2026-02-10T20:00:00Z"))
        #expect(transaction.transactionReason == .purchase)
        #expect(transaction.price == 9990 && transaction.currency == "USD")
        #expect(transaction.storefront == "USA" && transaction.storefrontId == "143441")
        #expect(transaction.type == .autoRenewable && transaction.inAppOwnershipType == .purchased)
        #expect(transaction.isUpgraded == nil && transaction.revocationDate == nil)
        #expect(transaction.environment == .production)
        #expect(letter.notification.data?.appAppleId == ExampleShop.appAppleID)
        #expect(letter.notification.data?.bundleId == ExampleShop.bundleID)
        let renewal = try require(letter.renewal, "no renewal")
        #expect(renewal.autoRenewStatus == .on && renewal.autoRenewProductId == "pro.monthly")
        #expect(renewal.renewalDate == transaction.expiresDate && renewal.renewalPrice == 9990)
        #expect(renewal.expirationIntent == nil && renewal.isInBillingRetryPeriod == nil)
    }

    @Test func `a renewal is a new transaction that begins where the previous one ended`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        let letters = try await stage.letters()
        let (first, second) = (letters[0].transaction, letters[1].transaction)
        #expect(second.purchaseDate == first.expiresDate)
        #expect(second.transactionReason == .renewal)
        #expect(second.originalTransactionId == first.transactionId)
        #expect(second.originalPurchaseDate == first.purchaseDate)
        #expect(second.transactionId != first.transactionId)
        #expect(second.webOrderLineItemId != first.webOrderLineItemId)
        #expect(second.appTransactionId == first.appTransactionId)
    }

    @Test func `after a refund of an ended period, the gap still counts from the period's end`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P5M")
        try await stage.simulator.change(id, .refund())
        try await stage.advance("P1D")
        try await stage.buy("pro.monthly", offer: "none")
        let renewal = try require(try await stage.letters().last?.renewal, "no renewal")
        #expect(renewal.recentSubscriptionStartDate == stage.simulator.clock.now)
    }

    @Test
    func `if a renewal is charged early, its period begins at the end of the previous period`()
        async throws
    {
        let stage = try Stage { $0.renewsEarlySeconds = 3600 }
        try await stage.buy("pro.monthly")
        try await stage.advance(to: "2026-02-10T18:59:59Z")
        #expect(stage.letterBox.count == 1)
        try await stage.advance(to: "2026-02-10T19:00:00Z")
        let letter = try require(try stage.letterBox.letters.last, "no letter")
        #expect(letter.line == "DID_RENEW 1 pro.monthly")
        #expect(try letter.transaction.purchaseDate == moment("2026-02-10T20:00:00Z"))
        let truth = try await stage.truth()
        #expect(truth.state == .paid)
        #expect(try truth.until == moment("2026-03-10T19:00:00Z"))
        #expect(try truth.period?.upperBound == moment("2026-02-10T20:00:00Z"))
    }

    @Test func `a trial is free and is given once, and the paid period begins at the trial's end`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.yearly").originalTransactionID
        let trial = try await stage.letters()[0]
        #expect(trial.transaction.offerDiscountType == .freeTrial && trial.transaction.price == 0)
        #expect(trial.transaction.offerType == .introductory)
        #expect(trial.transaction.offerPeriod == "P1W")
        #expect(try trial.transaction.expiresDate == moment("2026-01-17T20:00:00Z"))
        #expect(trial.renewal?.offerType == nil && trial.renewal?.renewalPrice == 59_990)
        #expect(try await stage.truth().state == .trial)
        try await stage.advance("P1W")
        let paid = try await stage.letters()[1].transaction
        #expect(paid.offerType == nil && paid.price == 59_990)
        #expect(try paid.expiresDate == moment("2027-01-17T20:00:00Z"))
        try await stage.simulator.change(id, .refund())
        try await stage.buy("pro.yearly")
        #expect(try await stage.letters()[3].transaction.offerType == nil)
    }

    @Test(arguments: [OfferDiscountType.payAsYouGo, .payUpFront])
    func `a discount applies for its number of periods`(discount: OfferDiscountType) async throws {
        let offer = StoreKitOffer(
            type: .introductory, discount: discount, period: BillingPeriod(1, .month),
            periodCount: 3, price: 1000)
        let terms = StoreKitSubscription(
            groupID: "g", level: 1, period: BillingPeriod(1, .month), introductoryOffer: offer)
        let product = StoreKitProduct(
            id: "pro", referenceName: "pro", type: .autoRenewable, price: 5000, subscription: terms)
        let group = StoreKitGroup(id: "g", name: "g", subscriptions: [product])
        let stage = try Stage(shop: StoreKitFile(groups: [group]))
        try await stage.buy("pro")
        try await stage.advance("P3M")
        let letters = try await stage.letters()
        let prices = letters.map(\.transaction.price)
        let next = letters.map(\.renewal?.renewalPrice)
        if discount == .payAsYouGo {
            #expect(prices == [1000, 1000, 1000, 5000] && next == [1000, 1000, 5000, 5000])
            #expect(letters[1].renewal?.offerType == .introductory)
        } else {
            #expect(prices == [1000, 5000] && next == [5000, 5000])
            #expect(try letters[0].transaction.expiresDate == moment("2026-04-10T19:00:00Z"))
        }
        #expect(letters.last?.transaction.offerType == nil)
    }

    @Test
    func `a recovery in grace keeps the billing date, and a recovery in retry sets a new date`()
        async throws
    {
        let recoveries = [("P36D", "2026-03-10T19:00:00Z"), ("P60D", "2026-04-11T19:00:00Z")]
        for (wait, end) in recoveries {
            let stage = try Stage()
            let id = try await stage.buy("pro.monthly").originalTransactionID
            try await stage.simulator.change(id, .failBilling)
            try await stage.advance(wait)
            try await stage.simulator.change(id, .recoverBilling)
            let letter = try require(try await stage.letters().last, "no letter")
            #expect(try letter.transaction.expiresDate == moment(end))
            #expect(letter.renewal?.isInBillingRetryPeriod == nil)
            #expect(letter.renewal?.gracePeriodExpiresDate == nil)
            #expect(letter.renewal?.expirationIntent == nil)
        }
    }

    @Test func `grace, retry and their end have the right dates and expiration intents`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P6M")
        let letters = try await stage.letters()
        let renewals = letters.compactMap(\.renewal)
        let graceEnd = try moment("2026-02-26T20:00:00Z")
        #expect(renewals.map(\.gracePeriodExpiresDate) == [nil, graceEnd, nil, nil])
        #expect(renewals.map(\.isInBillingRetryPeriod) == [nil, true, true, false])
        #expect(
            renewals.map(\.expirationIntent) == [nil, .billingError, .billingError, .billingError])
        #expect(renewals.map(\.autoRenewStatus) == [.on, .on, .on, .off])
        let times = await stage.simulator.notifications.map { RFC3339.text($0.draft.at) }
        #expect(
            times.dropFirst() == [
                "2026-02-10T20:00:00.000Z", "2026-02-26T20:00:00.000Z", "2026-04-11T19:00:00.000Z",
            ])
    }

    @Test func `an upgrade replaces the old period, which is then marked as upgraded`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P10D")
        try await stage.simulator.change(id, .changeProduct("premium.monthly"))
        let restored = try await stage.simulator.restore(on: "anna-1").signedTransactions
        let both = try restored.map { try decode(TransactionPayload.self, $0) }
        #expect(both.map(\.productId) == ["pro.monthly", "premium.monthly"])
        #expect(both.map(\.isUpgraded) == [true, nil])
        let now = try moment("2026-01-20T20:00:00Z")
        #expect(both[0].revocationDate == now)
        #expect(both[0].revocationType == .refundProrated)
        #expect(both[1].purchaseDate == now && both[1].transactionReason == .purchase)
        #expect(try both[1].expiresDate == moment("2026-02-20T20:00:00Z"))
    }

    @Test func `a refunded transaction has its date, reason and amount, and renewal is off`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P3D")
        try await stage.simulator.change(id, .refund())
        let letter = try require(try await stage.letters().last, "no letter")
        #expect(try letter.transaction.revocationDate == moment("2026-01-13T20:00:00Z"))
        #expect(letter.transaction.revocationType == .refundFull)
        #expect(letter.transaction.revocationPercentage == 100_000)
        #expect(letter.transaction.revocationReason == .other)
        #expect(letter.renewal?.autoRenewStatus == .off)
    }

    @Test func `the refund of a past period affects that period only`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P1M")
        try await stage.simulator.change(id, .refund(of: id))
        let letter = try require(try await stage.letters().last, "no letter")
        #expect(letter.line == "REFUND 1 pro.monthly" && letter.transaction.transactionId == id)
        #expect(letter.renewal?.autoRenewStatus == .on)
        #expect(try await stage.truth().isOpen)
    }

    @Test func `a gap of more than 60 days restarts the subscription's start date`()
        async throws
    {
        for (wait, restarts) in [("P80D", false), ("P92D", true)] {
            let stage = try Stage()
            let id = try await stage.buy("pro.monthly").originalTransactionID
            try await stage.simulator.change(id, .cancel)
            try await stage.advance(wait)
            try await stage.buy("pro.monthly")
            let letter = try require(try await stage.letters().last, "no letter")
            let start = letter.renewal?.recentSubscriptionStartDate
            #expect((start == letter.transaction.purchaseDate) == restarts)
        }
    }

    @Test func `the app's account token is in every transaction of the chain`() async throws {
        let stage = try Stage()
        let token = "8d1c9a70-6b1f-4d52-9a4e-0f2b7f3c1a11"
        try await stage.simulator.addDevice(account: "anna", appAccountToken: token)
        try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        let letters = try await stage.letters()
        #expect(letters.map(\.transaction.appAccountToken) == [token, token])
        #expect(letters.map(\.renewal?.appAccountToken) == [token, token])
    }
}
