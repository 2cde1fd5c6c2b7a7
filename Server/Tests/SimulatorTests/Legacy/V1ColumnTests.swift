import AppStoreFormats
import Testing

@testable import Simulator

/// The version 1 column of Apple's table: the notifications that each row has caused since 2021.
@Suite struct V1ColumnTests {
    private static let status = "DID_CHANGE_RENEWAL_STATUS"

    /// Rows that are not listed cause notifications of version 2 only.
    private static let column: [LifecycleRow: [String]] = [
        .firstPurchase: ["INITIAL_BUY"], .firstPurchaseTrial: ["INITIAL_BUY"],
        .firstPurchasePayAsYouGo: ["INITIAL_BUY"], .firstPurchasePayUpFront: ["INITIAL_BUY"],
        .offerCodeFirstPurchase: ["INITIAL_BUY"], .trialConverts: ["DID_RENEW"],
        .renewal: ["DID_RENEW"], .downgradeTookEffect: ["DID_RENEW"], .renewalOff: [status],
        .renewalOn: [status], .billingFailed: ["DID_FAIL_TO_RENEW"],
        .billingFailedIntoGrace: ["DID_FAIL_TO_RENEW"], .recoveredInGrace: ["DID_RECOVER"],
        .recoveredInRetry: ["DID_RECOVER"], .retryExhausted: [status],
        .cancelledInRetry: [status], .upgrade: [status, "INTERACTIVE_RENEWAL"],
        .offerUpgrade: [status, "INTERACTIVE_RENEWAL"],
        .crossgradeSameDuration: ["INTERACTIVE_RENEWAL"],
        .downgradeChosen: ["DID_CHANGE_RENEWAL_PREF"],
        .downgradeReverted: ["DID_CHANGE_RENEWAL_PREF"],
        .crossgradeOtherDuration: ["DID_CHANGE_RENEWAL_PREF"],
        .offerDowngrade: ["DID_CHANGE_RENEWAL_PREF"], .refund: ["CANCEL", status],
        // Switching renewal off together with the request is a separate row.
        .refundProrated: ["CANCEL", status], .refundRequestGranted: ["CANCEL"],
        .refundOfPastPeriod: ["CANCEL"], .priceRiseToBeAgreed: ["PRICE_INCREASE_CONSENT"],
        .priceRiseDeclined: [status], .offerAfterLapse: [status],
        .resubscribedSameProduct: [status],
        .resubscribedOtherProduct: ["INTERACTIVE_RENEWAL", status],
        .familySharingEnded: ["REVOKE"], .oneTimeRefund: ["REFUND"],
        .consumptionRequested: ["CONSUMPTION_REQUEST"],
    ]

    @Test(arguments: LifecycleTableTests.rows)
    func `each row of Apple's table sends its version 1 notifications`(
        row: LifecycleTableTests.Row
    ) async throws {
        let stage = try Stage(shop: TableShop.file()) { settings in
            settings.notificationURL = nil
            settings.v1NotificationURL = "box"
            row.set(&settings)
        }
        try await stage.play(row.steps)
        let sent = await stage.simulator.v1Notifications.filter { $0.draft.row == row.row }
        #expect(sent.compactMap(\.v1?.type.rawValue) == Self.column[row.row] ?? [])
    }
}
