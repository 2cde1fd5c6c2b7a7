import AppStoreFormats

/// What the version 1 notifications about one event have in common.
struct V1MessageBuilder {
    let world: World
    let authority: ReceiptAuthority
    let owner: Account.Key
    let transaction: TransactionPayload
    /// The renewal info. Nil if the purchase is not a subscription.
    let renewal: RenewalPayload?
    let now: AppStoreDate

    /// When Apple deprecated version 1.
    private static let deprecated = AppStoreDate(milliseconds: 1_685_923_200_000)
    /// The time of the deprecation, as notifications have stated it since.
    private static let deprecation = "Mon, 05 Jun 2023 00:00:00 GMT"

    private var era: V1Era { world.settings.v1Era }
    private var isProduction: Bool { owner.environment == .production }

    func message(
        _ type: V1NotificationType, renewalChanged: AppStoreDate?
    ) throws(SigningFailure) -> V1Message {
        var notification = V1Notification()
        notification.notificationType = type
        notification.password = world.settings.sharedSecret
        notification.environment = isProduction ? .production : .sandbox
        if let renewal {
            notification.autoRenewProductID = renewal.autoRenewProductId
            notification.autoRenewStatus = renewal.autoRenewStatus == .on
        }
        if type == .didChangeRenewalStatus {
            notification.autoRenewStatusChanged = renewalChanged ?? now
        }
        if type == .cancel {
            notification.cancelled = cancelled?.revocationDate
            notification.webOrderLineItemID = cancelled?.webOrderLineItemId
        }
        if era.hasLatestTransaction { try writeLatest(into: &notification) }
        guard era.hasUnifiedReceipt else {
            return V1Message(type: type, notification: notification, receipt: nil)
        }
        let receipt = ReceiptBooks(world).receipt(of: owner, at: now)
        notification.unifiedReceipt = try unified(receipt)
        notification.bundleID = world.settings.bundleID
        notification.bundleVersion = World.bundleVersion
        if !era.hasLatestTransaction { writeNewer(into: &notification) }
        return V1Message(type: type, notification: notification, receipt: receipt)
    }

    /// The transaction that a cancellation is about: the refunded one, or the one that an upgrade
    /// replaced.
    private var cancelled: TransactionPayload? {
        if transaction.revocationDate != nil { return transaction }
        let chain = world.subscriptions[transaction.originalTransactionId ?? ""]
        let letterhead = world.documentContext(of: owner)
        return chain?.transactions.map {
            ReceiptBooks(world).legacyTransaction($0, letterhead, at: now).payload
        }.last { $0.revocationDate != nil }
    }

    /// Writes the latest transaction in the form used before iOS 7. If the transaction is over, its
    /// fields have other names.
    private func writeLatest(into notification: inout V1Notification) throws(SigningFailure) {
        let subject = notification.notificationType == .cancel ? cancelled : nil
        let receipt = LegacyTransaction(payload: subject ?? transaction).receipt(
            appAppleID: world.settings.appAppleID, device: ReceiptBooks(world).hardware(of: owner))
        let text = try authority.text(receipt, in: owner.environment)
        let isOver = receipt.expires.map { $0 <= now || receipt.cancelled != nil } ?? false
        if isOver {
            notification.latestExpired = receipt
            notification.latestExpiredReceipt = text
        } else {
            notification.latest = receipt
            notification.latestReceipt = text
        }
    }

    private func unified(_ receipt: AppReceipt) throws(SigningFailure) -> V1UnifiedReceipt {
        var unified = V1UnifiedReceipt()
        unified.status = .valid
        unified.environment = owner.environment.storeEnvironment
        let rows = ReceiptBooks(world).legacyTransactions(of: owner, at: now).map(\.row)
        unified.latestRows = Array(rows.reversed().prefix(V1UnifiedReceipt.rowsMax))
        unified.latestReceipt = try authority.text(receipt, digest: world.settings.receiptDigest)
        if renewal != nil {
            unified.renewals = ReceiptBooks(world).legacyRenewals(of: owner, at: now)
        }
        return unified
    }

    private func writeNewer(into notification: inout V1Notification) {
        if renewal != nil {
            notification.originalTransactionID = transaction.originalTransactionId.map {
                UnquotedNumber($0)
            }
        }
        if now >= Self.deprecated { notification.deprecation = Self.deprecation }
    }
}

extension V1Message {
    /// The body to post at a moment. From the second attempt on, it contains a new receipt, so that
    /// two copies differ, as at Apple.
    func body(
        attempt: Int, at now: AppStoreDate, by authority: ReceiptAuthority, digest: ReceiptDigest
    ) throws(SigningFailure) -> [UInt8] {
        guard attempt > 1, let receipt else { return notification.json.bytes }
        var copy = notification
        copy.unifiedReceipt?.latestReceipt = try authority.text(
            receipt.copied(attempt, at: now), digest: digest)
        return copy.json.bytes
    }
}

extension AppReceipt {
    private static let opaqueBytes = 54

    /// The receipt of another attempt, with a new creation date and opaque value, so that two
    /// copies made at the same moment differ, too.
    fileprivate func copied(_ attempt: Int, at now: AppStoreDate) -> AppReceipt {
        var copy = self
        let changed = [Field.created.rawValue, Field.opaque7.rawValue]
        copy.attributes.removeAll { changed.contains($0.number) }
        let noise = LegacyDevice.noise(
            "copy", UInt64(attempt), "\(now.milliseconds)", count: Self.opaqueBytes)
        copy.attributes += [
            .date(Field.created, now), ReceiptAttribute(Field.opaque7.rawValue, value: noise),
        ]
        return copy
    }
}
