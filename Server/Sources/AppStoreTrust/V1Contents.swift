import AppStoreFormats

/// A notification of version 1 that came with the app's secret, and the receipt within it.
package struct V1Contents: Hashable, Sendable {
    /// Signed by nobody: `signedAt` is when what it says was so.
    package let notification: Verified<V1Notification>
    /// When the newest thing was that it names, in every copy the same.
    package let latestMoment: AppStoreDate
    /// Nil where there is none that can be verified: it only says the same in other words.
    package let appReceipt: Verified<AppReceipt>?
    /// The same of before 2021.
    package let transactionReceipt: Verified<TransactionReceipt>?
}

/// What became of a notification of version 1.
package enum V1Outcome: Hashable, Sendable {
    case verified(V1Contents)
    case refused(Refusal)
}

extension Verifier {
    /// How it is known that a notification of version 1 is Apple's.
    package enum V1Proof: Sendable {
        /// It must hold this; nil where the app has no secret configured.
        case secret(AppSecret?)
        /// It was known when it was kept, since when the secret may have changed.
        case keptBefore
    }

    /// A notification of version 1. Refused without the app's secret, and where it names another
    /// app. What is within it, signed, is verified as if it had come alone.
    package func notification(
        v1 json: JSON, for app: AppIdentity, _ proof: V1Proof, at now: AppStoreDate
    ) async -> V1Outcome {
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
    ) async -> V1Contents {
        let appReceipt = await self.appReceipt(
            in: notification.unifiedReceipt?.latestReceipt, for: app, in: environment, at: now)
        let seenAt = appReceipt.map { min($0.signedAt, now) } ?? now
        let old = notification.latestReceipt ?? notification.latestExpiredReceipt
        return V1Contents(
            notification: Verified(
                payload: notification, environment: environment,
                signedAt: notification.moment(receivedAt: seenAt),
                digest: DocumentDigest(unsigned: V1Notification.identity(of: json))),
            latestMoment: notification.latestMoment ?? AppStoreDate(milliseconds: 0),
            appReceipt: appReceipt,
            transactionReceipt: await transactionReceipt(
                in: old, for: app, in: environment, at: now))
    }

    /// A receipt within another document, where it can be verified and is from the same store.
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

    /// The same of before 2021.
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
        case .keptBefore: return
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
    /// Itself, unless the notification is for another bundle. Those of 2019 and 2020 name none:
    /// then the secret decides alone.
    fileprivate func bound(to notification: V1Notification) throws(Refusal) -> AppIdentity {
        if let found = notification.claimedBundleID { try requireBundle(found) }
        return self
    }
}

extension V1Notification {
    /// The bundle that it names, at the top or in the transaction of before 2021.
    package var claimedBundleID: String? {
        bundleID ?? latest?.bundleID ?? latestExpired?.bundleID
    }

    /// It has one spelling at the top and another in the unified receipt.
    fileprivate var storeEnvironment: StoreEnvironment? {
        switch environment {
        case .production?: .production
        case .sandbox?: .sandbox
        case let other?: StoreEnvironment(rawValue: other.rawValue)
        case nil: unifiedReceipt?.environment
        }
    }
}
