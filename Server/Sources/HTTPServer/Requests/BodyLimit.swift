import Engine

/// The maximum size of one request's body, in bytes. ``BodyBudget`` limits all bodies in memory
/// together.
enum BodyLimit {
    static let purchases = PurchaseEvidence.bytesMax
    static let notification = RecordingService.notificationBytesMax
    static let verifyReceipt = LegacyService.verifyReceiptBytesMax
    /// The limit for an alias, a grant, a transfer, a block, a debit, or a manual credit.
    static let order = 16_384
    static let offer = 65_536
    /// The attributes of one customer.
    static let attributes = 262_144
    /// Events, diagnostics and attribution of RevenueCat's SDK, which are not stored.
    static let events = 1_048_576
    static let consumption = 65_536
    /// The limit for the text of a configuration, escaped as JSON or in a form.
    static let configuration = 3 * ConfigurationRoutes.bytesMax
}
