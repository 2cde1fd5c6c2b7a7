extension V1Notification {
    /// The latest moment that it names as past: of a purchase, a cancellation, or the switch of
    /// renewal. It is the same in every copy of a notification. Nil where it names none.
    package var latestMoment: AppStoreDate? {
        let shown = [latest, latestExpired].compactMap { $0 }
        let rows = unifiedReceipt?.latestRows ?? []
        let moments =
            [cancelled, autoRenewStatusChanged] + shown.flatMap { [$0.purchased, $0.cancelled] }
            + rows.flatMap { [$0.purchased, $0.cancelled] }
        return moments.compactMap { $0 }.max()
    }

    private var latestPurchase: AppStoreDate? {
        let shown = [latest, latestExpired].compactMap { $0?.purchased }
        return (shown + (unifiedReceipt?.latestRows ?? []).compactMap(\.purchased)).max()
    }

    /// When the transactions that it shows stood so. The event of some types has nothing to do with
    /// them: these may be tried again two days later, and then show no refund of meanwhile.
    package func rowsMoment(receivedAt: AppStoreDate) -> AppStoreDate {
        eventMoment.map { min($0, receivedAt) } ?? latestMoment.map { min($0, receivedAt) }
            ?? receivedAt
    }

    /// When what it says was so. Some types name the moment of their event, and a payment that
    /// failed did so when the period ended. Of others no more is known than that they come after
    /// all that they show, so that is when they count: they may be tried again for three days, and
    /// are not to override what has been said of a day within these.
    ///
    /// - Parameter receivedAt: no notification tells of what comes later, but a renewal that is
    ///   charged ahead. It is the moment of one that shows nothing.
    package func moment(receivedAt: AppStoreDate) -> AppStoreDate {
        // A renewal that was charged ahead begins later than it was told.
        if let ownMoment { return min(ownMoment, receivedAt) }
        guard let latestMoment, latestMoment < receivedAt else { return receivedAt }
        return AppStoreDate(milliseconds: latestMoment.milliseconds + 1)
    }

    /// Whether it says when what it tells was so: not of a switch of product, and not of a consent.
    package var namesItsMoment: Bool { ownMoment != nil }

    private var ownMoment: AppStoreDate? { eventMoment ?? failedAt }

    /// When the payment failed of which it tells: at the end of the subscription's last period, but
    /// not before what else it names. It may be tried again for three days, with a receipt made
    /// anew, and then still says that renewal is on, whatever the customer has done meanwhile.
    private var failedAt: AppStoreDate? {
        guard notificationType == .didFailToRenew else { return nil }
        let shown = [latest, latestExpired].compactMap { $0 }
        let original = originalTransactionID?.text ?? shown.first?.originalTransactionID
        let rows = (unifiedReceipt?.latestRows ?? []).filter {
            original == nil || $0.originalTransactionID == original
        }
        let ends = (shown.map(\.expires) + rows.map(\.expires)).compactMap { $0 }
        return ends.max().map { end in max(end, latestMoment ?? end) }
    }

    private var eventMoment: AppStoreDate? {
        switch notificationType {
        case .didChangeRenewalStatus?: autoRenewStatusChanged
        case .cancel?, .refund?, .revoke?: cancelled ?? latestMoment
        case .initialBuy?, .didRenew?, .interactiveRenewal?, .didRecover?, .renewal?:
            latestPurchase
        default: nil
        }
    }

    /// What is the same in every copy of a notification: Apple makes receipts anew for each attempt
    /// to deliver it, and gives it no id. The secret is no part of it.
    package static func identity(of json: JSON) -> [UInt8] {
        let changing: Set = ["password", "latest_receipt", "latest_expired_receipt"]
        func plain(_ json: JSON) -> JSON {
            switch json {
            case .object(let members):
                let kept = members.filter { !changing.contains($0.key) }
                    .map { JSON.Member($0.key, plain($0.value)) }
                return .object(kept.sorted { $0.key < $1.key })
            case .array(let values): return .array(values.map(plain))
            default: return json
            }
        }
        return plain(json).bytes
    }
}
