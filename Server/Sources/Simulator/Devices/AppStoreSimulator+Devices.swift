import AppStoreFormats

// What StoreKit shows on a device. Documents are signed again for each read.

/// A subscription as a device sees it.
package struct SignedStatus: Hashable, Sendable {
    package let originalTransactionID: String
    package let groupID: String
    package let status: SubscriptionStatus
    package let signedTransaction: String
    package let signedRenewalInfo: String
}

/// The result of restoring purchases on a device.
package struct RestoredPurchases: Hashable, Sendable {
    /// Every period of every subscription, and all other purchases except consumables.
    package let signedTransactions: [String]
    /// One renewal info for each subscription.
    package let signedRenewalInfos: [String]
}

extension AppStoreSimulator {
    /// The transactions of a device's account in their current state, oldest first.
    ///
    /// - Parameter last: the maximum number; only the newest are returned.
    package func transactions(on deviceID: String, last: Int = .max) throws -> [String] {
        let device = try world.device(deviceID)
        return try show(
            known(on: deviceID).shownTransactions(of: device.account), as: .transactions,
            on: device,
            last: last)
    }

    /// The ids of consumables that were finished and not refunded. `Transaction.all` of StoreKit
    /// leaves these consumables out, unless the app's Info.plist asks for them.
    func finishedConsumables(on deviceID: String) throws(SimulatorProblem) -> [String] {
        world.transactions(of: try world.device(deviceID).account).filter {
            $0.product.type == .consumable && $0.revocation == nil
                && world.finished.contains($0.id)
        }.map(\.id)
    }

    /// The transactions that grant access now. As in StoreKit, consumables are excluded.
    package func entitlements(on deviceID: String) throws -> [String] {
        let device = try world.device(deviceID)
        let now = clock.now
        if hidesEntitlements(on: deviceID) { return [] }
        let known = known(on: deviceID)
        let open = known.shownTransactions(of: device.account).filter {
            known.entitles($0, at: now)
        }
        return try show(open, as: .entitlements, on: device)
    }

    /// The statuses of a device's subscriptions, or of those in one group.
    package func statuses(on deviceID: String, group: String? = nil) throws -> [SignedStatus] {
        if isEmptyAfterLaunch(on: deviceID) { return [] }
        let all = stale(try presentStatuses(on: deviceID), on: deviceID)
        return group.map { group in all.filter { $0.groupID == group } } ?? all
    }

    private func presentStatuses(on deviceID: String) throws -> [SignedStatus] {
        let account = try world.device(deviceID).account
        let faults = drawFaults(.statuses, of: account, shows: [])
        if faults.contains(.emptyRead) { return [] }
        return try known(on: deviceID).chains(of: account).map {
            try show($0, on: deviceID, faults)
        }
    }

    /// What a device sends to a server after restoring purchases. Each call signs the documents
    /// again; with ``Quirk/restoreMakesTransaction`` the ids of non-consumables are new each time,
    /// too.
    package func restore(on deviceID: String) throws -> RestoredPurchases {
        let device = try world.device(deviceID)
        try record { world, now throws(SimulatorProblem) in world.restore(device.account, at: now) }
        let kept = world.shownTransactions(of: device.account).filter {
            $0.product.type != .consumable
        }
        return RestoredPurchases(
            signedTransactions: try show(kept, as: .transactions, on: device),
            signedRenewalInfos: try world.chains(of: device.account).map { chain in
                try authority.sign(renewalPayload(of: chain, on: deviceID))
            })
    }

    /// The signed app transaction of a device's account.
    package func appTransaction(on deviceID: String) throws -> String {
        let cache = phones[deviceID]?.cache
        let payload = try (cache?.world ?? world).appTransaction(
            of: world.device(deviceID).account, at: cache?.at ?? clock.now)
        return try authority.sign(bound(payload, to: deviceID))
    }

    package func storefront(of deviceID: String) throws(SimulatorProblem) -> Storefront {
        try world.device(deviceID).storefront
    }
}

extension World {
    func chains(of key: Account.Key) -> [Subscription] {
        let own = accounts[key]?.chains.values.sorted() ?? []
        let shared = accounts[key]?.sharedChains ?? []
        return (own + shared).compactMap { subscriptions[$0] }
    }

    func transactions(of key: Account.Key) -> [StoreTransaction] {
        let once = accounts[key]?.oneTimePurchases.compactMap { oneTimePurchases[$0] } ?? []
        let all = chains(of: key).flatMap(\.transactions) + once
        return all.sorted { ($0.purchased, $0.id) < ($1.purchased, $1.id) }
    }

    fileprivate func entitles(_ transaction: StoreTransaction, at now: AppStoreDate) -> Bool {
        if transaction.product.type == .consumable { return false }
        if transaction.covers(now) { return true }
        guard let subscription = subscriptions[transaction.originalID],
            case .grace = subscription.phase
        else { return false }
        return transaction.id == subscription.latest.id
    }
}
