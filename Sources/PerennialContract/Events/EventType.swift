/// The type of an event, in one word. docs/events.md says when each type is emitted. The server's
/// own list is `Change.Kind` in Ledger; a test keeps the two equal.
public struct EventType: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let purchased = Self(rawValue: "purchased")
    public static let trialStarted = Self(rawValue: "trial_started")
    public static let trialConverted = Self(rawValue: "trial_converted")
    public static let renewed = Self(rawValue: "renewed")
    public static let billingRecovered = Self(rawValue: "billing_recovered")
    public static let resubscribed = Self(rawValue: "resubscribed")
    public static let upgraded = Self(rawValue: "upgraded")
    public static let productChanged = Self(rawValue: "product_changed")
    public static let familyShared = Self(rawValue: "family_shared")
    public static let seatAssigned = Self(rawValue: "seat_assigned")
    public static let seatsAdded = Self(rawValue: "seats_added")
    public static let refunded = Self(rawValue: "refunded")
    public static let refundReversed = Self(rawValue: "refund_reversed")
    public static let revoked = Self(rawValue: "revoked")
    public static let seatRevoked = Self(rawValue: "seat_revoked")
    public static let extended = Self(rawValue: "extended")
    public static let credited = Self(rawValue: "credited")
    public static let priceCorrected = Self(rawValue: "price_corrected")
    public static let renewalTurnedOff = Self(rawValue: "renewal_turned_off")
    public static let renewalTurnedOn = Self(rawValue: "renewal_turned_on")
    public static let renewalKnown = Self(rawValue: "renewal_known")
    public static let commitmentRenewalTurnedOff = Self(
        rawValue: "commitment_renewal_turned_off")
    public static let commitmentRenewalTurnedOn = Self(rawValue: "commitment_renewal_turned_on")
    public static let productChangeScheduled = Self(rawValue: "product_change_scheduled")
    public static let productChangeCancelled = Self(rawValue: "product_change_cancelled")
    public static let offerRedeemed = Self(rawValue: "offer_redeemed")
    public static let priceIncreaseAnnounced = Self(rawValue: "price_increase_announced")
    public static let priceIncreaseAgreed = Self(rawValue: "price_increase_agreed")
    public static let billingFailed = Self(rawValue: "billing_failed")
    public static let graceBegan = Self(rawValue: "grace_began")
    public static let graceEnded = Self(rawValue: "grace_ended")
    public static let retryBegan = Self(rawValue: "retry_began")
    public static let accessUnconfirmed = Self(rawValue: "access_unconfirmed")
    public static let expired = Self(rawValue: "expired")
    public static let periodBegan = Self(rawValue: "period_began")
    public static let accessChanged = Self(rawValue: "access_changed")
    public static let linked = Self(rawValue: "linked")
    public static let moved = Self(rawValue: "moved")
    public static let customerMerged = Self(rawValue: "customer_merged")
    public static let aliasAdded = Self(rawValue: "alias_added")
    public static let aliasRemoved = Self(rawValue: "alias_removed")
    public static let movedAway = Self(rawValue: "moved_away")
    public static let unlinked = Self(rawValue: "unlinked")
    public static let shared = Self(rawValue: "shared")
    public static let shareEnded = Self(rawValue: "share_ended")
    public static let blocked = Self(rawValue: "blocked")
    public static let unblocked = Self(rawValue: "unblocked")
    public static let customerErased = Self(rawValue: "customer_erased")
    public static let purchaseForgotten = Self(rawValue: "purchase_forgotten")
    public static let seatClaimed = Self(rawValue: "seat_claimed")
    public static let seatReleased = Self(rawValue: "seat_released")
    public static let granted = Self(rawValue: "granted")
    public static let grantEnded = Self(rawValue: "grant_ended")
    public static let termEnding = Self(rawValue: "term_ending")
    public static let consumptionRequested = Self(rawValue: "consumption_requested")
    public static let consumptionAnswered = Self(rawValue: "consumption_answered")
    public static let consumptionUnanswered = Self(rawValue: "consumption_unanswered")
    public static let walletCredited = Self(rawValue: "wallet_credited")
    public static let walletCreditedByHand = Self(rawValue: "wallet_credited_by_hand")
    public static let walletDebited = Self(rawValue: "wallet_debited")
    public static let walletClawedBack = Self(rawValue: "wallet_clawed_back")
    public static let walletRestored = Self(rawValue: "wallet_restored")
    public static let walletAdjusted = Self(rawValue: "wallet_adjusted")

    /// All types that this version of the server emits.
    public static let known: [EventType] = [
        purchased, trialStarted, trialConverted, renewed, billingRecovered, resubscribed, upgraded,
        productChanged, familyShared, seatAssigned, seatsAdded, refunded, refundReversed, revoked,
        seatRevoked, extended, credited, priceCorrected, renewalTurnedOff, renewalTurnedOn,
        renewalKnown,
        commitmentRenewalTurnedOff, commitmentRenewalTurnedOn, productChangeScheduled,
        productChangeCancelled, offerRedeemed, priceIncreaseAnnounced, priceIncreaseAgreed,
        billingFailed, graceBegan, graceEnded, retryBegan, accessUnconfirmed, expired, periodBegan,
        accessChanged, linked, moved, customerMerged, aliasAdded, aliasRemoved, movedAway, unlinked,
        shared, shareEnded, blocked, unblocked, customerErased, purchaseForgotten, seatClaimed,
        seatReleased, granted, grantEnded,
        termEnding, consumptionRequested, consumptionAnswered, consumptionUnanswered,
        walletCredited,
        walletCreditedByHand, walletDebited, walletClawedBack, walletRestored, walletAdjusted,
    ]
}
