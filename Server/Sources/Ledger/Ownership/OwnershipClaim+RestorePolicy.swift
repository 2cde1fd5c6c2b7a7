extension OwnershipClaim {
    /// What happens to a purchase of one customer when another customer presents it.
    package enum RestorePolicy: String, Hashable, Sendable, CaseIterable {
        /// The purchase stays with its first owner.
        case keep
        /// The purchase moves to the customer who presented it last.
        case transfer
        /// If the purchase no longer gives its owner access, it moves to the customer who presents
        /// it.
        case transferIfInactive = "transfer_if_inactive"
        /// The owner and the claimant both have the purchase.
        case share
    }

    /// Which customers get a share in a purchase.
    package struct ShareRules: Hashable, Sendable {
        /// The maximum number of persons who share one purchase under the policy
        /// ``RestorePolicy/share``, besides its owner. The same maximum applies to anonymous
        /// customers, who are counted separately.
        package var most: Int
        /// The maximum number of customers who have a purchase of an anonymous customer, besides
        /// that customer. These are the devices and installations of one store account.
        package var anonymousMost: Int

        package static let mostDefault = 5
        package static let anonymousMostDefault = 100
        /// The maximum age of a document, in days since its signature. An older document gives no
        /// share, and takes no purchase from an anonymous customer. The limit excludes a person who
        /// has only an old copy of a document. A device of the store account can always get a new
        /// document.
        package static let documentDaysMax = 30

        package init(most: Int = mostDefault, anonymousMost: Int = anonymousMostDefault) {
            self.most = most
            self.anonymousMost = anonymousMost
        }

        func accepts(documentOfAge age: Duration?) -> Bool {
            age.map { $0 <= .days(Self.documentDaysMax) } ?? false
        }
    }

    func verdict(ofDevice policy: RestorePolicy, _ rules: ShareRules) -> Verdict {
        switch policy {
        case .keep: .refuse(.kept)
        case .transfer: .move(by: .device)
        case .transferIfInactive: isInUse ? .refuse(.inUse) : .move(by: .device)
        case .share: verdict(ofSharingWithAtMost: rules.most, rules)
        }
    }

    /// What happens under every policy if the owner and the claimant are anonymous.
    func verdictBesideAnonymous(_ rules: ShareRules) -> Verdict {
        verdict(ofSharingWithAtMost: rules.anonymousMost, rules)
    }

    /// Whether the claimant gets a share. An anonymous customer is a device, and users give up
    /// devices without notice. So if all shares are taken, the share with the oldest document ends
    /// in favour of a newer document. Therefore copies of a document cannot exclude a device of the
    /// store account itself: such a device can always get a newer document.
    private func verdict(ofSharingWithAtMost most: Int, _ rules: ShareRules) -> Verdict {
        if isShareUndone { return .refuse(.decidedBySupport) }
        guard rules.accepts(documentOfAge: documentAge) else { return .refuse(.documentTooOld) }
        if sharers < most { return .share }
        if isClaimantAnonymous, let weakest = weakestShare, let age = documentAge,
            age < weakest.documentAge
        {
            return .shareInstead(of: weakest.customer)
        }
        return .refuse(.sharedWithMost)
    }
}
