import AppStoreFormats

/// A version 1 notification that came with the app's secret, and the receipt within it.
package struct V1NotificationContents: Hashable, Sendable {
    /// The notification. It is not signed; its `signedAt` is the time at which its content was
    /// true.
    package let notification: Verified<V1Notification>
    /// The latest moment that the notification names. It is the same in every copy of the
    /// notification.
    package let latestMoment: AppStoreDate
    /// The app receipt in the notification; nil if it has none that can be verified. The receipt
    /// only repeats the notification's content.
    package let appReceipt: Verified<AppReceipt>?
    /// The transaction receipt in a notification from before 2021; nil if it has none that can be
    /// verified.
    package let transactionReceipt: Verified<TransactionReceipt>?
}

/// The result of checking a version 1 notification.
package enum V1NotificationOutcome: Hashable, Sendable {
    case verified(V1NotificationContents)
    case refused(Refusal)
}

extension Verifier {
    /// How a version 1 notification is recognized as one from Apple.
    package enum V1Proof: Sendable {
        /// The notification must contain this secret. Nil if the app has no secret configured.
        case secret(AppSecret?)
        /// The notification was verified when it was stored. The secret may have changed since.
        case previouslyVerified
    }

    /// Checks a version 1 notification. Refuses a notification that lacks the app's secret or names
    /// another app. Signed documents within it are verified as if they had been received
    /// separately.
    package func notification(
        v1 json: JSON, for app: AppIdentity, _ proof: V1Proof, at now: AppStoreDate
    ) async -> V1NotificationOutcome {
        do throws(Refusal) {
            guard let notification = V1Notification(json: json) else {
                throw Refusal(.payloadUnreadable, expected: "a JSON object", found: "another value")
            }
            try proof.require(in: notification)
            let environment = try app.requireEnvironment(notification.storeEnvironment)
            return .verified(
                await contents(
                    of: notification, json, for: try app.bound(to: notification),
                    in: environment, at: now))
        } catch {
            var refusal = error
            refusal.subject = .notification
            return .refused(refusal)
        }
    }

    private func contents(
        of notification: V1Notification, _ json: JSON, for app: AppIdentity,
        in environment: StoreEnvironment, at now: AppStoreDate
    ) async -> V1NotificationContents {
        let appReceipt = await self.appReceipt(
            in: notification.unifiedReceipt?.latestReceipt, for: app, in: environment, at: now)
        let seenAt = appReceipt.map { min($0.signedAt, now) } ?? now
        let old = notification.latestReceipt ?? notification.latestExpiredReceipt
        return V1NotificationContents(
            notification: Verified(
                payload: notification, environment: environment,
                signedAt: notification.moment(receivedAt: seenAt),
                digest: DocumentDigest(unsigned: V1Notification.identity(of: json))),
            latestMoment: notification.latestMoment ?? AppStoreDate(milliseconds: 0),
            appReceipt: appReceipt,
            transactionReceipt: await transactionReceipt(
                in: old, for: app, in: environment, at: now))
    }

    /// Verifies an app receipt within another document. Returns nil if it cannot be verified or is
    /// from another environment.
    func appReceipt(
        in text: String?, for app: AppIdentity, in environment: StoreEnvironment,
        at now: AppStoreDate
    ) async -> Verified<AppReceipt>? {
        guard let file = text.flatMap(ReceiptText.bytes) else { return nil }
        var app = app
        app.environments = [environment]
        guard case .verified(let receipt) = await receipt(file, for: app, at: now) else {
            return nil
        }
        return receipt
    }

    /// Verifies a transaction receipt within a document from before 2021. Returns nil if it cannot
    /// be verified or is from another environment.
    func transactionReceipt(
        in text: String?, for app: AppIdentity, in environment: StoreEnvironment,
        at now: AppStoreDate
    ) async -> Verified<TransactionReceipt>? {
        guard let file = text.flatMap(ReceiptText.bytes) else { return nil }
        var app = app
        app.environments = [environment]
        let outcome = await transactionReceipt(file, for: app, at: now)
        guard case .verified(let receipt) = outcome else { return nil }
        return receipt
    }
}

extension Verifier.V1Proof {
    fileprivate func require(in notification: V1Notification) throws(Refusal) {
        switch self {
        case .previouslyVerified: return
        case .secret(nil):
            throw Refusal(
                .wrongSecret, expected: "the app's shared secret, which is not configured here",
                found: "a password that cannot be compared")
        case .secret(let secret?):
            guard let password = notification.password, secret.matches(password) else {
                throw Refusal(
                    .wrongSecret, expected: "the app's shared secret",
                    found: notification.password == nil ? "no password" : "another password")
            }
        }
    }
}

extension AppIdentity {
    /// Returns this identity, and throws if the notification is for another bundle. Notifications
    /// of 2019 and 2020 name no bundle: then only the secret decides.
    fileprivate func bound(to notification: V1Notification) throws(Refusal) -> AppIdentity {
        if let found = notification.claimedBundleID { try requireBundle(found) }
        return self
    }
}

extension V1Notification {
    /// The bundle that the notification names, at the top level or in the transaction (before
    /// 2021).
    package var claimedBundleID: String? {
        bundleID ?? latest?.bundleID ?? latestExpired?.bundleID
    }

    /// The environment, which is spelled one way at the top level and another way in the unified
    /// receipt.
    fileprivate var storeEnvironment: StoreEnvironment? {
        switch environment {
        case .production?: .production
        case .sandbox?: .sandbox
        case let other?: StoreEnvironment(rawValue: other.rawValue)
        case nil: unifiedReceipt?.environment
        }
    }
}
