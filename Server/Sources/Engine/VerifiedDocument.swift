import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// A document that has been verified, ready to be recorded, and the facts that it attests.
struct VerifiedDocument: Sendable {
    var document: StoredDocument
    var facts: [Fact]
    /// The fields that are missing, so that parts of the document give no facts. The document is
    /// recorded nevertheless.
    var shortcomings: [IntakeFailure] = []

    /// The App Store's inquiry about consumption in this document. Nil if the document contains no
    /// inquiry.
    var inquiry: ConsumptionInquiry?
    /// The claims on seats that the App Store has ended, according to this document. Nil if the
    /// document names none.
    var seatUnclaim: SeatUnclaim?
    /// The continuation of a purchase under another id. Nil if the document reports none.
    var succession: Succession?

    var documentWithFacts: DocumentWithFacts {
        var attested = DocumentWithFacts(document, facts)
        attested.consumptionInquiry = inquiry
        attested.seatUnclaim = seatUnclaim
        attested.succession = succession
        return attested
    }

    /// The values from which a stored document is made, in addition to its bytes.
    struct Origin: Sendable {
        var app: AppSettings
        var source: StoredDocument.Source
        var receivedAt: Instant
        var digests: HeaderDigests
    }

    init(notification contents: NotificationContents, _ bytes: [UInt8], from origin: Origin) {
        document = StoredDocument(
            bytes, kind: .notification, contents.notification, origin)
        facts = []
        if let transaction = contents.transaction {
            addFact { () throws(IntakeFailure) in try Self.fact(transaction) }
            succession = Self.succession(transaction.payload)
        }
        if let renewal = contents.renewal {
            addFact { () throws(IntakeFailure) in
                try Intake.fact(
                    of: renewal.payload, in: contents.notification.payload,
                    signedAt: renewal.signedAt)
            }
        }
        if origin.app.consumption.policy != .never { inquiry = Self.inquiry(in: contents) }
        addSeatUnclaim(in: contents.notification.payload, of: origin.app)
        shortcomings += contents.unread.map {
            IntakeFailure(field: $0.subject.rawValue, found: $0.sentence)
        }
        shortcomings += contents.notification.payload.unknownParts.map {
            IntakeFailure(field: $0, found: "a part of a notification that this version ignores")
        }
    }

    private static func inquiry(in contents: NotificationContents) -> ConsumptionInquiry? {
        let payload = contents.notification.payload
        guard payload.notificationType == .consumptionRequest,
            let transaction = contents.transaction, let id = transaction.payload.transactionId,
            let original = transaction.payload.originalTransactionId,
            let product = transaction.payload.productId
        else { return nil }
        return ConsumptionInquiry(
            purchase: PurchaseID(
                TransactionID(rawValue: original),
                in: transaction.environment == .production ? .production : .sandbox),
            transaction: TransactionID(rawValue: id), product: ProductID(rawValue: product),
            reason: payload.data?.consumptionRequestReason?.rawValue,
            askedAt: Instant(contents.notification.signedAt))
    }

    /// Adds the ids of ended claims that a notification names. The verifier has checked the app and
    /// the environment, if they are named.
    private mutating func addSeatUnclaim(in payload: NotificationPayload, of app: AppSettings) {
        guard payload.notificationType == .unclaimSeats, let info = payload.unclaimInfo,
            let named = info.unclaimSeatIds
        else { return }
        guard named.count <= SeatUnclaim.idsMax else {
            shortcomings.append(
                IntakeFailure(
                    field: "unclaimSeatIds", found: "more than \(SeatUnclaim.idsMax) ids"))
            return
        }
        let environment: Ledger.Environment? =
            switch info.environment {
            case .production?: .production
            case .sandbox?: .sandbox
            default: nil
            }
        seatUnclaim = SeatUnclaim(
            ids: named.map { StoreSeatID(rawValue: $0.lowercased()) },
            // Apple's number of the app is compared in production only.
            isBound: info.bundleId != nil
                || info.appAppleId != nil && app.appAppleID != nil && environment == .production,
            environment: environment)
    }

    init(transaction: Verified<TransactionPayload>, _ bytes: [UInt8], from origin: Origin) {
        document = StoredDocument(
            bytes, kind: .transaction, transaction, origin)
        facts = []
        addFact { () throws(IntakeFailure) in try Self.fact(transaction) }
        succession = Self.succession(transaction.payload)
    }

    private static func succession(_ transaction: TransactionPayload) -> Succession? {
        Intake.succession(of: transaction).map { Succession(from: $0.from, to: $0.to) }
    }

    init(renewal: Verified<RenewalPayload>, _ bytes: [UInt8], from origin: Origin) {
        document = StoredDocument(
            bytes, kind: .renewal, renewal, origin)
        facts = []
        addFact { () throws(IntakeFailure) in try Self.fact(renewal) }
    }

    init(appTransaction: Verified<AppTransactionPayload>, _ bytes: [UInt8], from origin: Origin) {
        document = StoredDocument(bytes, kind: .appTransaction, appTransaction, origin)
        facts = []
        addFact { () throws(IntakeFailure) in
            try Intake.fact(of: appTransaction.payload, signedAt: appTransaction.signedAt)
        }
    }

    private static func fact(
        _ transaction: Verified<TransactionPayload>
    ) throws(IntakeFailure) -> Fact {
        try Intake.fact(of: transaction.payload, signedAt: transaction.signedAt)
    }

    private static func fact(_ renewal: Verified<RenewalPayload>) throws(IntakeFailure) -> Fact {
        try Intake.fact(of: renewal.payload, signedAt: renewal.signedAt)
    }

    /// Creates a document from before StoreKit 2: an app receipt, a transaction receipt, and so on.
    init(
        kind: StoredDocument.Kind, _ verified: Verified<some Hashable & Sendable>, _ bytes: [UInt8],
        from origin: Origin, _ facts: () throws(IntakeFailure) -> LegacyFacts
    ) {
        document = StoredDocument(bytes, kind: kind, verified, origin)
        self.facts = []
        add(facts)
    }

    mutating func add(_ facts: () throws(IntakeFailure) -> LegacyFacts) {
        do {
            let found = try facts()
            self.facts += found.facts
            shortcomings += found.shortcomings
        } catch {
            shortcomings.append(error)
        }
    }

    mutating func addFact(_ fact: () throws(IntakeFailure) -> Fact) {
        do {
            facts.append(try fact())
        } catch {
            shortcomings.append(error)
        }
    }
}

extension StoredDocument {
    fileprivate init(
        _ bytes: [UInt8], kind: Kind, _ verified: Verified<some Hashable & Sendable>,
        _ origin: VerifiedDocument.Origin
    ) {
        let packed = PackedDocument(packing: bytes)
        self.init(
            app: origin.app.id, id: verified.digest.signed, kind: kind,
            environment: verified.environment == .production ? .production : .sandbox,
            source: origin.source, signedAt: Instant(verified.signedAt),
            receivedAt: origin.receivedAt, parts: packed.parts,
            headers: packed.headers.map {
                Header(digest: origin.digests.digest(of: $0), segment: $0)
            })
    }

    /// The original bytes of the document. Nil if the stored form is damaged.
    var bytes: [UInt8]? {
        let packed = PackedDocument(parts: parts, headers: headers.map(\.segment))
        guard let bytes = packed.unpacked, let digest = Self.digest(of: bytes, kind),
            digest.signed == id
        else { return nil }
        return bytes
    }

    private static func digest(of bytes: [UInt8], _ kind: Kind) -> DocumentDigest? {
        switch kind {
        case .notification, .transaction, .renewal, .appTransaction: DocumentDigest(jws: bytes)
        case .appReceipt: DocumentDigest(appReceipt: bytes)
        case .transactionReceipt: DocumentDigest(transactionReceipt: bytes)
        case .notificationV1:
            (try? JSON(parsing: bytes)).map {
                DocumentDigest(unsigned: V1Notification.identity(of: $0))
            }
        case .receiptResponse, .graceResponse: DocumentDigest(unsigned: bytes)
        }
    }
}
