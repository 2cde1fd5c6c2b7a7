import AppStoreFormats

// Converts older documents to the types of newer documents, so that oracles handle only one format.

extension ObservedDocument {
    /// All documents in a notification's body, of either version.
    static func documents(notification body: [UInt8]) -> [ObservedDocument] {
        if let letter = ObservedDocument(notification: body) { return [letter] }
        guard let notification = try? V1Notification(parsing: body),
            let type = notification.notificationType
        else { return [] }
        let unified = notification.unifiedReceipt
        let shown = [notification.latest, notification.latestExpired].compactMap(\.self)
        let moment = notification.latestMoment
        var letters = (unified?.latestRows ?? []).map {
            ObservedDocument(row: $0, in: type.rawValue, moment)
        }
        letters += shown.map { ObservedDocument(receipt: $0, in: type.rawValue, moment) }
        for renewal in unified?.renewals ?? [] {
            letters.append(ObservedDocument(renewal: renewal, in: type.rawValue, moment))
        }
        // Before responses had lists of renewals, they had a single renewal at the top level.
        if unified == nil, let isOn = notification.autoRenewStatus, let latest = shown.first {
            var renewal = VerifyReceiptRenewal()
            renewal.originalTransactionID = latest.originalTransactionID
            renewal.autoRenewStatus = isOn ? .on : .off
            renewal.expirationIntent = notification.expirationIntent
            letters.append(ObservedDocument(renewal: renewal, in: type.rawValue, moment))
        }
        return letters
    }

    /// All documents in a verifyReceipt response, in either style.
    static func documents(answer body: [UInt8]) -> [ObservedDocument] {
        if let answer = try? VerifyReceiptTransactionResponse(parsing: body),
            answer.receipt?.bundleID != nil
        {
            let shown = [answer.receipt, answer.latest, answer.latestExpired].compactMap(\.self)
            var renewal = VerifyReceiptRenewal()
            renewal.originalTransactionID =
                shown.last?.originalTransactionID ?? shown.last?.transactionID
            renewal.autoRenewStatus = answer.autoRenewStatus
            renewal.expirationIntent = answer.expirationIntent
            return shown.map { ObservedDocument(receipt: $0, in: "an answer", nil) }
                + (answer.autoRenewStatus == nil
                    ? [] : [ObservedDocument(renewal: renewal, in: "an answer", nil)])
        }
        guard let answer = try? VerifyReceiptResponse(parsing: body) else { return [] }
        let moment = answer.receipt?.requested
        let rows = (answer.receipt?.purchases ?? []) + (answer.latestRows ?? [])
        return rows.map { ObservedDocument(row: $0, in: "an answer", moment) }
            + (answer.renewals ?? []).map { ObservedDocument(renewal: $0, in: "an answer", moment) }
    }

    /// One purchase that a receipt, a response or a notification contains.
    init(row: VerifyReceiptRow, in words: String, _ moment: AppStoreDate?) {
        var transaction = TransactionPayload()
        transaction.transactionId = row.transactionID
        transaction.originalTransactionId = row.originalTransactionID ?? row.transactionID
        transaction.productId = row.productID
        transaction.purchaseDate = row.purchased
        transaction.expiresDate = row.expires
        transaction.revocationDate = row.cancelled
        transaction.isUpgraded = row.isUpgraded
        transaction.inAppOwnershipType = row.ownership
        transaction.signedDate = moment ?? row.purchased
        self.init(legacy: words, transaction: transaction)
    }

    init(receipt: TransactionReceipt, in words: String, _ moment: AppStoreDate?) {
        var transaction = TransactionPayload()
        transaction.transactionId = receipt.transactionID
        transaction.originalTransactionId = receipt.originalTransactionID ?? receipt.transactionID
        transaction.productId = receipt.productID
        transaction.purchaseDate = receipt.purchased
        transaction.expiresDate = receipt.expires
        transaction.revocationDate = receipt.cancelled
        transaction.signedDate = moment ?? receipt.purchased
        self.init(legacy: words, transaction: transaction)
    }

    init(renewal row: VerifyReceiptRenewal, in words: String, _ moment: AppStoreDate?) {
        var renewal = RenewalPayload()
        renewal.originalTransactionId = row.originalTransactionID
        renewal.autoRenewStatus = row.autoRenewStatus
        renewal.expirationIntent = row.expirationIntent
        renewal.gracePeriodExpiresDate = row.graceUntil
        renewal.signedDate = moment
        self.init(legacy: words, renewal: renewal)
    }
}
