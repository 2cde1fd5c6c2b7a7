import AppStoreFormats

/// A notification with the documents inside it, all checked.
package struct NotificationContents: Hashable, Sendable {
    package let notification: Verified<NotificationPayload>
    package let transaction: Verified<TransactionPayload>?
    /// Nil also where it speaks of another chain of renewals than the transaction beside it. It
    /// names no bundle, so that chain is all that says whose it is; and a contradiction of Apple's
    /// own must not cost us the rest of the notification.
    package let renewal: Verified<RenewalPayload>?
    package let appTransaction: Verified<AppTransactionPayload>?
}

extension NotificationContents {
    /// The documents inside have signatures of their own, which are not checked again: they are
    /// text within the notification's payload, so its signature covers every byte of them. What
    /// they say of bundle and environment is compared all the same.
    init(
        of notification: Verified<NotificationPayload>, for app: AppIdentity
    ) throws(Refusal) {
        let data = notification.payload.data
        let transaction: Verified<TransactionPayload>? = try notification.inner(
            data?.signedTransactionInfo, for: app, as: .transactionWithin)
        let renewal: Verified<RenewalPayload>? = try notification.inner(
            data?.signedRenewalInfo, for: app, as: .renewalWithin)
        self.init(
            notification: notification,
            transaction: transaction,
            renewal: renewal.flatMap { $0.isBeside(transaction) ? $0 : nil },
            appTransaction: try notification.inner(
                notification.payload.appData?.signedAppTransactionInfo, for: app,
                as: .appTransactionWithin))
    }
}

extension Verified<RenewalPayload> {
    fileprivate func isBeside(_ transaction: Verified<TransactionPayload>?) -> Bool {
        guard let mine = payload.originalTransactionId,
            let other = transaction?.payload.originalTransactionId
        else { return true }
        return mine == other
    }
}

extension Verified<NotificationPayload> {
    fileprivate func inner<Inner: SignedPayload>(
        _ text: String?, for app: AppIdentity, as subject: Refusal.Subject
    ) throws(Refusal) -> Verified<Inner>? {
        guard let text else { return nil }
        var app = app
        app.environments = [environment]
        do throws(Refusal) {
            guard let bytes = try CompactJWS(reading: Array(text.utf8)).payload else {
                throw Refusal(.payloadUnreadable, expected: "base64url", found: "something else")
            }
            let payload = try Inner(reading: bytes)
            let environment = try payload.requireBinding(to: app)
            return Verified<Inner>(
                payload: payload, environment: environment,
                signedAt: payload.signatureDate ?? signedAt, digest: digest)
        } catch {
            var refusal = error
            refusal.subject = subject
            throw refusal
        }
    }
}
