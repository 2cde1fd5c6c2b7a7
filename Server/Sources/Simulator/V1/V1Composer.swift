import AppStoreFormats

/// Composes the version 1 notifications of an event, from the world's current state.
///
/// The composer remembers whether each subscription renews, and since when, because version 1
/// notifications report when renewal was switched on or off.
struct V1Composer: Sendable {
    private struct Renewal: Sendable {
        var isOn: Bool
        var changed: AppStoreDate?
    }

    private var renewals: [String: Renewal] = [:]

    /// The version 1 notifications that correspond to a version 2 notification.
    mutating func messages(
        for notice: NotificationDraft, in world: World, by authority: ReceiptAuthority
    ) throws(SigningFailure) -> [V1Message] {
        guard let transaction = notice.transaction, let id = transaction.transactionId,
            let owner = world.owner(of: id), let product = world.product(of: transaction)
        else { return [] }
        let hasSwitched = notice.renewal.map { recordRenewalStatus($0, at: notice.at) } ?? false
        let translation = V1Translation(
            era: world.settings.v1Era, type: notice.type, subtype: notice.subtype,
            transaction: transaction, environment: notice.environment,
            previous: world.productBefore(transaction), product: product,
            hasRenewalSwitched: hasSwitched)
        let types = translation.types
        guard !types.isEmpty else { return [] }
        let draft = V1MessageBuilder(
            world: world, authority: authority, owner: owner, transaction: transaction,
            renewal: notice.renewal, now: notice.at)
        let changed = transaction.originalTransactionId.flatMap { renewals[$0]?.changed }
        var letters: [V1Message] = []
        for type in types { letters.append(try draft.message(type, renewalChanged: changed)) }
        return letters
    }

    /// Records whether a subscription renews. Returns true if that has changed.
    private mutating func recordRenewalStatus(_ renewal: RenewalPayload, at now: AppStoreDate)
        -> Bool
    {
        guard let id = renewal.originalTransactionId else { return false }
        let isOn = renewal.autoRenewStatus == .on
        let before = renewals[id]
        guard before?.isOn != isOn else { return false }
        renewals[id] = Renewal(isOn: isOn, changed: before == nil ? nil : now)
        return before != nil
    }
}

/// A version 1 notification to post. Its receipts are signed again for each attempt, because
/// Apple's receipts differ from attempt to attempt.
package struct V1Message: Sendable {
    package let type: V1NotificationType
    /// The notification with the receipts of the first attempt.
    package let notification: V1Notification
    let receipt: AppReceipt?
}

extension World {
    fileprivate func product(of transaction: TransactionPayload) -> StoreKitProduct? {
        transaction.productId.flatMap { try? product($0) }
    }

    /// The product of the previous transaction in the same chain.
    fileprivate func productBefore(_ transaction: TransactionPayload) -> StoreKitProduct? {
        guard let id = transaction.originalTransactionId,
            let transactions = subscriptions[id]?.transactions,
            let index = transactions.lastIndex(where: { $0.id == transaction.transactionId }),
            index > 0
        else { return nil }
        return transactions[index - 1].product
    }
}
