import AppStoreFormats

/// A kind of read from a device.
enum DeviceRead: Hashable, Sendable {
    case transactions
    case entitlements
    case statuses
    case purchase
    /// A read of the unfinished transactions, or the beginning of a stream of updates: StoreKit
    /// delivers unfinished transactions when an app starts.
    case unfinished
    /// Eligibility for the introductory offer.
    case eligibility
}

extension AppStoreSimulator {
    /// Signs an account's transactions as a device shows them, with the device's faults applied.
    func show(
        _ transactions: [StoreTransaction], as look: DeviceRead, on device: Device,
        last wished: Int = .max
    ) throws -> [String] {
        let account = device.account
        if isEmptyAfterLaunch(on: device.id) { return [] }
        let faults = drawFaults(look, of: account, shows: transactions)
        var shown = transactions
        if faults.contains(.listedInRetry) {
            shown += world.chains(of: account).filter(\.isInRetry).map(\.latest)
        }
        if faults.contains(.finishedAgain) {
            shown = finishedFirstTransactions(of: account, besides: shown) + shown
        }
        if faults.contains(.unlistedAfterPurchase) { shown.removeLast() }
        if faults.contains(.latestTwice), let last = shown.last { shown.append(last) }
        if faults.contains(.newestFirst) { shown.reverse() }
        if !faults.isDisjoint(with: [.emptyRead, .lapsedAtRenewal]) { shown = [] }
        shown = shown.suffix(wished)
        var documents = try shown.map { try sign($0, on: device.id) }
        if let last = shown.last, let spoiled = try sign(last, on: device.id, faults) {
            documents[documents.count - 1] = spoiled
        }
        return documents
    }

    /// A chain's status as a device shows it, with faults applied.
    func show(
        _ subscription: Subscription, on deviceID: String, _ faults: Set<DeviceFault>
    ) throws -> SignedStatus {
        var subscription = subscription
        var renewal = renewalPayload(of: subscription, on: deviceID)
        var status = subscription.status(at: clock.now)
        if status == .active, !faults.isDisjoint(with: [.expiredAtRenewal, .lapsedAtRenewal]) {
            status = .expired
            if faults.contains(.lapsedAtRenewal) {
                subscription.renews = false
                renewal = renewalPayload(of: subscription, on: deviceID)
            }
        }
        return SignedStatus(
            originalTransactionID: subscription.id, groupID: subscription.groupID, status: status,
            signedTransaction: try sign(subscription.latest, on: deviceID),
            signedRenewalInfo: try authority.sign(renewal))
    }

    /// A device's result of a purchase: the new transaction, or one that the device already had.
    func show(
        purchased transaction: StoreTransaction, on deviceID: String
    ) throws -> PurchasedTransaction {
        let held = world.transactions(of: transaction.account).last {
            let isOfOne = transaction.expires == nil
            let isSame =
                isOfOne
                ? $0.product.id == transaction.product.id
                : $0.originalID == transaction.originalID
            return isSame && $0.id != transaction.id && $0.purchased <= transaction.purchased
        }
        let faults = drawFaults(
            .purchase, of: transaction.account, shows: [held, transaction].compactMap { $0 })
        var answer = faults.contains(.heldTransaction) ? held ?? transaction : transaction
        if transaction.product.type == .nonRenewing, has(.returnsFirstNonRenewing, on: deviceID) {
            answer = first(of: transaction.product.id, transaction.account) ?? answer
        }
        return PurchasedTransaction(
            signedTransaction: try sign(answer, on: deviceID, faults) ?? sign(answer, on: deviceID),
            transactionID: answer.id,
            originalTransactionID: answer.originalID)
    }

    /// Eligibility for introductory offers as the device reports it, by subscription group. The
    /// first result is remembered so that a fault can return it again.
    func introductoryEligibility(on device: Device) -> [String: Bool] {
        let truth = world.introductoryEligibility(of: device.account)
        guard let first = firstEligibility[device.id] else {
            firstEligibility[device.id] = truth
            return truth
        }
        guard first != truth else { return truth }
        let faults = drawFaults(.eligibility, of: device.account, shows: [])
        return faults.contains(.stickyEligibility) ? first : truth
    }

    private func first(of productID: String, _ account: Account.Key) -> StoreTransaction? {
        world.transactions(of: account).first { $0.product.id == productID }
    }

    /// The first transaction of each chain, unless `shown` contains it.
    private func finishedFirstTransactions(
        of account: Account.Key, besides shown: [StoreTransaction]
    ) -> [StoreTransaction] {
        let ids = Set(shown.map(\.id))
        return world.chains(of: account).compactMap(\.transactions.first)
            .filter { !ids.contains($0.id) }
    }

    /// Draws the faults that affect one read from a device.
    func drawFaults(
        _ look: DeviceRead, of account: Account.Key, shows transactions: [StoreTransaction]
    ) -> Set<DeviceFault> {
        let chains = world.chains(of: account)
        let struck = setFaults { faults in
            faults.devices.draw { fault in
                fault.reads.contains(look)
                    && fault.canStrike(transactions, chains)
            }
        }
        for fault in struck {
            appendToLog(
                .fault, [("devices", .string(fault.rawValue)), ("account", .string(account.name))])
        }
        return Set(struck)
    }

    private func sign(_ transaction: StoreTransaction, on deviceID: String) throws -> String {
        try authority.sign(payload(of: transaction, on: deviceID))
    }

    /// A spoiled document, if one of the faults requires it; nil otherwise.
    private func sign(
        _ transaction: StoreTransaction, on deviceID: String, _ faults: Set<DeviceFault>
    ) throws -> String? {
        let spoilage = DeviceFault.allCases.filter(faults.contains).lazy.compactMap(\.defect)
            .first
        return try spoilage.map { spoilage in
            let payload = payload(of: transaction, on: deviceID).json
            return try authority.sign(payload, spoiled: spoilage)
        }
    }
}

extension DeviceFault {
    /// The reads that the fault affects.
    fileprivate var reads: Set<DeviceRead> {
        switch self {
        case .expiredAtRenewal: [.statuses]
        case .lapsedAtRenewal: [.statuses, .entitlements]
        case .unlistedAfterPurchase: [.transactions, .entitlements]
        case .emptyRead: [.transactions, .entitlements, .statuses]
        case .newestFirst, .latestTwice: [.transactions, .unfinished]
        case .listedInRetry: [.entitlements]
        case .heldTransaction: [.purchase]
        case .finishedAgain: [.unfinished]
        case .stickyEligibility: [.eligibility]
        case .forged, .truncated, .wrongApp, .wrongEnvironment:
            [.transactions, .entitlements, .purchase, .unfinished]
        }
    }

    fileprivate func canStrike(
        _ transactions: [StoreTransaction], _ chains: [Subscription]
    ) -> Bool {
        switch self {
        case .expiredAtRenewal, .lapsedAtRenewal: chains.contains { $0.phase == .active }
        case .listedInRetry: chains.contains(where: \.isInRetry)
        case .newestFirst, .heldTransaction: transactions.count > 1
        case .emptyRead: !transactions.isEmpty || !chains.isEmpty
        // This happens after renewals while the app was not running.
        case .finishedAgain:
            !transactions.isEmpty
                && chains.contains { chain in
                    !transactions.contains { $0.id == chain.transactions.first?.id }
                }
        // This fault is drawn only if the two results differ.
        case .stickyEligibility: true
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
