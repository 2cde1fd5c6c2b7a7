extension V1Notification {
    /// The latest past moment in the notification: that of a purchase, a cancellation, or a change
    /// of the renewal status. Every copy of a notification has the same value. Nil if the
    /// notification contains no such moment.
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

    /// When the transactions had the state that the notification describes. For some types, the
    /// moment of the event says nothing about the transactions: Apple may send such a notification
    /// again two days later, without a refund that was made in between.
    package func rowsMoment(receivedAt: AppStoreDate) -> AppStoreDate {
        eventMoment.map { min($0, receivedAt) } ?? latestMoment.map { min($0, receivedAt) }
            ?? receivedAt
    }

    /// When the notification's content was true. Some types contain the moment of their event. A
    /// failed payment failed when the period ended. A notification of any other type was certainly
    /// written after all moments that it contains, so the latest of these moments counts. Apple may
    /// send the notification again for three days. Such a copy must not override newer information
    /// about those days.
    ///
    /// - Parameter receivedAt: the upper limit, because a notification reports only past events,
    ///   except a renewal that is charged early. Also the result for a notification without any
    ///   date.
    package func moment(receivedAt: AppStoreDate) -> AppStoreDate {
        // A renewal that was charged early begins after it was reported.
        if let ownMoment { return min(ownMoment, receivedAt) }
        guard let latestMoment, latestMoment < receivedAt else { return receivedAt }
        return AppStoreDate(milliseconds: latestMoment.milliseconds + 1)
    }

    /// Whether the notification contains the moment at which its content was true. Notifications
    /// about a change of product or about consent to a price do not.
    package var namesItsMoment: Bool { ownMoment != nil }

    private var ownMoment: AppStoreDate? { eventMoment ?? failedAt }

    /// When the payment that the notification reports failed: at the end of the subscription's last
    /// period, but not before any other moment in the notification. Apple may send the notification
    /// again for three days, with a new receipt. Such a copy still says that renewal is on,
    /// whatever the customer has done since.
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

    /// The part that is the same in every copy of a notification. This part identifies the
    /// notification, because Apple gives the notification no id, and creates new receipts for each
    /// delivery attempt. The secret is left out.
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
