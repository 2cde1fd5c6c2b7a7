import PerennialContract

/// A sample of each structure about documents and notifications, by the structure's name in the
/// OpenAPI document. Every member that may be null is null.
enum DocumentSamples {
    static func values(at now: Timestamp) -> [(String, any Encodable)] {
        [
            ("DocumentList", DocumentList(items: [], nextCursor: nil)),
            (
                "ListedDocument",
                DocumentList.Line(
                    documentID: "00", kind: "transaction", environment: .sandbox,
                    source: "device", signedAt: now, receivedAt: now, originalTransactionIDs: [])
            ),
            (
                "SignedDocument",
                SignedDocument(
                    documentID: "00", kind: "transaction", environment: .sandbox,
                    source: "device", signedAt: now, receivedAt: now, originalTransactionIDs: [],
                    payload: .members([:]), signed: "a.b.c")
            ),
            (
                "DocumentRefusal",
                SignedDocument.Refusal(code: .purchaseNotTrusted, title: "t")
            ),
            (
                "ConfigurationPreviewRequest", ConfigurationPreviewRequest(configuration: "apps:")
            ),
            (
                "ConfigurationPreview",
                ConfigurationPreview(
                    differences: [], customers: 0, complete: true, entitlements: [])
            ),
            (
                "AccessChange",
                ConfigurationPreview.Change(
                    entitlement: "e", environment: .sandbox, losing: 0, gaining: 0, losingIDs: [],
                    gainingIDs: [])
            ),
            ("NotificationList", NotificationList(items: [], nextCursor: nil)),
            (
                "ReceivedNotification",
                NotificationList.Line(
                    documentID: "00", type: "TEST", environment: .sandbox,
                    source: "notification", signedAt: now, receivedAt: now)
            ),
            (
                "NotificationSummary",
                NotificationSummary(
                    environment: .sandbox, from: now, until: now, complete: true, received: 0,
                    backfilled: 0, hours: [], repeated: 0, refused: 0)
            ),
            ("NotificationHour", NotificationSummary.Hour(from: now)),
            (
                "StoreInquiries",
                StoreInquiries(
                    environment: .sandbox, notifications: 0, backfilled: 0, complete: true,
                    configured: false, failures: 0, due: 0, next: [])
            ),
            (
                "StoreCheck",
                StoreInquiries.Check(originalTransactionID: "1", dueAt: now, failures: 0)
            ),
        ]
    }
}
