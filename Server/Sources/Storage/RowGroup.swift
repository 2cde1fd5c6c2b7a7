import Ledger

/// One group of tables within a transaction. For example, `tx.webhooks.all(of: app)` reads all
/// webhooks of an app.
package protocol RowGroup {
    var tx: DatabaseSession { get }
}

extension RowGroup {
    var connection: any Connection { tx.connection }
    var rules: DatabaseRules { tx.rules }
    var author: EventAuthor? { tx.author }
    var checkRules: CheckRules { tx.checkRules }
    var dialect: Dialect { tx.dialect }
}

// The groups, by name.
extension DatabaseSession {
    package var accountTokens: AccountTokenRows { AccountTokenRows(tx: self) }
    package var alerts: AlertRows { AlertRows(tx: self) }
    package var appStore: AppStoreRows { AppStoreRows(tx: self) }
    package var appleReports: AppleReportRows { AppleReportRows(tx: self) }
    package var attributes: AttributeRows { AttributeRows(tx: self) }
    package var audit: AuditRows { AuditRows(tx: self) }
    package var bookings: BookingRows { BookingRows(tx: self) }
    package var checks: CheckRows { CheckRows(tx: self) }
    package var cohorts: CohortRows { CohortRows(tx: self) }
    package var consents: ConsentRows { ConsentRows(tx: self) }
    package var consistency: Consistency { Consistency(tx: self) }
    package var customers: CustomerRows { CustomerRows(tx: self) }
    package var deliveries: WebhookDeliveryRows { WebhookDeliveryRows(tx: self) }
    package var documents: DocumentRows { DocumentRows(tx: self) }
    package var erasedIDs: ErasedIDRows { ErasedIDRows(tx: self) }
    package var events: EventLog { EventLog(tx: self) }
    package var facts: FactRows { FactRows(tx: self) }
    package var forwards: ForwardRows { ForwardRows(tx: self) }
    package var grants: GrantRows { GrantRows(tx: self) }
    package var identities: OperatorIdentityRows { OperatorIdentityRows(tx: self) }
    package var imports: ImportRows { ImportRows(tx: self) }
    package var inquiries: ConsumptionInquiryRows { ConsumptionInquiryRows(tx: self) }
    package var keys: KeyRows { KeyRows(tx: self) }
    package var links: LinkRows { LinkRows(tx: self) }
    package var measurements: MeasurementRows { MeasurementRows(tx: self) }
    package var money: MoneyRows { MoneyRows(tx: self) }
    package var movements: MovementRows { MovementRows(tx: self) }
    package var operatorLinks: OperatorLinkRows { OperatorLinkRows(tx: self) }
    package var operators: OperatorRows { OperatorRows(tx: self) }
    package var passkeys: OperatorPasskeyRows { OperatorPasskeyRows(tx: self) }
    package var pendingEvents: PendingEventRows { PendingEventRows(tx: self) }
    package var purchases: PurchaseRows { PurchaseRows(tx: self) }
    package var queues: QueueRows { QueueRows(tx: self) }
    package var rebuild: Rebuild { Rebuild(tx: self) }
    package var recoveryCodes: RecoveryCodeRows { RecoveryCodeRows(tx: self) }
    package var rehearsals: RehearsalRows { RehearsalRows(tx: self) }
    package var reminders: ReminderRows { ReminderRows(tx: self) }
    package var reportSources: ReportSourceRows { ReportSourceRows(tx: self) }
    package var retention: RetentionRows { RetentionRows(tx: self) }
    package var sales: SaleRows { SaleRows(tx: self) }
    package var seatClaims: SeatClaimRows { SeatClaimRows(tx: self) }
    package var seatGroups: SeatGroupRows { SeatGroupRows(tx: self) }
    package var seatInvitations: SeatInvitationRows { SeatInvitationRows(tx: self) }
    package var seatReports: SeatReportRows { SeatReportRows(tx: self) }
    package var seatUnclaims: SeatUnclaimRows { SeatUnclaimRows(tx: self) }
    package var secrets: SecretRows { SecretRows(tx: self) }
    package var sessions: OperatorSessionRows { OperatorSessionRows(tx: self) }
    package var shares: ShareRows { ShareRows(tx: self) }
    package var shown: ShownRows { ShownRows(tx: self) }
    package var signIns: SignInRows { SignInRows(tx: self) }
    package var sums: SumRows { SumRows(tx: self) }
    package var tokenKeys: TokenKeyRows { TokenKeyRows(tx: self) }
    package var transfers: TransferRows { TransferRows(tx: self) }
    package var wallets: WalletRows { WalletRows(tx: self) }
    package var webhooks: WebhookRows { WebhookRows(tx: self) }
    package var writeProbes: WriteProbeRows { WriteProbeRows(tx: self) }
}
