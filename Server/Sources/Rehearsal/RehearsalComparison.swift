import Ledger

/// Two opinions about one entitlement of a customer, at one moment, with all evidence. Decides the
/// cause of each difference: a pure function.
package struct RehearsalComparison: Hashable, Sendable {
    package var ours: RehearsalOpinion
    package var theirs: RehearsalOpinion
    package var evidence: RehearsalEvidence
    package var rules: RehearsalRules
    package var now: Instant

    package init(
        ours: RehearsalOpinion, theirs: RehearsalOpinion,
        evidence: RehearsalEvidence = RehearsalEvidence(),
        rules: RehearsalRules = RehearsalRules(), at now: Instant
    ) {
        self.ours = ours
        self.theirs = theirs
        self.evidence = evidence
        self.rules = rules
        self.now = now
    }

    /// The effect of the switch on the customer.
    package var effect: RehearsalEffect {
        guard ours.isOpen != theirs.isOpen else { return .none }
        return theirs.isOpen ? .loses : .gains
    }

    /// The documents that RevenueCat has not counted: without these documents, our opinion would
    /// equal RevenueCat's opinion. Nil if no examined set of documents explains RevenueCat's
    /// opinion.
    package var missingThere: [RehearsalDocument]? {
        evidence.alternatives.first { isTheirs($0.opinion) }?.missing
    }

    /// The cause of a difference.
    ///
    /// The order of the checks matters: certain causes come before causes that are only likely.
    /// First come causes that are unrelated to our documents: other stores, the sandbox, grants,
    /// ids, and owners. Then come different readings of the same documents, and then documents that
    /// RevenueCat does not count. A cause is named only if there is evidence for it. Otherwise the
    /// difference is unexplained.
    package func cause(of aspect: RehearsalAspect) -> RehearsalCause {
        causeOutsideDocuments(of: aspect) ?? causeOfMapping(of: aspect)
            ?? causeOfReading(of: aspect) ?? causeOfMissingDocuments
            ?? causeOfLastResort(of: aspect) ?? .unexplained
    }

    // MARK: - What our documents are not about

    private func causeOutsideDocuments(of aspect: RehearsalAspect) -> RehearsalCause? {
        if theirs.isOpen {
            switch theirs.basis {
            case .sandbox: return .sandbox
            case .otherStore: return .otherStore
            case .grant where ours.basis != .grant: return .grantedThere
            case .grant where aspect == .until:
                let isLater = RehearsalOpinion.isLater(theirs.until, than: ours.until)
                return isLater ? .grantedThere : .grantedHere
            case .grant, .payment, .nothing: break
            }
        }
        if isOnlyOurGrant { return .grantedHere }
        guard aspect == .access || aspect == .until else { return nil }
        if evidence.idWithAccessHere != nil { return .aliasUnknownHere }
        if evidence.idWithAccessThere != nil { return .aliasUnknownThere }
        return evidence.isOwnedByAnother ? .ownerDiffers : nil
    }

    /// Whether the only reason of the difference is a grant that only we have. False if RevenueCat
    /// has an open purchase that is unknown to us.
    private var isOnlyOurGrant: Bool {
        guard ours.isOpen, ours.basis == .grant else { return false }
        guard theirs.isOpen else { return true }
        guard evidence.isTheirPurchaseKnownHere, let end = theirs.until else { return false }
        return ours.until.map { $0 > end } ?? true
    }

    // MARK: - How the two read the same purchase

    private func causeOfMapping(of aspect: RehearsalAspect) -> RehearsalCause? {
        if !evidence.isTheirProductListed, theirs.isOpen { return .productMapping }
        switch aspect {
        case .access:
            let isMapped =
                ours.isOpen ? evidence.isOurPurchaseOpenThere : evidence.isTheirPurchaseOpenHere
            return isMapped ? .entitlementMapping : nil
        case .product:
            return ours.transaction != nil && ours.transaction == theirs.transaction
                ? .productMapping : nil
        case .ownership: return .familySharing
        case .until, .renewal: return nil
        }
    }

    private func causeOfReading(of aspect: RehearsalAspect) -> RehearsalCause? {
        if aspect == .access || aspect == .until, isOnlyOfClocks(aspect) { return .clock }
        guard aspect != .product else { return nil }
        if ours.billing == .unconfirmed { return .unconfirmedHere }
        // Both systems know that the payment fails.
        return ours.billing != .settled && theirs.billing != .settled ? .billingReading : nil
    }

    /// Whether a difference between clocks can explain the difference. True if the two ends are
    /// close to each other. If only one system gives access, true if that access ends at about the
    /// present time.
    private func isOnlyOfClocks(_ aspect: RehearsalAspect) -> Bool {
        if aspect == .until {
            return ours.until != nil
                && RehearsalOpinion.isSame(ours.until, theirs.until, within: rules.tolerance)
        }
        let open = ours.isOpen ? ours : theirs
        return RehearsalOpinion.isSame(open.until, now, within: rules.tolerance)
    }

    // MARK: - What RevenueCat does not count

    private var causeOfMissingDocuments: RehearsalCause? {
        guard let missing = missingThere,
            let earliest = missing.map(\.receivedAt).min()
        else { return nil }
        if now - earliest < rules.lateness { return .lateThere }
        return missing.contains(where: \.isRevocation) && theirs.isOpen
            ? .refundIgnoredThere : .missedThere
    }

    /// Whether an opinion equals RevenueCat's opinion. If both opinions name a transaction, they
    /// must name the same transaction.
    private func isTheirs(_ opinion: RehearsalOpinion) -> Bool {
        // The two systems may differ about the renewal, perhaps because this server missed a
        // change. An opinion that says nothing about the renewal does not explain this difference.
        if opinion.isOpen, let there = theirs.willRenew, let here = ours.willRenew, here != there,
            opinion.willRenew != there
        {
            return false
        }
        if let one = opinion.transaction, let other = theirs.transaction, one != other {
            return false
        }
        guard opinion.isOpen || theirs.transaction == nil || opinion.transaction != nil else {
            return false
        }
        let differences = opinion.differences(from: theirs)
        guard differences == [.until] else { return differences.isEmpty }
        return opinion.until != nil
            && RehearsalOpinion.isSame(opinion.until, theirs.until, within: rules.tolerance)
    }

    private func causeOfLastResort(of aspect: RehearsalAspect) -> RehearsalCause? {
        guard aspect != .product else { return nil }
        if ours.billing != .settled || theirs.billing != .settled, theirs.basis == .payment,
            ours.basis == .payment, ours.transaction == theirs.transaction
        {
            return .billingReading
        }
        let isShared = ours.isFamilyShared == true || theirs.isFamilyShared == true
        return isShared && aspect == .access ? .familySharing : nil
    }
}
