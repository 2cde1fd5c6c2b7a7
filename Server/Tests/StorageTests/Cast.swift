import Ledger
import Storage

@testable import Engine

// The values that the tests of storage store.

let app: AppID = "birds"
let now = Instant(milliseconds: 1_700_000_000_000)
let purchase = PurchaseID("1000", in: .production)

func document(_ number: UInt8, signedAt: Instant = now) -> StoredDocument {
    StoredDocument(
        app: app, id: [UInt8](repeating: number, count: 32), kind: .notification,
        environment: .production, source: .notification, signedAt: signedAt, receivedAt: now,
        parts: [0, 3, number, 0, 255],
        headers: [
            StoredDocument.Header(digest: [UInt8](repeating: 200, count: 32), segment: [1, 2, 3])
        ])
}

func fact(
    _ transaction: TransactionID, about purchase: PurchaseID = purchase, attestedAt: Instant = now
) -> Fact {
    let payment = Payment(
        transaction: transaction, line: "l-\(transaction)", product: "pro.monthly", from: now,
        until: now + .days(30), terms: .offer, offer: Offer(.code, id: "spring"),
        commitment: Commitment(
            month: 3, months: 12, until: now + .days(300),
            price: Money(milliunits: 99_960, currency: "JPY")), quantity: 2,
        price: Money(milliunits: -1, currency: "JPY"), ownership: .familyShared, isRenewal: true,
        isUpgraded: true,
        revocation: Revocation(at: now + .days(2), kind: .sharingEnded, percentage: 50_000),
        accountToken: "token", group: "G", storefront: "DEU")
    return Fact(about: purchase, attestedAt: attestedAt, .payment(payment))
}

let renewal = Fact(
    about: purchase, attestedAt: now + .days(1),
    .renewal(
        Renewal(
            willRenew: true, renewsTo: "plus", isRetrying: true, graceUntil: now + .days(46),
            ending: .priceNotAgreed, renewsAt: now + .days(30),
            price: Money(milliunits: 4990, currency: "EUR"), offer: Offer(.winBack),
            commitmentRenews: false, priceRise: .waiting)))

extension Database {
    /// Records a document with its facts, as the engine does.
    func record(_ attested: DocumentWithFacts) async throws -> Bool {
        try await record(attested, by: DocumentRecorder.recorder)
    }

    /// Records several documents with their facts, as the engine does.
    func record(_ attested: [DocumentWithFacts]) async -> [Result<Bool, any Error>] {
        await record(attested, by: DocumentRecorder.recorder)
    }

    /// Stores a document that attests one payment, and projects its fact, as the engine does.
    func keep(_ number: UInt8, about purchase: PurchaseID = purchase) async throws {
        try await transaction { tx in
            let document = document(number)
            guard try tx.documents.insert(document) else { return }
            try DocumentRecorder(tx).project(
                [fact(TransactionID(rawValue: "t\(number)"), about: purchase)], from: document)
        }
    }

    func timeline() async throws -> Timeline? {
        try await read { try $0.purchases.timeline(of: purchase, in: app) }
    }
}
