import AppStoreFormats

@testable import Simulator

// Rows about prices, endings, families, one-time purchases and the newer kinds.

extension LifecycleTableTests {
    private static let rise = PriceRise.Order(price: 12_990, needsConsent: true)

    static let prices = [
        Row(
            row: .priceRiseToBeAgreed, steps: [.buy("pro"), .does(.raisePrice(rise))],
            told: [bought, "PRICE_INCREASE/PENDING 1 pro"],
            says: ["tx.isNew": false, "ri.priceIncreaseStatus": 0, "ri.renewalPrice": 12_990]),
        Row(
            row: .priceRiseAgreed,
            steps: [.buy("pro"), .does(.raisePrice(rise)), .does(.consent)],
            told: [bought, "PRICE_INCREASE/PENDING 1 pro", "PRICE_INCREASE/ACCEPTED 1 pro"],
            says: ["ri.priceIncreaseStatus": 1, "ri.renewalPrice": 12_990]),
        Row(
            row: .priceRiseUnanswered,
            steps: [.buy("pro"), .does(.raisePrice(rise)), .waits("P1M")],
            told: [bought, "PRICE_INCREASE/PENDING 1 pro", "EXPIRED/PRICE_INCREASE 2 pro"],
            says: ["ri.expirationIntent": 3, "tx.isNew": false]),
        Row(
            row: .priceRiseDeclined,
            steps: [.buy("pro"), .does(.raisePrice(rise)), .does(.decline), .waits("P1M")],
            told: [
                bought, "PRICE_INCREASE/PENDING 1 pro", off + " 1 pro", "EXPIRED/VOLUNTARY 2 pro",
            ],
            says: ["ri.autoRenewStatus": 0, "ri.expirationIntent": 1]),
        Row(
            row: .priceRiseWithoutConsent,
            steps: [
                .buy("pro"),
                .does(.raisePrice(PriceRise.Order(price: 10_990, needsConsent: false))),
            ],
            told: [bought, "PRICE_INCREASE/ACCEPTED 1 pro"],
            says: ["ri.priceIncreaseStatus": 1, "ri.renewalPrice": 10_990]),
    ]

    static let offers = [
        Row(
            row: .offerCodeFirstPurchase, steps: [.order(PurchaseOrder("pro", offerID: "code"))],
            told: [bought],
            says: [
                "tx.offerType": 3, "tx.offerIdentifier": "code", "tx.price": 2490,
                "tx.offerDiscountType": "PAY_AS_YOU_GO", "ri.offerType": .null,
            ]),
        Row(
            row: .offerOnActive,
            steps: [.buy("pro"), .order(PurchaseOrder("pro", offerID: "again"))],
            told: [bought, "OFFER_REDEEMED 1 pro"],
            says: [
                "tx.isNew": false, "tx.offerType": .null, "ri.offerType": 2,
                "ri.offerIdentifier": "again", "ri.renewalPrice": 2490,
            ]),
        Row(
            row: .offerUpgrade,
            steps: [.buy("pro"), .order(PurchaseOrder("premium", offerID: "code"))],
            told: [bought, "OFFER_REDEEMED/UPGRADE 1 premium"],
            says: ["tx.isNew": true, "tx.offerType": 3, "ri.autoRenewProductId": "premium"]),
        Row(
            row: .offerDowngrade,
            steps: [.buy("pro"), .order(PurchaseOrder("plus", offerID: "code"))],
            told: [bought, "OFFER_REDEEMED/DOWNGRADE 1 pro"],
            says: ["tx.isNew": false, "ri.autoRenewProductId": "plus", "ri.offerType": 3]),
        Row(
            row: .offerAfterLapse,
            steps: [
                .buy("pro"), .does(.cancel), .waits("P2M"),
                .order(PurchaseOrder("pro", offerID: "back")),
            ],
            told: [
                bought, off + " 1 pro", "EXPIRED/VOLUNTARY 2 pro", "SUBSCRIBED/RESUBSCRIBE 1 pro",
            ],
            says: ["tx.isNew": true, "tx.offerType": 4, "tx.offerIdentifier": "back"]),
    ]

    static let families = [
        Row(
            row: .familySharingBegan, steps: [.household, .buy("pro")], told: [bought, bought],
            says: [
                "tx.isNew": true, "tx.inAppOwnershipType": "FAMILY_SHARED",
                "tx.expiresDate": "2026-02-10T20:00:00.000Z",
            ]),
        Row(
            row: .familySharingEnded, steps: [.household, .buy("pro"), .does(.refund())],
            told: [bought, bought, "REFUND 5 pro", "REVOKE 5 pro"],
            says: [
                "tx.revocationType": "FAMILY_REVOKE", "tx.inAppOwnershipType": "FAMILY_SHARED",
                "tx.revocationDate": "2026-01-10T20:00:00.000Z",
            ]),
        Row(
            row: .familyOneTimePurchase, steps: [.household, .buy("map")],
            told: ["ONE_TIME_CHARGE map", "ONE_TIME_CHARGE map"],
            says: ["tx.inAppOwnershipType": "FAMILY_SHARED", "tx.isNew": true]),
    ]

    static let monthly: PurchaseOrder = {
        var order = PurchaseOrder("yearly")
        order.billingPlan = .monthly
        return order
    }()

    private static let promised = "SUBSCRIBED/INITIAL_BUY 1 yearly"

    static let commitments = [
        Row(
            row: .commitmentMonth, steps: [.order(monthly), .waits("P1M")],
            told: [promised, "DID_RENEW 1 yearly"],
            says: [
                "tx.billingPlanType": "MONTHLY", "tx.price": 8330,
                "tx.expiresDate": "2026-03-10T19:00:00.000Z",
                "tx.commitmentInfo.billingPeriodNumber": 2,
                "tx.commitmentInfo.totalBillingPeriods": 12,
                "tx.commitmentInfo.commitmentPrice": 99_960,
                "tx.commitmentInfo.commitmentExpiresDate": "2027-01-10T20:00:00.000Z",
                "ri.renewalBillingPlanType": "MONTHLY", "ri.renewalPrice": 8330,
                "ri.commitmentInfo.commitmentAutoRenewStatus": 1,
                "ri.commitmentInfo.commitmentRenewalDate": "2027-01-10T20:00:00.000Z",
                "ri.commitmentInfo.commitmentRenewalPrice": 99_960,
            ]),
        Row(
            row: .commitmentCancelled, steps: [.order(monthly), .waits("P1M"), .does(.cancel)],
            told: [promised, "DID_RENEW 1 yearly", off + " 1 yearly"],
            says: [
                "ri.autoRenewStatus": 1, "ri.commitmentInfo.commitmentAutoRenewStatus": 0,
                "tx.isNew": false,
            ]),
        Row(
            row: .commitmentBillingFailed,
            steps: [.order(monthly), .does(.failBilling), .waits("P1M"), .waits("P91D")],
            told: [promised, "DID_FAIL_TO_RENEW 3 yearly", "EXPIRED/BILLING_RETRY 2 yearly"],
            says: ["ri.expirationIntent": 2, "ri.gracePeriodExpiresDate": .null]),
    ]

    static let endings = [
        Row(
            row: .resubscribedSameProduct,
            steps: [.buy("pro"), .does(.cancel), .waits("P2M"), .buy("pro")],
            told: [
                bought, off + " 1 pro", "EXPIRED/VOLUNTARY 2 pro", "SUBSCRIBED/RESUBSCRIBE 1 pro",
            ],
            says: [
                "tx.isNew": true, "tx.transactionReason": "PURCHASE", "ri.expirationIntent": .null,
                "ri.autoRenewStatus": 1, "tx.originalPurchaseDate": "2026-01-10T20:00:00.000Z",
            ]),
        Row(
            row: .resubscribedOtherProduct,
            steps: [.buy("pro"), .does(.cancel), .waits("P2M"), .buy("plus")],
            told: [
                bought, off + " 1 pro", "EXPIRED/VOLUNTARY 2 pro", "SUBSCRIBED/RESUBSCRIBE 1 plus",
            ],
            says: ["tx.isNew": true, "tx.originalPurchaseDate": "2026-01-10T20:00:00.000Z"]),
        Row(
            row: .productNotForSale,
            steps: [.buy("pro"), .does(.removeFromSale), .waits("P1M")],
            told: [bought, "EXPIRED/PRODUCT_NOT_FOR_SALE 2 pro"],
            says: ["ri.expirationIntent": 4, "tx.isNew": false]),
        Row(
            row: .otherEnd, steps: [.buy("pro"), .does(.expire)], told: [bought, "EXPIRED 2 pro"],
            says: ["ri.expirationIntent": 5]),
    ]

    static let others = [
        Row(
            row: .oneTimePurchase,
            steps: [.buy("season"), .order(PurchaseOrder("gem", quantity: 3))],
            told: ["ONE_TIME_CHARGE season", "ONE_TIME_CHARGE gem"],
            says: [
                "tx.quantity": 3, "tx.price": 2970, "tx.expiresDate": .null,
                "tx.type": "Consumable", "data.status": .null, "data.signedRenewalInfo": .null,
            ]),
        Row(
            row: .oneTimeRefund, steps: [.buy("map"), .transaction(.refund())],
            told: ["ONE_TIME_CHARGE map", "REFUND map"],
            says: ["tx.revocationType": "REFUND_FULL", "data.status": .null]),
        Row(
            row: .consumptionRequested,
            steps: [.buy("gem"), .transaction(.requestRefund(.fulfillmentIssue))],
            told: ["ONE_TIME_CHARGE gem", "CONSUMPTION_REQUEST gem"],
            says: [
                "data.consumptionRequestReason": "FULFILLMENT_ISSUE", "tx.isNew": false,
                "tx.revocationDate": .null,
            ]),
        Row(
            row: .externalPurchaseToken,
            steps: [
                .announces { world, now in
                    world.externalPurchaseToken(ExternalTokenOrder(), in: .production, at: now)
                }
            ],
            told: ["EXTERNAL_PURCHASE_TOKEN/UNREPORTED"],
            says: [
                "externalPurchaseToken.bundleId": "com.example.birds", "data": .null,
                "externalPurchaseToken.tokenCreationDate": "2026-01-10T20:00:00.000Z",
            ]),
        Row(
            row: .consentRescinded,
            steps: [
                .buy("pro"),
                .announces { world, now throws(SimulatorProblem) in
                    try world.rescindConsent(of: "anna", in: .production, at: now)
                },
            ],
            told: [bought, "RESCIND_CONSENT"],
            says: ["appData.bundleId": "com.example.birds", "data": .null]),
        Row(
            row: .advancedCommerce,
            steps: [
                .buy("pro"), .does(.advancedCommerce(.init(.migration))),
                .does(.advancedCommerce(.init(.metadataUpdate, displayName: "Birds"))),
                .does(.advancedCommerce(.init(.priceChange, price: 11_990))), .waits("P1M"),
            ],
            told: [
                bought, "MIGRATION 1 pro", "METADATA_UPDATE 1 pro", "PRICE_CHANGE 1 pro", renewed,
            ],
            says: [
                "tx.advancedCommerceInfo.descriptors.displayName": "Birds", "tx.price": 11_990,
                "ri.advancedCommerceInfo.descriptors.displayName": "Birds",
            ]),
        Row(
            row: .test,
            steps: [.announces { world, now in world.testNotification(in: .sandbox, at: now) }],
            told: ["TEST"],
            says: [
                "data.environment": "Sandbox", "data.appAppleId": .null, "version": "2.0",
                "data.signedTransactionInfo": .null,
            ]),
    ]
}
