import AppStoreFormats

/// A notification before it is signed: what the world reports as of one moment. Its documents are
/// built only when they are read, because in a large world most drafts are never read.
package struct NotificationDraft: Sendable {
    enum Content: Sendable {
        case purchase(Snapshot)
        case summary(NotificationSummary)
        case externalPurchaseToken(ExternalPurchaseToken)
        case app(AppTransactionPayload)
        case unclaim(UnclaimInfo)
        case test
    }

    /// The state of a purchase. This is a class, because drafts are passed on far more often than
    /// read.
    final class Snapshot: Sendable {
        let transaction: StoreTransaction
        /// The subscription with its latest transaction only. Nil if the purchase is not a
        /// subscription.
        let chain: Subscription?
        let consumptionReason: ConsumptionRequestReason?
        let documentContext: DocumentContext

        init(
            _ transaction: StoreTransaction, chain: Subscription?,
            _ consumptionReason: ConsumptionRequestReason?, _ letterhead: DocumentContext
        ) {
            self.transaction = transaction
            self.chain = chain
            self.consumptionReason = consumptionReason
            self.documentContext = letterhead
        }
    }

    package let uuid: String
    package let type: NotificationType
    package let subtype: NotificationSubtype?
    /// The account that the notification concerns. Nil if it concerns none.
    package let account: String?
    package let environment: SimulatedEnvironment
    package let at: AppStoreDate
    /// The row of the lifecycle table that the notification represents.
    package let row: LifecycleRow?
    let content: Content
    let status: SubscriptionStatus?
    /// When the first inner document is signed. The next document is signed one millisecond later,
    /// and the outer payload last.
    let firstSigned: AppStoreDate

    /// Maximum number of signatures that a notification needs.
    static let signaturesMax: Int64 = 3

    var signedDate: AppStoreDate { signed(Self.signaturesMax - 1) }

    /// The transaction inside. Nil if the notification contains none.
    var transaction: TransactionPayload? {
        guard case .purchase(let snapshot) = content else { return nil }
        return snapshot.transaction.payload(signed: firstSigned, snapshot.documentContext)
    }

    /// The renewal info inside. Nil if the notification is not about a subscription.
    var renewal: RenewalPayload? {
        guard case .purchase(let snapshot) = content,
            snapshot.transaction.ownership != .assigned
                || !snapshot.documentContext.settings.value.has(.membersHaveNoRenewalInfo)
        else { return nil }
        return snapshot.chain?.renewalPayload(signed: signed(1), snapshot.documentContext)
    }

    private func signed(_ place: Int64) -> AppStoreDate {
        AppStoreDate(milliseconds: firstSigned.milliseconds + place)
    }

    /// The compact JWS that Apple would post. The inner documents are signed first, then the outer
    /// payload.
    func signed(
        by authority: SigningAuthority, _ settings: SimulatorSettings
    ) throws(SigningFailure) -> String {
        try authority.sign(wireObject(signedBy: authority, settings))
    }

    /// The payload to sign, with the signed documents inside, and altered if a fault requires it.
    func payload(
        signedBy authority: SigningAuthority, _ settings: SimulatorSettings,
        altered alteration: Alteration = .none
    ) throws(SigningFailure) -> JSON {
        try wireObject(signedBy: authority, settings, altered: alteration).json
    }

    private func wireObject(
        signedBy authority: SigningAuthority, _ settings: SimulatorSettings,
        altered alteration: Alteration = .none
    ) throws(SigningFailure) -> NotificationPayload {
        var payload = NotificationPayload()
        payload.notificationType = type
        payload.subtype = subtype
        payload.notificationUUID = uuid
        payload.version = "2.0"
        payload.signedDate = signedDate
        switch content {
        case .purchase, .test: payload.data = try notificationData(settings, authority, alteration)
        case .summary(let summary): payload.summary = summary
        case .unclaim(let info): payload.unclaimInfo = info
        case .externalPurchaseToken(let token): payload.externalPurchaseToken = token
        case .app(let app):
            var part = NotificationAppData()
            part.appAppleId = appAppleID(settings)
            part.bundleId = settings.bundleID
            part.environment = environment.storeEnvironment
            part.signedAppTransactionInfo = try authority.sign(app)
            payload.appData = part
        }
        alteration.apply(to: &payload)
        return payload
    }

    private func notificationData(
        _ settings: SimulatorSettings, _ authority: SigningAuthority, _ alteration: Alteration
    ) throws(SigningFailure) -> NotificationData {
        var part = NotificationData()
        part.appAppleId = appAppleID(settings)
        part.bundleId = settings.bundleID
        part.environment = environment.storeEnvironment
        guard case .purchase(let snapshot) = content else { return part }
        part.bundleVersion = World.bundleVersion
        part.status = status
        part.consumptionRequestReason = snapshot.consumptionReason
        if var transaction {
            alteration.apply(to: &transaction)
            part.signedTransactionInfo = try authority.sign(transaction)
        }
        if var renewal {
            alteration.apply(to: &renewal)
            part.signedRenewalInfo = try authority.sign(renewal)
        }
        return part
    }

    /// The app's Apple id. Nil in the sandbox, whose documents omit it.
    private func appAppleID(_ settings: SimulatorSettings) -> Int64? {
        environment == .production ? settings.appAppleID : nil
    }
}

extension World {
    /// The version of the app that every device runs.
    static let bundleVersion = "1"

    /// Makes a notification about a subscription, with `transaction` or, by default, its latest
    /// transaction. If `row` is nil, it is derived from the chain.
    mutating func draft(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil,
        of subscription: Subscription, transaction: StoreTransaction? = nil,
        row: LifecycleRow? = nil, reason: ConsumptionRequestReason? = nil, at now: AppStoreDate
    ) -> NotificationDraft {
        let transaction = transaction ?? subscription.lastPaid ?? subscription.latest
        let reading = LifecycleRowClassifier(
            type: type, subtype: subtype, transaction: transaction, chain: subscription)
        let snapshot = NotificationDraft.Snapshot(
            transaction, chain: subscription.trimmed, reason,
            documentContext(of: subscription.account))
        return draft(
            type, subtype, about: .purchase(snapshot), of: subscription.account,
            chain: subscription.id, status: subscription.status(at: now),
            row: row ?? reading.row, at: now)
    }

    /// Makes a notification about a one-time purchase.
    mutating func draft(
        _ type: NotificationType, of transaction: StoreTransaction, row: LifecycleRow? = nil,
        reason: ConsumptionRequestReason? = nil, at now: AppStoreDate
    ) -> NotificationDraft {
        let reading = LifecycleRowClassifier(
            type: type, subtype: nil, transaction: transaction, chain: nil)
        let snapshot = NotificationDraft.Snapshot(
            transaction, chain: nil, reason, documentContext(of: transaction.account))
        return draft(
            type, nil, about: .purchase(snapshot), of: transaction.account,
            chain: transaction.originalID, status: nil, row: row ?? reading.row, at: now)
    }

    mutating func draft(
        _ type: NotificationType, _ subtype: NotificationSubtype?,
        about content: NotificationDraft.Content,
        of account: Account.Key, chain: String, status: SubscriptionStatus?, row: LifecycleRow?,
        at now: AppStoreDate
    ) -> NotificationDraft {
        countRow(row)
        return NotificationDraft(
            uuid: numbers.newUUID(), type: type, subtype: subtype, account: account.name,
            environment: account.environment, at: now, row: row, content: content, status: status,
            firstSigned: signingDates.reserve(
                NotificationDraft.signaturesMax, for: chain, at: now))
    }

    /// Makes a notification that is not about a purchase.
    mutating func draft(
        _ type: NotificationType, _ subtype: NotificationSubtype?,
        about content: NotificationDraft.Content,
        account: String? = nil, in environment: SimulatedEnvironment, row: LifecycleRow,
        at now: AppStoreDate
    ) -> NotificationDraft {
        countRow(row)
        return NotificationDraft(
            uuid: numbers.newUUID(), type: type, subtype: subtype, account: account,
            environment: environment, at: now, row: row, content: content, status: nil,
            firstSigned: now)
    }
}
