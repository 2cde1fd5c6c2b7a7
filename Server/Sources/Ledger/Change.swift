/// One thing that happened to a purchase, as it is told: an event before it has a place in the log.
package struct Change: Hashable, Sendable {
    package var kind: Kind
    /// When it happened, by the store's word; of what time alone did, the moment.
    package var at: Instant
    /// What was told last. Nil: nothing was known of the purchase.
    package var before: Condition?
    /// What is told now. The next change of the purchase begins with it.
    package var after: Condition?
    /// What the seller has more than before; less where negative. The sum over all changes of a
    /// purchase is the money of its timeline. Nil: no money moved, or the store does not say.
    package var money: Money?
    /// The product that it is about.
    package var product: ProductID?
    package var transaction: TransactionID?
    package var ownership: Ownership?
    /// The offer of what was bought, or of the next period.
    package var offer: Offer?
    /// The product, or the price, of the next period, where that is what changed.
    package var nextProduct: ProductID?
    package var nextPrice: Money?
    /// Why nothing follows; for ``Kind/expired`` only.
    package var why: Why?
    /// What was given by hand; it is about no purchase then.
    package var grant: Grant?
    /// Where it was given by hand.
    package var grantEnvironment: Environment?
    /// What will be over soon; for ``Kind/termEnding`` only.
    package var ending: TermEnding?
    /// What went into a wallet or out of it.
    package var wallet: WalletChange?

    package enum Kind: String, Hashable, Sendable, CaseIterable {
        // A payment, or what is had without one.
        case purchased
        case trialStarted = "trial_started"
        case trialConverted = "trial_converted"
        case renewed
        case billingRecovered = "billing_recovered"
        case resubscribed
        /// Another product took the place of the present one at once.
        case upgraded
        /// The renewal is of another product, as was chosen before.
        case productChanged = "product_changed"
        case familyShared = "family_shared"

        // What becomes of a payment.
        case refunded
        case refundReversed = "refund_reversed"
        /// Sharing ended.
        case revoked
        case extended
        /// What was left of a period, or all of it, was given back because of an upgrade.
        case credited
        case priceCorrected = "price_corrected"

        // What is to come.
        case renewalTurnedOff = "renewal_turned_off"
        case renewalTurnedOn = "renewal_turned_on"
        /// The store has said for the first time that the period will be renewed.
        case renewalKnown = "renewal_known"
        case commitmentRenewalTurnedOff = "commitment_renewal_turned_off"
        case commitmentRenewalTurnedOn = "commitment_renewal_turned_on"
        case productChangeScheduled = "product_change_scheduled"
        case productChangeCancelled = "product_change_cancelled"
        case offerRedeemed = "offer_redeemed"
        case priceIncreaseAnnounced = "price_increase_announced"
        case priceIncreaseAgreed = "price_increase_agreed"

        // A period's end.
        case billingFailed = "billing_failed"
        case graceBegan = "grace_began"
        case graceEnded = "grace_ended"
        case retryBegan = "retry_began"
        case accessUnconfirmed = "access_unconfirmed"
        case expired
        /// A period that was paid ahead.
        case periodBegan = "period_began"
        /// Whatever else changed what was told.
        case accessChanged = "access_changed"

        // Whose it is.
        case linked
        case moved
        case customerMerged = "customer_merged"
        case aliasAdded = "alias_added"
        /// An id that was added means nobody any more.
        case aliasParted = "alias_parted"
        /// It has gone to another.
        case movedAway = "moved_away"
        /// It is nobody's from now on.
        case unlinked
        /// A customer has it beside its owner.
        case shared
        case shareEnded = "share_ended"
        /// Nobody may take it from its owner.
        case blocked
        case unblocked
        /// Names in earlier events were replaced.
        case customerErased = "customer_erased"

        // What is given by hand.
        case granted
        /// By hand, or because its time was over.
        case grantEnded = "grant_ended"

        // What does not renew.
        /// The end of a term is so many days ahead.
        case termEnding = "term_ending"

        // A customer wishes to have the money back.
        /// The store asks how a purchase was used.
        case consumptionAsked = "consumption_asked"
        case consumptionAnswered = "consumption_answered"
        /// It was told nothing, by policy, for want of consent, or because it could not be reached.
        case consumptionUnanswered = "consumption_unanswered"

        // What is used up.
        /// A purchase was put into a wallet.
        case walletCredited = "wallet_credited"
        case walletDebited = "wallet_debited"
        /// A refund took something out.
        case walletClawedBack = "wallet_clawed_back"
        /// A refund was reversed, or turned out to be of less.
        case walletRestored = "wallet_restored"
        /// Whatever else changed a balance.
        case walletAdjusted = "wallet_adjusted"
    }

    package enum Why: String, Hashable, Sendable, CaseIterable {
        case cancelled
        case billing
        case priceNotAgreed = "price_not_agreed"
        case productUnavailable = "product_unavailable"
        case other
        /// The store never said, and the time in which it was held open is over.
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

extension Change {
    /// About a period.
    init(_ kind: Kind, at: Instant, of period: Timeline.Period, money: Money? = nil) {
        let payment = period.payment
        self.init(
            kind, at: at, money: money, product: payment.product, transaction: payment.transaction,
            ownership: payment.ownership, offer: payment.offer)
    }
}

extension Change.Why {
    init?(_ reason: Reason) {
        switch reason {
        case .ended(_, let ending): self.init(ending)
        case .neverConfirmed: self = .neverConfirmed
        case .paid, .trial, .offer, .owned, .grace, .unconfirmed, .upgradedToUnknown, .retrying,
            .refunded, .sharingEnded, .changed, .termEnded, .granted, .grantEnded:
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
