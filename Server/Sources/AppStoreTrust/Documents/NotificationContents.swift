import AppStoreFormats

/// A notification with the documents inside it, all verified.
package struct NotificationContents: Hashable, Sendable {
    package let notification: Verified<NotificationPayload>
    package let transaction: Verified<TransactionPayload>?
    /// The renewal info. Nil if the notification has no renewal info, or if the renewal info is
    /// about another chain of renewals than the notification's transaction. Renewal info names no
    /// bundle, so only the chain shows which app it is for. If Apple contradicts itself in this
    /// way, the rest of the notification must remain usable.
    package let renewal: Verified<RenewalPayload>?
    package let appTransaction: Verified<AppTransactionPayload>?
    /// Why this version cannot read some of the documents inside, and what was expected of each.
    /// These documents are genuine, because the notification is genuine.
    package let unread: [Refusal]
}

extension NotificationContents {
    /// The documents inside are also signed, but their signatures are not verified again: the
    /// documents are text within the notification's payload, so its signature covers every byte of
    /// them. The bundle and environment that they name are still compared.
    init(
        of notification: Verified<NotificationPayload>, for app: AppIdentity
    ) throws(Refusal) {
        let data = notification.payload.data
        var unread: [Refusal] = []
        let transaction: Verified<TransactionPayload>? = try notification.verifiedInner(
            data?.signedTransactionInfo, for: app, as: .transactionWithin, &unread)
        let renewal: Verified<RenewalPayload>? = try notification.verifiedInner(
            data?.signedRenewalInfo, for: app, as: .renewalWithin, &unread)
        let appTransaction: Verified<AppTransactionPayload>? = try notification.verifiedInner(
            notification.payload.appData?.signedAppTransactionInfo, for: app,
            as: .appTransactionWithin, &unread)
        self.init(
            notification: notification,
            transaction: transaction,
            renewal: renewal.flatMap { $0.matchesChain(transaction) ? $0 : nil },
            appTransaction: appTransaction, unread: unread)
    }
}

extension Verified<RenewalPayload> {
    fileprivate func matchesChain(_ transaction: Verified<TransactionPayload>?) -> Bool {
        guard let mine = payload.originalTransactionId,
            let other = transaction?.payload.originalTransactionId
        else { return true }
        return mine == other
    }
}

extension Verified<NotificationPayload> {
    /// Returns nil, and adds a refusal to the list, if the document is not in a form that this
    /// version knows. Throws if the document is for another app, or from another environment.
    fileprivate func verifiedInner<Inner: SignedPayload>(
        _ text: String?, for app: AppIdentity, as subject: Refusal.Subject,
        _ unread: inout [Refusal]
    ) throws(Refusal) -> Verified<Inner>? {
        guard let text else { return nil }
        var app = app
        app.environments = [environment]
        do throws(Refusal) {
            guard let bytes = try CompactJWS(reading: Array(text.utf8)).payload else {
                throw Refusal(.payloadUnreadable, expected: "base64url", found: "not base64url")
            }
            let payload = try Inner(reading: bytes)
            let environment = try payload.requireBinding(to: app)
            return Verified<Inner>(
                payload: payload, environment: environment,
                signedAt: payload.signatureDate ?? signedAt, digest: digest)
        } catch {
            var refusal = error
            refusal.subject = subject
            guard !refusal.reason.isAnotherApp else { throw refusal }
            unread.append(refusal)
            return nil
        }
    }
}
