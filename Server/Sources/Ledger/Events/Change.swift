/// One change of a purchase: the content of an event before it has a position in the log.
package struct Change: Hashable, Sendable {
    package var kind: Kind
    /// When the change happened, according to the App Store. If time alone caused the change, the
    /// moment of the transition.
    package var at: Instant
    /// The purchase's status as last reported before this change. Nil if nothing was known of the
    /// purchase.
    package var before: PurchaseStatus?
    /// The status reported by this change. The next change of the purchase has this status as
    /// ``before``.
    package var after: PurchaseStatus?
    /// The amount by which the seller's money from this purchase has grown; negative if it has
    /// shrunk. The sum over all changes of a purchase equals the money of its timeline; after
    /// ``Kind/purchaseForgotten`` the sum begins again. Nil if no money moved, or if the App Store
    /// does not report the amount.
    package var money: Money?
    /// The product that the change is about.
    package var product: ProductID?
    package var transaction: TransactionID?
    package var ownership: Ownership?
    /// The offer of the purchase, or of the next period.
    package var offer: Offer?
    /// The product or price of the next period, if one of them changed.
    package var nextProduct: ProductID?
    package var nextPrice: Money?
    /// Why no period follows. Only for ``Kind/expired``.
    package var expirationReason: ExpirationReason?
    /// The manual grant that was made or has ended. A change with a grant is about no purchase.
    package var grant: Grant?
    /// The environment of the manual grant.
    package var grantEnvironment: Environment?
    /// The term that will end soon. Only for ``Kind/termEnding``.
    package var ending: TermEnding?
    /// What was credited to a wallet or debited from it.
    package var wallet: WalletChange?
    /// The claim on a seat that began or ended.
    package var seat: SeatChange?

    /// The kinds of events. A new kind also needs a word in the contract's `EventType`, a row in
    /// docs/events.md, and a place that emits it, such as ``TimelineDiff``.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        // A payment, or access that was obtained without a payment.
        case purchased
        case trialStarted = "trial_started"
        case trialConverted = "trial_converted"
        case renewed
        case billingRecovered = "billing_recovered"
        case resubscribed
        /// Another product replaced the current one at once.
        case upgraded
        /// The renewal is for another product, as the customer chose before.
        case productChanged = "product_changed"
        case familyShared = "family_shared"
        /// The customer has a seat that a group or an organization pays for.
        case seatAssigned = "seat_assigned"
        /// More seats were bought within a period.
        case seatsAdded = "seats_added"

        // What happens to a payment.
        case refunded
        case refundReversed = "refund_reversed"
        /// Sharing ended.
        case revoked
        /// The group or the organization has taken the seat back.
        case seatRevoked = "seat_revoked"
        case extended
        /// The remainder of a period, or all of it, was refunded because of an upgrade.
        case credited
        case priceCorrected = "price_corrected"

        // The next period.
        case renewalTurnedOff = "renewal_turned_off"
        case renewalTurnedOn = "renewal_turned_on"
        /// The App Store has said for the first time that the period will renew.
        case renewalKnown = "renewal_known"
        case commitmentRenewalTurnedOff = "commitment_renewal_turned_off"
        case commitmentRenewalTurnedOn = "commitment_renewal_turned_on"
        case productChangeScheduled = "product_change_scheduled"
        case productChangeCancelled = "product_change_cancelled"
        case offerRedeemed = "offer_redeemed"
        case priceIncreaseAnnounced = "price_increase_announced"
        case priceIncreaseAgreed = "price_increase_agreed"

        // The end of a period.
        case billingFailed = "billing_failed"
        case graceBegan = "grace_began"
        case graceEnded = "grace_ended"
        case retryBegan = "retry_began"
        case accessUnconfirmed = "access_unconfirmed"
        case expired
        /// A period that was paid ahead has begun.
        case periodBegan = "period_began"
        /// Any other change of the reported status.
        case accessChanged = "access_changed"

        // Ownership.
        case linked
        case moved
        case customerMerged = "customer_merged"
        case aliasAdded = "alias_added"
        /// An id that was added no longer identifies the customer.
        case aliasRemoved = "alias_removed"
        /// The purchase has moved to another customer.
        case movedAway = "moved_away"
        /// From now on the purchase has no owner.
        case unlinked
        /// A customer shares the purchase with its owner.
        case shared
        case shareEnded = "share_ended"
        /// A member of the purchaser's group has a seat, by a claim.
        case seatClaimed = "seat_claimed"
        case seatReleased = "seat_released"
        /// The purchase was blocked, so that other customers cannot claim it from its owner.
        case blocked
        case unblocked
        /// Names in earlier events were replaced.
        case customerErased = "customer_erased"
        /// The server deleted all that it had stored about an old test purchase, as configured. If
        /// another document about the purchase arrives, its events begin anew.
        case purchaseForgotten = "purchase_forgotten"

        // Manual grants.
        case granted
        /// The grant was withdrawn manually, or its time was over.
        case grantEnded = "grant_ended"

        // Terms, which do not renew.
        /// A term ends in the given number of days.
        case termEnding = "term_ending"

        // A customer has requested a refund.
        /// The App Store asks how a purchase was used.
        case consumptionRequested = "consumption_requested"
        case consumptionAnswered = "consumption_answered"
        /// No response was sent: by policy, because consent is missing, or because the App Store
        /// could not be reached.
        case consumptionUnanswered = "consumption_unanswered"

        // Wallets.
        /// A purchase was credited to a wallet.
        case walletCredited = "wallet_credited"
        /// Support or the app's server added units to a wallet. Nothing was bought.
        case walletCreditedByHand = "wallet_credited_by_hand"
        case walletDebited = "wallet_debited"
        /// A refund was deducted from a wallet.
        case walletClawedBack = "wallet_clawed_back"
        /// A refund was reversed, or turned out to be smaller, so the wallet got units back.
        case walletRestored = "wallet_restored"
        /// Any other change of a balance.
        case walletAdjusted = "wallet_adjusted"
    }

    package enum ExpirationReason: String, Hashable, Sendable, CaseIterable {
        case cancelled
        case billing
        case priceNotAgreed = "price_not_agreed"
        case productUnavailable = "product_unavailable"
        case other
        /// The App Store never confirmed a renewal, and the time for which access was held open is
        /// over.
        case neverConfirmed = "never_confirmed"
    }

    package init(
        _ kind: Kind, at: Instant, money: Money? = nil, product: ProductID? = nil,
        transaction: TransactionID? = nil, ownership: Ownership? = nil, offer: Offer? = nil
    ) {
        self.kind = kind
        self.at = at
        self.money = money
        self.product = product
        self.transaction = transaction
        self.ownership = ownership
        self.offer = offer
    }
}

/// A claim on a seat that began or ended.
package struct SeatChange: Hashable, Sendable {
    package var claim: SeatClaimID
    /// Why the claim ended. Nil if it began.
    package var cause: SeatClaim.Cause?

    package init(_ claim: SeatClaimID, cause: SeatClaim.Cause? = nil) {
        self.claim = claim
        self.cause = cause
    }
}

extension Change {
    /// Creates a change about a period.
    init(_ kind: Kind, at: Instant, of period: Timeline.Period, money: Money? = nil) {
        let payment = period.payment
        self.init(
            kind, at: at, money: money, product: payment.product, transaction: payment.transaction,
            ownership: payment.ownership, offer: payment.offer)
    }
}

extension Change.ExpirationReason {
    init?(_ reason: Reason) {
        switch reason {
        case .ended(_, let ending): self.init(ending)
        case .neverConfirmed: self = .neverConfirmed
        case .paid, .trial, .offer, .owned, .ownedApp, .grace, .unconfirmed, .upgradedToUnknown,
            .retrying, .refunded, .sharingEnded, .seatRevoked, .seatsTaken, .changed, .termEnded,
            .granted, .grantEnded:
            return nil
        }
    }

    private init(_ ending: Renewal.Ending?) {
        switch ending {
        case .cancelled?, nil: self = .cancelled
        case .billing?: self = .billing
        case .priceNotAgreed?: self = .priceNotAgreed
        case .productUnavailable?: self = .productUnavailable
        case .other?: self = .other
        }
    }
}
