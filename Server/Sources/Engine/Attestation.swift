import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// A document that was verified, as it will be kept, and the facts that it attests.
struct Attestation: Sendable {
    var document: StoredDocument
    var facts: [Fact]
    /// What was lacking where a part of it makes no fact. The document is kept all the same.
    var shortcomings: [IntakeFailure] = []

    /// What the App Store asks with it.
    var question: ConsumptionQuestion?
    /// That a purchase went on as another.
    var succession: Succession?

    var kept: AttestedDocument {
        var attested = AttestedDocument(document, facts)
        attested.question = question
        attested.succession = succession
        return attested
    }

    /// What has to be known of a document beside its bytes.
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
            take { () throws(IntakeFailure) in try Self.fact(transaction) }
            succession = Self.succession(transaction.payload)
        }
        if let renewal = contents.renewal {
            take { () throws(IntakeFailure) in
                try Intake.fact(
                    of: renewal.payload, in: contents.notification.payload,
                    signedAt: renewal.signedAt)
            }
        }
        if origin.app.consumption.policy != .never { question = Self.question(in: contents) }
    }

    private static func question(in contents: NotificationContents) -> ConsumptionQuestion? {
        let payload = contents.notification.payload
        guard payload.notificationType == .consumptionRequest,
            let transaction = contents.transaction, let id = transaction.payload.transactionId,
            let original = transaction.payload.originalTransactionId,
            let product = transaction.payload.productId
        else { return nil }
        return ConsumptionQuestion(
            purchase: PurchaseID(
                TransactionID(rawValue: original),
                in: transaction.environment == .production ? .production : .sandbox),
            transaction: TransactionID(rawValue: id), product: ProductID(rawValue: product),
            reason: payload.data?.consumptionRequestReason?.rawValue,
            askedAt: Instant(contents.notification.signedAt))
    }

    init(transaction: Verified<TransactionPayload>, _ bytes: [UInt8], from origin: Origin) {
        document = StoredDocument(
            bytes, kind: .transaction, transaction, origin)
        facts = []
        take { () throws(IntakeFailure) in try Self.fact(transaction) }
        succession = Self.succession(transaction.payload)
    }

    private static func succession(_ transaction: TransactionPayload) -> Succession? {
        Intake.succession(of: transaction).map { Succession(from: $0.from, to: $0.to) }
    }

    init(renewal: Verified<RenewalPayload>, _ bytes: [UInt8], from origin: Origin) {
        document = StoredDocument(
            bytes, kind: .renewal, renewal, origin)
        facts = []
        take { () throws(IntakeFailure) in try Self.fact(renewal) }
    }

    private static func fact(
        _ transaction: Verified<TransactionPayload>
    ) throws(IntakeFailure) -> Fact {
        try Intake.fact(of: transaction.payload, signedAt: transaction.signedAt)
    }

    private static func fact(_ renewal: Verified<RenewalPayload>) throws(IntakeFailure) -> Fact {
        try Intake.fact(of: renewal.payload, signedAt: renewal.signedAt)
    }

    /// An app receipt, a transaction receipt, and what else came before signed documents.
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

    mutating func take(_ fact: () throws(IntakeFailure) -> Fact) {
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
        _ origin: Attestation.Origin
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
        formerID = verified.digest.whole
    }

    /// Lets the document be known by the digest of a larger one that it stands in.
    mutating func know(by digest: DocumentDigest) { (id, formerID) = (digest.signed, digest.whole) }

    /// The document as it came; nil where what is stored is damaged. Older documents have the
    /// digest of the whole as their id.
    var bytes: [UInt8]? {
        let packed = PackedDocument(parts: parts, headers: headers.map(\.segment))
        guard let bytes = packed.unpacked, let digest = Self.digest(of: bytes, kind),
            digest.signed == id || digest.whole == id
        else { return nil }
        return bytes
    }

    private static func digest(of bytes: [UInt8], _ kind: Kind) -> DocumentDigest? {
        switch kind {
        case .notification, .transaction, .renewal: DocumentDigest(jws: bytes)
        case .appReceipt: DocumentDigest(appReceipt: bytes)
        case .transactionReceipt: DocumentDigest(transactionReceipt: bytes)
        case .notificationV1:
            (try? JSON(parsing: bytes)).map {
                DocumentDigest(unsigned: V1Notification.identity(of: $0))
            }
        case .receiptAnswer, .graceAnswer: DocumentDigest(unsigned: bytes)
        }
    }
}
