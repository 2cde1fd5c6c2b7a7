import AppStoreFormats

@testable import Simulator

// Undocumented behaviour of the App Store, and events that happen at the same time.

extension Course {
    /// Each kind of undocumented behaviour, in a course that shows it.
    static let ofHabits =
        [
            habit(
                .graceWithoutRetryFlag, .buys("tiers.silver"), .does(.failBilling), .waits("P1M")),
            habit(
                .expiredNeverSent, .buys("tiers.silver"), .does(.cancel), .waits("P2M"),
                .buys("tiers.silver")),
            habit(
                .productChangeNearTrialEndRenews, .orders(PurchaseOrder("tiers.silver")),
                .waits("P6DT1H"), .does(.changeProduct("tiers.bronze"))),
            habit(
                .lateTrialCancellationRenews, .orders(PurchaseOrder("tiers.silver")),
                .waits("P6DT1H"), .does(.cancel)),
            habit(.renewalHasAnotherID, .buys("tiers.silver"), .waits("P2M")),
            habit(
                .extensionMakesTransaction, .buys("tiers.silver"),
                .does(.extend(ExtensionOrder(days: 30)))),
            habit(
                .retryEndKeepsRenewalOn, .buys("tiers.silver"), .does(.failBilling), .waits("P4M")),
            habit(
                .cancellationInRetrySendsNoExpired, .buys("tiers.silver"), .does(.failBilling),
                .waits("P36D"), .does(.cancel)),
            habit(.refundKeepsRenewalOn, .buys("tiers.silver"), .waits("P3D"), .does(.refund())),
            habit(
                .declinedRefundRestoresRenewal, .buys("tiers.silver"),
                .does(.requestRefund(.other, .declined))),
            habit(
                .summaryBeforeExtensions, .buys("tiers.silver"), .massExtension(week), .waits("P1D")
            ),
            habit(
                .commitmentCancellationIsSilent, .orders(promise), .does(.cancel), .waits("P12M")),
            habit(.oneTimeChargeInSandboxOnly, .buys("atlas"), .transaction(.refund())),
            habit(
                .restoreMakesTransaction, .buys("atlas"), .waits("P1D"), .restores, .waits("P1D"),
                .restores, .transaction(.refund()), .restores, .waits("P1D"),
                .transaction(.reverseRefund), .restores),
            habit(
                .consumptionRequestRepeated, .buys("seeds"),
                .transaction(.requestRefund(.fulfillmentIssue)), .waits("P3D")),
            habit(.familyTransactionsHidePrice, .household, .buys("family.monthly")),
            habit(.finishCountsPerDevice, .buys("tiers.silver"), .waits("P2M")),
            habit(.ownPurchasesAnnounced, .buys("tiers.silver"), .waits("P2M")),
            habit(.alreadySubscribedRefused, .buys("tiers.silver"), .waits("P2M")),
            habit(
                .retryPurchaseReturnsHeld, .buys("tiers.silver"), .does(.failBilling),
                .waits("P36D"),
                .buys("tiers.silver")),
            habit(
                .lapsePurchaseReturnsHeld, .buys("tiers.silver"), .does(.cancel), .waits("P2M"),
                .buys("tiers.silver")),
            habit(.declinedPurchaseArrives, .ordersPending(asked, .decline)),
            Course(
                name: Quirk.interruptedPurchaseFails.rawValue,
                set: {
                    $0.quirks = [.interruptedPurchaseFails]
                    $0.rules.interruptsPurchases = true
                }, steps: [.ordersPending(PurchaseOrder("tiers.silver"), .resolve)]),
            Course(
                name: Quirk.sandboxHasSixPeriods.rawValue, environment: .sandbox,
                set: { $0.quirks = [.sandboxHasSixPeriods] },
                steps: [.buys("tiers.silver"), .waits("PT1H")]),
            Course(
                name: Quirk.sandboxReceiptsShiftOriginalID.rawValue, environment: .sandbox,
                set: { $0.quirks = [.sandboxReceiptsShiftOriginalID] },
                steps: [.buys("tiers.silver"), .waits("PT10M")]),
        ] + ofSeatHabits

    private static let asked: PurchaseOrder = {
        var order = PurchaseOrder("tiers.silver")
        order.choice = .ask
        return order
    }()

    private static func habit(_ habit: Quirk, _ steps: Step...) -> Course {
        Course(name: habit.rawValue, set: { $0.quirks = [habit] }, steps: steps)
    }

    /// Subscriptions that end without a notification, so only the elapsed time shows the end.
    static let endedUntold = [
        [.buys("tiers.silver"), .does(.removeFromSale)],
        [.buys("tiers.silver"), .does(.raisePrice(.init(price: 12_990, needsConsent: true)))],
        [.buys("tiers.silver"), .does(.failBilling), .waits("P2M")],
        [.orders(promise), .does(.failBilling), .waits("P1M")],
    ].enumerated().map { number, steps in
        Course(
            name: "ended without a notification, \(number)",
            set: { $0.quirks = [.expiredNeverSent] }, steps: steps)
    }

    // MARK: Events that coincide

    /// Pairs of events at the same time. Each pair once led to wrong answers.
    static let meetings = [
        Course(
            name: "upgraded after the renewal was charged, and before it began",
            set: { $0.renewsEarlySeconds = 86_400 },
            steps: [
                .buys("tiers.silver"), .waits("P30DT8H"), .does(.changeProduct("tiers.gold")),
                .waits("P2M"), .does(.refund()),
            ]),
        Course(
            name: "changed there and back after the renewal was charged, and before it began",
            set: { $0.renewsEarlySeconds = 86_400 },
            steps: [
                .buys("tiers.silver"), .waits("P30DT8H"),
                .does(.changeProduct("tiers.silver.other")), .waits("PT1H"),
                .does(.changeProduct("tiers.silver")), .waits("P2M"),
            ]),
        Course(
            name: "cancelled after the renewal was charged, and before it began",
            set: {
                $0.renewsEarlySeconds = 86_400
                $0.quirks = [.expiredNeverSent]
            }, steps: [.buys("tiers.silver"), .waits("P30DT8H"), .does(.cancel)]),
        Course(
            name: "a renewal charged ahead is refunded before it began",
            set: { $0.renewsEarlySeconds = 86_400 },
            steps: [.buys("tiers.silver"), .waits("P30DT8H"), .does(.refund())]),
        Course(
            name: "upgraded twice within a minute, and downgraded",
            steps: [
                .buys("tiers.bronze"), .does(.changeProduct("tiers.silver")),
                .does(.changeProduct("tiers.gold")), .does(.changeProduct("tiers.bronze")),
            ]),
        Course(
            name: "downgraded, and the payment fails",
            steps: [
                .buys("tiers.gold"), .does(.changeProduct("tiers.bronze")), .does(.failBilling),
                .waits("P36D"), .does(.recoverBilling),
            ]),
        Course(
            name: "extended, upgraded, refunded, and the refund reversed",
            steps: [
                .buys("tiers.silver"), .does(.extend(ExtensionOrder(days: 10))), .waits("P35D"),
                .does(.changeProduct("tiers.gold")), .waits("P3D"), .does(.refund(part)),
                .waits("P3D"), .does(.reverseRefund()),
            ]),
        Course(
            name: "a family through grace, retry and recovery",
            steps: [
                .household, .buys("family.monthly"), .does(.failBilling), .waits("P60D"),
                .does(.recoverBilling), .waits("P3D"), .does(.cancel), .waits("P2M"),
                .buys("family.monthly"),
            ]),
    ]
}
