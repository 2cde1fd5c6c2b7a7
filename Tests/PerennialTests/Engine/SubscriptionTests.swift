import AccessRules
import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

/// A subscription as an app sees it, by the server's answer and by the App Store's document.
@Suite struct SubscriptionTests {
    private let noon = Timestamp(milliseconds: 1_798_000_000_000)
    private let later = Timestamp(milliseconds: 1_800_000_000_000)

    /// A document as StoreKit returns it. Verifying its signature is the store's task.
    private func payload(_ fields: String = "") throws -> TransactionPayload {
        let text = """
            {"transactionId": "2", "originalTransactionId": "1", "productId": "pro.monthly", \
            "type": "Auto-Renewable Subscription", "purchaseDate": \(noon.milliseconds), \
            "expiresDate": \(later.milliseconds), "signedDate": \(noon.milliseconds)\(fields)}
            """
        let body = Data(text.utf8).base64EncodedString().replacing("=", with: "")
        return try #require(
            TransactionPayload(StoreDocument(jws: "e30.\(body).e30", isVerified: true)))
    }

    private func subscription(_ fields: String = "") throws -> Perennial.Subscription {
        Perennial.Subscription(
            try payload(fields).makeTransaction(isHeld: false, firstSeenFor: nil), nil)
    }

    /// The subscription that is shown if the server has answered and the store has listed these
    /// transactions.
    private func shown(
        _ transactions: [StoreTransaction], ownership: PerennialContract.Ownership = .purchased,
        isTrusted: Bool = true
    ) throws -> Perennial.Subscription {
        var state = EngineState(
            device: DeviceState(keys: KeyRing()), clock: ReckonedClock(), silentHold: 0)
        state.answer = PerennialContract.Customer(
            customerID: "anna", environment: .production, asOf: noon,
            subscriptions: [
                PerennialContract.Subscription(
                    purchaseID: "p", productID: "pro.monthly", originalTransactionID: "1",
                    state: .offer, period: .init(from: noon, until: later), willRenew: true,
                    renewsTo: nil, graceUntil: nil, price: nil, ownership: ownership,
                    environment: .production)
            ])
        state.device.storeEvidence = StoreEvidence(
            transactions: Dictionary(uniqueKeysWithValues: transactions.map { ($0.id, $0) }),
            isTrusted: isTrusted)
        let evidence = state.makeEvidence(at: noon)
        return try #require(state.makeSnapshot(of: evidence).snapshot.subscriptions.first)
    }

    private static let code = """
        , "offerType": 3, "offerIdentifier": "spring", "offerDiscountType": "PAY_AS_YOU_GO", \
        "offerPeriod": "P3M"
        """
    private static let spring = Perennial.Subscription.AppliedOffer(
        id: "spring", kind: .code, paymentMode: .payAsYouGo, period: .init(3, .month))

    @Test func `the store's document names the offer that a period was bought with`() throws {
        #expect(try subscription().offer == nil)
        #expect(try subscription().state == .paid)
        let bought = try subscription(Self.code)
        #expect(bought.offer == Self.spring)
        #expect(bought.state == .offer)
        let trial = try subscription(#", "offerType": 1, "offerDiscountType": "FREE_TRIAL""#)
        #expect(trial.offer == .init(kind: .introductory, paymentMode: .freeTrial))
        #expect(trial.state == .trial)
    }

    @Test func `the unknown values of a later StoreKit are kept`() throws {
        let fields = """
            , "offerType": 9, "offerDiscountType": "BARTER", "offerPeriod": "P1Y2M", \
            "inAppOwnershipType": "BORROWED"
            """
        let subscription = try subscription(fields)
        #expect(subscription.offer?.kind.rawValue == "9")
        #expect(subscription.offer?.paymentMode?.rawValue == "barter")
        #expect(subscription.offer?.period == nil)
        #expect(subscription.ownership.rawValue == "borrowed")
        #expect(try shown([], ownership: .init(rawValue: "lent")).ownership.rawValue == "lent")
    }

    @Test func `ownership and bundle of a purchase are those in the store's document`() throws {
        #expect(try subscription().ownership == .purchased)
        #expect(try subscription().bundle == nil)
        let family = try subscription(#", "inAppOwnershipType": "FAMILY_SHARED""#)
        #expect(family.ownership == .familyShared && family.isFamilyShared)
        let assigned = try subscription(
            #", "inAppOwnershipType": "ASSIGNED", "bundleProductId": "all""#)
        #expect(assigned.ownership == .assigned && !assigned.isFamilyShared)
        #expect(assigned.bundle == "all")
    }

    @Test func `the end of a seat's assignment does not count as a refund`() throws {
        func isRefund(_ ownership: String) throws -> Bool {
            try !payload(#", "inAppOwnershipType": "\#(ownership)""#)
                .makeTransaction(isHeld: false, firstSeenFor: nil).isRevokedByFamily
        }
        #expect(try isRefund("PURCHASED"))
        #expect(try !isRefund("FAMILY_SHARED"))
        #expect(try !isRefund("ASSIGNED"))
    }

    @Test func `the store's document of the same period completes the server's answer`() throws {
        let fields = Self.code + #", "bundleProductId": "all""#
        let bought = try payload(fields).makeTransaction(isHeld: false, firstSeenFor: nil)
        #expect(try shown([]).offer == nil)
        let both = try shown([bought])
        #expect(both.offer == Self.spring && both.bundle == "all" && both.state == .offer)
        // Documents of an earlier period or of another purchase, and unproven evidence, do not
        // change the subscription.
        var earlier = bought
        (earlier.purchasedAt, earlier.expiresAt) = (Timestamp(milliseconds: 1), noon)
        #expect(try shown([earlier]).offer == nil)
        var another = bought
        another.originalID = "7"
        #expect(try shown([another]).offer == nil)
        #expect(try shown([bought], isTrusted: false).offer == nil)
    }

    /// The subscription by this device's App Store alone: a transaction, and a renewal info that
    /// was signed when the period began, or some milliseconds later.
    private func alone(
        _ fields: String = "", renewal: String, _ state: StoreRenewal.State = .subscribed,
        later: Int64 = 0
    ) throws -> Perennial.Subscription {
        let text = """
            {"originalTransactionId": "1", "signedDate": \(noon.milliseconds + later), \(renewal)}
            """
        let body = Data(text.utf8).base64EncodedString().replacing("=", with: "")
        let document = StoreDocument(jws: "e30.\(body).e30", isVerified: true)
        let renewal = StoreRenewal(state: state, transaction: document, renewalInfo: document)
        return Perennial.Subscription(
            try payload(fields).makeTransaction(isHeld: false, firstSeenFor: nil),
            renewal.makeStatus())
    }

    @Test func `the store's renewal info names the product of the next period`() throws {
        let yearly = #""autoRenewStatus": 1, "autoRenewProductId": "pro.yearly""#
        #expect(try subscription().renewsTo == nil)
        #expect(try alone(renewal: yearly).renewsTo == "pro.yearly")
        #expect(try alone(renewal: #""autoRenewStatus": 1"#).renewsTo == nil)
        let off = try alone(renewal: #""autoRenewStatus": 0, "autoRenewProductId": "pro.yearly""#)
        #expect(off.renewsTo == nil && off.willRenew == false)
        // This document was signed before the period began. So it describes the previous period.
        let old = try alone(renewal: yearly, later: -1)
        #expect(old.renewsTo == nil && old.willRenew == nil)
    }

    @Test
    func `the store's documents name the month of a commitment, and whether another month follows`()
        throws
    {
        let month = """
            , "commitmentInfo": {"billingPeriodNumber": 3, "totalBillingPeriods": 12, \
            "commitmentExpiresDate": \(later.milliseconds)}
            """
        func commitment(renews: Bool?) -> Perennial.Subscription.Commitment {
            .init(month: 3, months: 12, until: later.date, renews: renews)
        }
        func info(_ status: Int) -> String {
            #""autoRenewStatus": 1, "commitmentInfo": {"commitmentAutoRenewStatus": \#(status)}"#
        }
        #expect(try subscription().commitment == nil)
        #expect(try subscription(month).commitment == commitment(renews: nil))
        #expect(try alone(month, renewal: info(1)).commitment == commitment(renews: true))
        #expect(try alone(month, renewal: info(0)).commitment == commitment(renews: false))
        #expect(try alone(month, renewal: info(1), later: -1).commitment?.renews == nil)
        let over = try alone(month, renewal: info(1), .expired)
        #expect(over.commitment == commitment(renews: false), "Nothing follows what is over.")
        // A document that lacks a number is ignored.
        let half = #", "commitmentInfo": {"totalBillingPeriods": 12}"#
        #expect(try subscription(half).commitment == nil)
        #expect(try alone(renewal: info(1)).commitment == nil)
    }

    @Test func `the length of a period is read from an ISO 8601 duration`() {
        func period(_ text: String) -> Perennial.Period? { Perennial.Period(iso8601: text) }
        #expect(period("P3D") == .init(3, .day))
        #expect(period("P2W") == .init(2, .week))
        #expect(period("P1M") == .init(1, .month))
        #expect(period("P1Y") == .init(1, .year))
        for text in ["", "P", "P1", "PM", "P0M", "P-1M", "1M", "P1M2D", "PT1H"] {
            #expect(period(text) == nil, "\(text)")
        }
    }
}
