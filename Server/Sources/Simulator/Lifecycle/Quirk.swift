/// A deviation of the App Store from its documentation, or one of several behaviours that the
/// documentation allows. Each is off unless it is named in `habits` of `POST /_sim/reset`.
package enum Quirk: String, Hashable, Sendable, CaseIterable {
    case graceWithoutRetryFlag = "grace_without_retry_flag"
    case expiredNeverSent = "expired_never_sent"
    case productChangeNearTrialEndRenews = "product_change_near_trial_end_renews"
    case lateTrialCancellationRenews = "late_trial_cancellation_renews"
    case renewalHasAnotherID = "renewal_told_under_another_id"
    case extensionMakesTransaction = "extension_makes_transaction"
    case retryEndKeepsRenewalOn = "retry_end_keeps_renewal_on"
    case cancellationInRetrySendsNoExpired = "cancellation_in_retry_told_alone"
    case refundKeepsRenewalOn = "refund_keeps_renewal_on"
    case declinedRefundRestoresRenewal = "declined_refund_restores_renewal"
    case consumptionRequestRepeated = "consumption_asked_again"
    case summaryBeforeExtensions = "summary_before_extensions"
    case commitmentCancellationIsSilent = "commitment_cancellation_untold"
    case oneTimeChargeInSandboxOnly = "one_time_charge_in_sandbox_only"
    case sandboxHasSixPeriods = "sandbox_has_six_periods"
    case declinedPurchaseArrives = "declined_purchase_arrives"
    case interruptedPurchaseFails = "interrupted_purchase_fails"
    case familyTransactionsHidePrice = "family_transactions_hide_price"
    case sandboxReceiptsShiftOriginalID = "sandbox_receipts_shift_original_id"
    case restoreMakesTransaction = "restore_makes_transaction"

    case seatAdditionSharesLineItem = "seat_addition_shares_line_item"
    case seatAdditionProrated = "seat_addition_prorated"
    case seatRefundToldOnce = "seat_refund_told_once"
    case seatRefundNamesPercentage = "seat_refund_names_percentage"
    case unclaimSeatsLost = "unclaim_seats_lost"
    case purchaserUsesASeat = "purchaser_uses_a_seat"
    case membersHaveNoRenewalInfo = "members_have_no_renewal_info"

    case finishCountsPerDevice = "finish_counts_per_device"
    case ownPurchasesAnnounced = "own_purchases_announced"
    case alreadySubscribedRefused = "already_subscribed_refused"
    case retryPurchaseReturnsHeld = "purchase_in_retry_returns_held"
    case lapsePurchaseReturnsHeld = "purchase_after_lapse_returns_held"

    /// Whether the quirk shows only in subscriptions with several seats.
    package var isAboutSeats: Bool {
        switch self {
        case .seatAdditionSharesLineItem, .seatAdditionProrated, .seatRefundToldOnce,
            .seatRefundNamesPercentage, .unclaimSeatsLost, .purchaserUsesASeat,
            .membersHaveNoRenewalInfo:
            true
        default: false
        }
    }

    /// What happens if the quirk is on, in one sentence.
    package var summary: String {
        switch self {
        case .graceWithoutRetryFlag: "In grace isInBillingRetryPeriod is false."
        case .expiredNeverSent: "EXPIRED is not sent, except after `expire`."
        case .productChangeNearTrialEndRenews:
            "Within a day of a trial's end, a change of product sends DID_RENEW only."
        case .lateTrialCancellationRenews:
            "Switching renewal off within a day of a trial's end does not prevent the next renewal."
        case .renewalHasAnotherID:
            "DID_RENEW carries another transactionId, with the same webOrderLineItemId."
        case .extensionMakesTransaction:
            "Extended time is a separate transaction; otherwise expiresDate of the last one moves."
        case .retryEndKeepsRenewalOn: "When the retries end, autoRenewStatus stays 1."
        case .cancellationInRetrySendsNoExpired:
            "Switching renewal off in grace or retry sends no EXPIRED."
        case .refundKeepsRenewalOn: "After a refund the next period is still charged."
        case .declinedRefundRestoresRenewal:
            "Renewal, switched off by a refund request, is switched on if the request is declined."
        case .consumptionRequestRepeated:
            "CONSUMPTION_REQUEST is repeated, as a new notification, until the app answers."
        case .summaryBeforeExtensions: "The SUMMARY of a mass extension comes before the others."
        case .commitmentCancellationIsSilent:
            "Switching renewal off within a commitment sends nothing."
        case .oneTimeChargeInSandboxOnly: "ONE_TIME_CHARGE is sent in the sandbox only."
        case .sandboxHasSixPeriods:
            "The sandbox renews five times (six periods), as until 2021; otherwise twelve times."
        case .declinedPurchaseArrives:
            "A purchase that a parent declines still arrives, as in the iOS 27 simulator."
        case .interruptedPurchaseFails:
            "An interrupted purchase fails at first, as in StoreKit 1; otherwise it is pending."
        case .familyTransactionsHidePrice:
            "A family member's transaction costs 0; otherwise it shows what the purchaser paid."
        case .sandboxReceiptsShiftOriginalID:
            "Receipts of the sandbox have an original_transaction_id that is higher by one."
        case .restoreMakesTransaction:
            "Restoring gives a non-consumable a new transactionId, but the same original one."
        case .seatAdditionSharesLineItem:
            "Added seats have the webOrderLineItemId of their period; otherwise a new one."
        case .seatAdditionProrated:
            "Added seats cost the unused share of their period; otherwise the whole price."
        case .seatRefundToldOnce:
            "A refund of seats of several transactions sends one REFUND; otherwise one for each."
        case .seatRefundNamesPercentage:
            "A refund of seats has the revocationPercentage of its transaction; otherwise none."
        case .unclaimSeatsLost: "UNCLAIM_SEATS is not sent."
        case .purchaserUsesASeat:
            "The purchaser uses one seat, which cannot be claimed; otherwise all seats can."
        case .membersHaveNoRenewalInfo:
            "Notifications and statuses of an assigned seat have no renewal information."
        case .finishCountsPerDevice:
            "A transaction is finished only on the device whose app has finished it."
        case .ownPurchasesAnnounced:
            "A subscription is also announced on the device that buys it, as on macOS."
        case .alreadySubscribedRefused:
            "Buying an owned product is refused; otherwise it returns the existing transaction."
        case .retryPurchaseReturnsHeld:
            "Buying a product in retry returns the existing transaction; otherwise it is refused."
        case .lapsePurchaseReturnsHeld:
            "Buying again after a lapse returns the old transaction, and nothing is bought."
        }
    }
}
