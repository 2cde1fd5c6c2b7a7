import AppStoreFormats

@testable import Simulator

// Rows 1 to 35, about one subscriber's own purchases.

extension LifecycleTableTests {
    static let rows =
        beginnings + failures + choices + refunds + prices + offers + families + endings + others
        + commitments

    static let bought = "SUBSCRIBED/INITIAL_BUY 1 pro"
    static let renewed = "DID_RENEW 1 pro"
    static let off = "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"
    static let inGrace = "DID_FAIL_TO_RENEW/GRACE_PERIOD 4 pro"
    static let noGrace: @Sendable (inout SimulatorSettings) -> Void = { $0.graceDays = 0 }

    private static let beginnings = [
        Row(
            row: .firstPurchase, steps: [.buy("pro")], told: [bought],
            says: [
                "tx.transactionReason": "PURCHASE", "tx.inAppOwnershipType": "PURCHASED",
                "tx.purchaseDate": "2026-01-10T20:00:00.000Z",
                "tx.expiresDate": "2026-02-10T20:00:00.000Z", "tx.price": 9990,
                "tx.offerType": .null, "ri.autoRenewStatus": 1, "ri.autoRenewProductId": "pro",
                "ri.renewalDate": "2026-02-10T20:00:00.000Z", "ri.renewalPrice": 9990,
                "data.status": 1,
            ]),
        Row(
            row: .firstPurchaseTrial, steps: [.buy("trial")],
            told: ["SUBSCRIBED/INITIAL_BUY 1 trial"],
            says: [
                "tx.offerType": 1, "tx.offerDiscountType": "FREE_TRIAL", "tx.offerPeriod": "P1W",
                "tx.price": 0, "tx.expiresDate": "2026-01-17T20:00:00.000Z",
                "ri.offerType": .null, "ri.renewalPrice": 9990,
            ]),
        Row(
            row: .firstPurchasePayAsYouGo, steps: [.buy("discounted"), .waits("P2M")],
            told: [
                "SUBSCRIBED/INITIAL_BUY 1 discounted", "DID_RENEW 1 discounted",
                "DID_RENEW 1 discounted",
            ],
            says: [
                "tx.offerType": 1, "tx.offerDiscountType": "PAY_AS_YOU_GO", "tx.price": 990,
                "ri.offerType": .null, "ri.renewalPrice": 9990,
            ]),
        Row(
            row: .firstPurchasePayUpFront, steps: [.buy("upfront")],
            told: ["SUBSCRIBED/INITIAL_BUY 1 upfront"],
            says: [
                "tx.offerDiscountType": "PAY_UP_FRONT", "tx.price": 4990,
                "tx.expiresDate": "2026-04-10T19:00:00.000Z",
            ]),
        Row(
            row: .trialConverts, steps: [.buy("trial"), .waits("P1W")],
            told: ["SUBSCRIBED/INITIAL_BUY 1 trial", "DID_RENEW 1 trial"],
            says: [
                "tx.transactionReason": "RENEWAL", "tx.offerType": .null, "tx.isNew": true,
                "tx.price": 9990,
            ]),
        Row(
            row: .renewal, set: { $0.renewsEarlySeconds = 86_400 },
            steps: [.buy("pro"), .waits("P30D")], told: [bought, renewed],
            says: [
                "tx.isNew": true, "tx.transactionReason": "RENEWAL",
                "tx.purchaseDate": "2026-02-10T20:00:00.000Z",
                "ri.renewalDate": "2026-03-10T19:00:00.000Z",
            ]),
        Row(
            row: .renewalOff, steps: [.buy("pro"), .does(.cancel)], told: [bought, off + " 1 pro"],
            says: ["tx.isNew": false, "ri.autoRenewStatus": 0, "ri.renewalPrice": .null]),
        Row(
            row: .renewalOn, steps: [.buy("pro"), .does(.cancel), .does(.resume)],
            told: [
                bought, off + " 1 pro", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED 1 pro",
            ],
            says: ["tx.isNew": false, "ri.autoRenewStatus": 1]),
        Row(
            row: .expiredAfterCancelling, steps: [.buy("pro"), .does(.cancel), .waits("P1M")],
            told: [bought, off + " 1 pro", "EXPIRED/VOLUNTARY 2 pro"],
            says: [
                "tx.isNew": false, "ri.expirationIntent": 1, "ri.isInBillingRetryPeriod": false,
            ]),
    ]

    private static let failures = [
        Row(
            row: .billingFailed, set: noGrace,
            steps: [.buy("pro"), .does(.failBilling), .waits("P1M")],
            told: [bought, "DID_FAIL_TO_RENEW 3 pro"],
            says: [
                "tx.isNew": false, "ri.isInBillingRetryPeriod": true, "ri.expirationIntent": 2,
                "ri.gracePeriodExpiresDate": .null,
            ]),
        Row(
            row: .billingFailedIntoGrace,
            steps: [.buy("pro"), .does(.failBilling), .waits("P1M")], told: [bought, inGrace],
            says: [
                "tx.isNew": false, "ri.isInBillingRetryPeriod": true,
                "ri.gracePeriodExpiresDate": "2026-02-26T20:00:00.000Z",
                "ri.renewalDate": "2026-02-10T20:00:00.000Z",
            ]),
        Row(
            row: .recoveredInGrace,
            steps: [.buy("pro"), .does(.failBilling), .waits("P36D"), .does(.recoverBilling)],
            told: [bought, inGrace, "DID_RENEW/BILLING_RECOVERY 1 pro"],
            says: [
                "tx.isNew": true, "tx.purchaseDate": "2026-02-10T20:00:00.000Z",
                "tx.expiresDate": "2026-03-10T19:00:00.000Z", "ri.expirationIntent": .null,
                "ri.isInBillingRetryPeriod": .null, "ri.gracePeriodExpiresDate": .null,
            ]),
        Row(
            row: .graceRanOut, steps: [.buy("pro"), .does(.failBilling), .waits("P50D")],
            told: [bought, inGrace, "GRACE_PERIOD_EXPIRED 3 pro"],
            says: [
                "tx.isNew": false, "ri.isInBillingRetryPeriod": true,
                "ri.gracePeriodExpiresDate": .null,
            ]),
        Row(
            row: .recoveredInRetry,
            steps: [.buy("pro"), .does(.failBilling), .waits("P60D"), .does(.recoverBilling)],
            told: [
                bought, inGrace, "GRACE_PERIOD_EXPIRED 3 pro", "DID_RENEW/BILLING_RECOVERY 1 pro",
            ],
            says: [
                "tx.purchaseDate": "2026-03-11T19:00:00.000Z",
                "tx.expiresDate": "2026-04-11T19:00:00.000Z", "ri.isInBillingRetryPeriod": .null,
            ]),
        Row(
            row: .retryExhausted, set: noGrace,
            steps: [.buy("pro"), .does(.failBilling), .waits("P4M")],
            told: [bought, "DID_FAIL_TO_RENEW 3 pro", "EXPIRED/BILLING_RETRY 2 pro"],
            says: [
                "ri.isInBillingRetryPeriod": false, "ri.expirationIntent": 2,
                "ri.autoRenewStatus": 0,
            ]),
        Row(
            row: .cancelledInRetry,
            steps: [.buy("pro"), .does(.failBilling), .waits("P36D"), .does(.cancel)],
            told: [bought, inGrace, off + " 2 pro", "EXPIRED/VOLUNTARY 2 pro"],
            says: ["ri.autoRenewStatus": 0, "ri.isInBillingRetryPeriod": false]),
    ]

    private static let choices = [
        Row(
            row: .upgrade, steps: [.buy("pro"), .waits("P10D"), .does(.changeProduct("premium"))],
            told: [bought, "DID_CHANGE_RENEWAL_PREF/UPGRADE 1 premium"],
            says: [
                "tx.isNew": true, "tx.transactionReason": "PURCHASE",
                "tx.purchaseDate": "2026-01-20T20:00:00.000Z",
                "tx.expiresDate": "2026-02-20T20:00:00.000Z", "ri.autoRenewProductId": "premium",
            ]),
        Row(
            row: .downgradeChosen, steps: [.buy("pro"), .does(.changeProduct("plus"))],
            told: [bought, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro"],
            says: [
                "tx.isNew": false, "ri.autoRenewProductId": "plus", "ri.renewalPrice": 4990,
            ]),
        Row(
            row: .downgradeReverted,
            steps: [.buy("pro"), .does(.changeProduct("plus")), .does(.changeProduct("pro"))],
            told: [
                bought, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro", "DID_CHANGE_RENEWAL_PREF 1 pro",
            ],
            says: ["ri.autoRenewProductId": "pro", "ri.renewalPrice": 9990]),
        Row(
            row: .downgradeTookEffect,
            steps: [.buy("pro"), .does(.changeProduct("plus")), .waits("P1M")],
            told: [bought, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro", "DID_RENEW 1 plus"],
            says: ["tx.isNew": true, "tx.transactionReason": "RENEWAL", "tx.price": 4990]),
        Row(
            row: .crossgradeSameDuration,
            steps: [.buy("pro"), .waits("P10D"), .does(.changeProduct("other"))],
            told: [bought, "DID_CHANGE_RENEWAL_PREF/UPGRADE 1 other"],
            says: ["tx.isNew": true, "tx.purchaseDate": "2026-01-20T20:00:00.000Z"]),
        Row(
            row: .crossgradeOtherDuration,
            steps: [.buy("pro"), .does(.changeProduct("yearly")), .waits("P1M")],
            told: [bought, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro", "DID_RENEW 1 yearly"],
            says: ["tx.expiresDate": "2027-02-10T20:00:00.000Z"]),
    ]

    private static let refunds = [
        Row(
            row: .refund, steps: [.buy("pro"), .waits("P3D"), .does(.refund())],
            told: [bought, "REFUND 5 pro"],
            says: [
                "tx.revocationDate": "2026-01-13T20:00:00.000Z", "tx.revocationReason": 0,
                "tx.revocationType": "REFUND_FULL", "tx.revocationPercentage": 100_000,
                "ri.autoRenewStatus": 0,
            ]),
        Row(
            row: .refundProrated,
            steps: [
                .buy("pro"),
                .does(.refund(RefundOrder(.prorated(25_500), reason: .issueWithTheApp))),
            ],
            told: [bought, "REFUND 5 pro"],
            says: [
                "tx.revocationType": "REFUND_PRORATED", "tx.revocationPercentage": 25_500,
                "tx.revocationReason": 1,
            ]),
        Row(
            row: .refundRequestGranted,
            steps: [.buy("pro"), .does(.requestRefund()), .waits("P2D")],
            told: [bought, "CONSUMPTION_REQUEST 1 pro", off + " 1 pro", "REFUND 5 pro"],
            says: [
                "tx.revocationType": "REFUND_FULL", "ri.autoRenewStatus": 0,
                "tx.revocationDate": "2026-01-12T20:00:00.000Z",
            ]),
        Row(
            row: .refundRequestDeclined,
            steps: [.buy("pro"), .does(.requestRefund(.legal, .declined))],
            told: [bought, "CONSUMPTION_REQUEST 1 pro", off + " 1 pro", "REFUND_DECLINED 1 pro"],
            says: ["tx.revocationDate": .null, "ri.autoRenewStatus": 0]),
        Row(
            row: .refundReversed,
            steps: [.buy("pro"), .does(.refund()), .waits("P3D"), .does(.reverseRefund())],
            told: [bought, "REFUND 5 pro", "REFUND_REVERSED 1 pro"],
            says: [
                "tx.revocationDate": .null, "tx.revocationReason": .null,
                "tx.revocationType": .null, "tx.revocationPercentage": .null,
                "ri.renewalDate": "2026-02-10T20:00:00.000Z",
            ]),
        Row(
            row: .refundOfPastPeriod,
            steps: [.buy("pro"), .waits("P1M"), .transaction(.refund())],
            told: [bought, renewed, "REFUND 1 pro"],
            says: [
                "tx.isNew": false, "tx.expiresDate": "2026-02-10T20:00:00.000Z",
                "ri.renewalDate": "2026-03-10T19:00:00.000Z", "ri.autoRenewStatus": 1,
            ]),
        Row(
            row: .extended, steps: [.buy("pro"), .does(.extend(ExtensionOrder(days: 30)))],
            told: [bought, "RENEWAL_EXTENDED 1 pro"],
            says: [
                "tx.isNew": false, "tx.expiresDate": "2026-03-12T19:00:00.000Z",
                "ri.renewalDate": "2026-03-12T19:00:00.000Z",
            ]),
        Row(
            row: .extendedForAll,
            steps: [
                .buy("pro"),
                .massExtension(
                    MassExtension(ExtensionOrder(days: 7, requestID: "outage"), productID: "pro")),
                .waits("P1D"),
            ],
            told: [bought, "RENEWAL_EXTENDED 1 pro", "RENEWAL_EXTENSION/SUMMARY"],
            says: [
                "summary.requestIdentifier": "outage", "summary.productId": "pro",
                "summary.succeededCount": 1, "summary.failedCount": 0, "data": .null,
            ]),
    ]
}
