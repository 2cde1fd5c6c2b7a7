import AppStoreFormats

/// A notification before it is signed: what the world has to say, as it stood at that moment.
package struct Notice: Sendable {
    package let uuid: String
    package let type: NotificationType
    package let subtype: NotificationSubtype?
    package let account: String
    package let environment: SimulatedEnvironment
    package let at: AppStoreDate
    /// None in a test.
    let transaction: TransactionPayload?
    let renewal: RenewalPayload?
    let status: SubscriptionStatus?
    let signedDate: AppStoreDate

    /// The compact JWS that Apple would post. Its parts are signed first, then the whole.
    func signed(
        by authority: SigningAuthority, _ settings: SimulatorSettings
    ) throws(SigningFailure) -> String {
        try authority.sign(payload(signedBy: authority, settings))
    }

    /// What is to be signed, with the signed documents inside; as a fault alters it.
    func payload(
        signedBy authority: SigningAuthority, _ settings: SimulatorSettings,
        altered alteration: Alteration = .none
    ) throws(SigningFailure) -> JSON {
        var content = NotificationData()
        content.appAppleId = environment == .production ? settings.appAppleID : nil
        content.bundleId = settings.bundleID
        content.bundleVersion = World.bundleVersion
        content.environment = environment.storeEnvironment
        if var transaction {
            alteration.apply(to: &transaction)
            content.signedTransactionInfo = try authority.sign(transaction.json)
        }
        if var renewal {
            alteration.apply(to: &renewal)
            content.signedRenewalInfo = try authority.sign(renewal.json)
        }
        content.status = status
        var payload = NotificationPayload()
        payload.notificationType = type
        payload.subtype = subtype
        payload.notificationUUID = uuid
        payload.version = "2.0"
        payload.signedDate = signedDate
        payload.data = content
        alteration.apply(to: &payload)
        return payload.json
    }
}

extension World {
    /// The version of the app that every device runs.
    static let bundleVersion = "1"

    /// A notification about a subscription; with its latest transaction, unless it is about
    /// another.
    mutating func notice(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil,
        of subscription: Subscription, transaction: StoreTransaction? = nil, at now: AppStoreDate
    ) -> Notice {
        let signed = payload(of: transaction ?? subscription.latest, at: now)
        let renewal = renewalPayload(of: subscription, at: now)
        return notice(
            type, subtype, subscription.account, signed, renewal, subscription.status, at: now)
    }

    /// A notification about what is no subscription.
    mutating func notice(
        _ type: NotificationType, of transaction: StoreTransaction, at now: AppStoreDate
    ) -> Notice {
        let signed = payload(of: transaction, at: now)
        return notice(type, nil, transaction.account, signed, nil, nil, at: now)
    }

    /// A notification about nothing, to try the way.
    mutating func testNotice(in environment: SimulatedEnvironment, at now: AppStoreDate) -> Notice {
        let nobody = Account.Key(name: "", environment: environment)
        return notice(.test, nil, nobody, nil, nil, nil, at: now)
    }

    private mutating func notice(
        _ type: NotificationType, _ subtype: NotificationSubtype?, _ account: Account.Key,
        _ transaction: TransactionPayload?, _ renewal: RenewalPayload?,
        _ status: SubscriptionStatus?, at now: AppStoreDate
    ) -> Notice {
        Notice(
            uuid: newUUID(), type: type, subtype: subtype, account: account.name,
            environment: account.environment, at: now, transaction: transaction, renewal: renewal,
            status: status, signedDate: signatureDate(at: now))
    }
}
