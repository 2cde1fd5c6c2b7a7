import AppStoreFormats

/// What an app asks a device for.
enum DeviceLook: Hashable, Sendable {
    case transactions
    case entitlements
    case statuses
    case purchase
}

extension AppStoreSimulator {
    /// Shows an account's transactions as a device does: signed anew, and as its faults have it.
    func show(
        _ transactions: [StoreTransaction], as look: DeviceLook, of account: Account.Key
    ) throws -> [String] {
        let faults = strike(look, of: account, shows: transactions)
        var shown = transactions
        if faults.contains(.listedInRetry) {
            shown += world.chains(of: account).filter(\.isInRetry).map(\.latest)
        }
        if faults.contains(.unlistedAfterPurchase) { shown.removeLast() }
        if faults.contains(.latestTwice), let last = shown.last { shown.append(last) }
        if faults.contains(.newestFirst) { shown.reverse() }
        if !faults.isDisjoint(with: [.emptyRead, .lapsedAtRenewal]) { shown = [] }
        var documents = try shown.map { try sign($0) }
        if let last = shown.last, let spoiled = try sign(last, faults) {
            documents[documents.count - 1] = spoiled
        }
        return documents
    }

    /// The status of a chain as a device shows it.
    func show(
        _ subscription: Subscription, _ faults: Set<DeviceFault>
    ) throws -> SignedStatus {
        var subscription = subscription
        var renewal = world.renewalPayload(of: subscription, at: clock.now)
        var status = subscription.status
        if status == .active, !faults.isDisjoint(with: [.expiredAtRenewal, .lapsedAtRenewal]) {
            status = .expired
            if faults.contains(.lapsedAtRenewal) {
                subscription.renews = false
                renewal = world.renewalPayload(of: subscription, at: clock.now)
            }
        }
        return SignedStatus(
            originalTransactionID: subscription.id, status: status,
            signedTransaction: try sign(subscription.latest),
            signedRenewalInfo: try authority.sign(renewal))
    }

    /// What a device answers to a purchase: the transaction that was made, or one it held before.
    func show(purchased transaction: StoreTransaction) throws -> PurchaseAnswer {
        let held = world.subscriptions[transaction.originalID]?.transactions
            .last { $0.id != transaction.id && $0.purchased <= transaction.purchased }
        let faults = strike(
            .purchase, of: transaction.account, shows: [held, transaction].compactMap { $0 })
        let answer = faults.contains(.heldTransaction) ? held ?? transaction : transaction
        return PurchaseAnswer(
            signedTransaction: try sign(answer, faults) ?? sign(answer), transactionID: answer.id,
            originalTransactionID: answer.originalID)
    }

    /// The faults that strike one look at a device.
    func strike(
        _ look: DeviceLook, of account: Account.Key, shows transactions: [StoreTransaction]
    ) -> Set<DeviceFault> {
        let chains = world.chains(of: account)
        let struck = setFaults { faults in
            faults.devices.draw { fault in
                fault.looks.contains(look)
                    && fault.canStrike(transactions, chains)
            }
        }
        for fault in struck {
            note(
                "fault", [("devices", .string(fault.rawValue)), ("account", .string(account.name))])
        }
        return Set(struck)
    }

    private func sign(_ transaction: StoreTransaction) throws -> String {
        try authority.sign(world.payload(of: transaction, at: clock.now))
    }

    /// Spoiled, where one of the faults does that.
    private func sign(
        _ transaction: StoreTransaction, _ faults: Set<DeviceFault>
    ) throws -> String? {
        let spoilage = DeviceFault.allCases.filter(faults.contains).lazy.compactMap(\.spoilage)
            .first
        return try spoilage.map { spoilage in
            let payload = world.payload(of: transaction, at: clock.now).json
            return try authority.sign(payload, spoiled: spoilage)
        }
    }
}

extension DeviceFault {
    /// What it can be seen in.
    fileprivate var looks: Set<DeviceLook> {
        switch self {
        case .expiredAtRenewal: [.statuses]
        case .lapsedAtRenewal: [.statuses, .entitlements]
        case .unlistedAfterPurchase: [.transactions, .entitlements]
        case .emptyRead: [.transactions, .entitlements, .statuses]
        case .newestFirst, .latestTwice: [.transactions]
        case .listedInRetry: [.entitlements]
        case .heldTransaction: [.purchase]
        case .forged, .truncated, .wrongApp, .wrongEnvironment:
            [.transactions, .entitlements, .purchase]
        }
    }

    fileprivate func canStrike(
        _ transactions: [StoreTransaction], _ chains: [Subscription]
    ) -> Bool {
        switch self {
        case .expiredAtRenewal, .lapsedAtRenewal: chains.contains { $0.status == .active }
        case .listedInRetry: chains.contains(where: \.isInRetry)
        case .newestFirst, .heldTransaction: transactions.count > 1
        case .emptyRead: !transactions.isEmpty || !chains.isEmpty
        case .unlistedAfterPurchase, .latestTwice, .forged, .truncated, .wrongApp,
            .wrongEnvironment:
            !transactions.isEmpty
        }
    }
}

extension Subscription {
    fileprivate var isInRetry: Bool {
        if case .retry = phase { true } else { false }
    }
}
