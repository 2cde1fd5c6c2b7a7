extension OwnershipClaim {
    /// What happens to a purchase that belongs to another customer.
    package enum RestorePolicy: String, Hashable, Sendable, CaseIterable {
        /// It stays with its first owner.
        case keep
        /// It moves to the customer who presented it last.
        case transfer
        /// It moves to the customer who presents it, if it gives its owner no access any more.
        case transferIfInactive = "transfer_if_inactive"
        /// Both have it.
        case share
    }

    /// Who gets a share under the policy ``RestorePolicy/share``.
    package struct ShareRules: Hashable, Sendable {
        /// The maximum number of customers who share one purchase, besides its owner.
        package var most: Int

        package static let mostDefault = 5
        /// The maximum number of anonymous customers who have a purchase of another anonymous
        /// customer. These are the devices and installations of one store account.
        package static let anonymousMost = 1_000
        /// For how many days after its signature a document gives a share. Someone with only an old
        /// copy has no device that could get a new one.
        package static let documentDaysMax = 30

        package init(most: Int = mostDefault) { self.most = most }

        func accepts(documentOfAge age: Duration?) -> Bool {
            age.map { $0 <= .days(Self.documentDaysMax) } ?? false
        }
    }

    func verdict(ofDevice policy: RestorePolicy, _ rules: ShareRules) -> Verdict {
        switch policy {
        case .keep: .refuse(.kept)
        case .transfer: .move(by: .device)
        case .transferIfInactive: isInUse ? .refuse(.inUse) : .move(by: .device)
        case .share: verdict(ofSharing: rules)
        }
    }

    /// What happens if the owner and the claimant are anonymous, under every policy.
    var verdictBesideAnonymous: Verdict {
        if isShareUndone { return .refuse(.decidedBySupport) }
        return sharers < ShareRules.anonymousMost ? .share : .refuse(.sharedWithMost)
    }

    private func verdict(ofSharing rules: ShareRules) -> Verdict {
        if isShareUndone { return .refuse(.decidedBySupport) }
        if sharers >= rules.most { return .refuse(.sharedWithMost) }
        return rules.accepts(documentOfAge: documentAge) ? .share : .refuse(.documentTooOld)
    }
}
