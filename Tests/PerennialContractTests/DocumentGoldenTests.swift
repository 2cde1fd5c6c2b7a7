import PerennialContract
import Testing

/// The server's responses about documents and notifications, compared with files that other
/// programs rely on.
@Suite struct DocumentGoldenTests {
    private static let noon = Timestamp(milliseconds: 1_795_694_400_000)
    private static let afterNoon = Timestamp(milliseconds: 1_795_694_401_250)
    private static let dayLater = Timestamp(milliseconds: 1_795_780_800_000)

    private func check<Value: Codable & Equatable>(_ value: Value, against name: String) throws {
        try GoldenTests.check(value, against: name)
    }

    @Test func `lists of documents are encoded as in the golden file`() throws {
        let notification = DocumentList.Line(
            documentID: "00ff", kind: "notification", environment: .production,
            source: "notification", signedAt: Self.noon, receivedAt: Self.afterNoon,
            originalTransactionIDs: ["2000001"])
        let receipt = DocumentList.Line(
            documentID: "0a0b", kind: "app_receipt", environment: .sandbox, source: "import",
            signedAt: Self.noon, receivedAt: Self.noon,
            originalTransactionIDs: ["2000001", "2000009"])
        try check(
            DocumentList(items: [notification, receipt], nextCursor: "c1"), against: "documents")
    }

    @Test func `a document is encoded as in the golden file`() throws {
        let document = SignedDocument(
            documentID: "00ff", kind: "notification", environment: .production,
            source: "notification", signedAt: Self.noon, receivedAt: Self.afterNoon,
            customerID: "anna", originalTransactionIDs: ["2000001"],
            payload: .members([
                "notificationType": .text("DID_RENEW"),
                "data": .members(["environment": .text("Production")]),
                "signedDate": .integer(1_795_694_400_000),
            ]), signed: "a.b.c")
        try check(document, against: "document")
    }

    @Test func `a receipt that is refused is encoded as in the golden file`() throws {
        let receipt = SignedDocument(
            documentID: "0a0b", kind: "app_receipt", environment: .sandbox, source: "import",
            signedAt: Self.noon, receivedAt: Self.noon, originalTransactionIDs: [],
            refusal: .init(code: .purchaseNotTrusted, title: "The purchase is not trusted."),
            signed: "MIIB")
        try check(receipt, against: "document-refused")
    }

    @Test func `lists of notifications are encoded as in the golden file`() throws {
        let grace = NotificationList.Line(
            documentID: "00ff", type: "DID_FAIL_TO_RENEW", subtype: "GRACE_PERIOD",
            environment: .production, source: "reconciliation", signedAt: Self.noon,
            receivedAt: Self.afterNoon, customerID: "anna", originalTransactionID: "2000001",
            forwardsAccepted: 1, forwardsWaiting: 2)
        let test = NotificationList.Line(
            documentID: "0a0b", type: "TEST", environment: .sandbox, source: "notification",
            signedAt: Self.noon, receivedAt: Self.noon)
        try check(
            NotificationList(items: [grace, test], nextCursor: nil), against: "notifications")
    }

    @Test func `the summary of notifications is encoded as in the golden file`() throws {
        let summary = NotificationSummary(
            environment: .production, from: Self.noon, until: Self.dayLater, complete: true,
            received: 41, backfilled: 2, medianDelayMilliseconds: 850,
            slowDelayMilliseconds: 61_000,
            hours: [
                .init(from: Self.noon, received: 40, backfilled: 2),
                .init(from: Timestamp(milliseconds: 1_795_698_000_000), received: 1),
            ], repeated: 3, refused: 1)
        try check(summary, against: "notifications-summary")
    }

    @Test func `inquiries to the App Store are encoded as in the golden file`() throws {
        let inquiries = StoreInquiries(
            environment: .production, notifications: 41, backfilled: 2,
            longestDelayMilliseconds: 61_000, complete: false,
            nextBackfillAt: Timestamp(milliseconds: 1_795_737_600_000), configured: true,
            respondedAt: Self.noon, failures: 1,
            pausedUntil: Timestamp(milliseconds: 1_795_694_430_000), due: 7,
            next: [
                .init(
                    originalTransactionID: "2000001",
                    dueAt: Timestamp(milliseconds: 1_795_694_415_000), askedAt: Self.noon,
                    failures: 2),
                .init(originalTransactionID: "2000009", dueAt: Self.dayLater, failures: 0),
            ])
        try check(inquiries, against: "notifications-asked")
    }
}
