import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// A device's purchases, as the App Store signed them.
package struct PurchaseEvidence: Hashable, Sendable {
    /// Compact JWS.
    package var signedTransactions: [String]
    /// Compact JWS. Each needs a transaction of the same purchase, in this request or recorded
    /// before.
    package var signedRenewalInfos: [String]
    /// The app receipt file, in Base64.
    package var appReceipt: String?
    /// A single-transaction receipt of an app from before iOS 7, in Base64.
    package var transactionReceipt: String?
    /// The device that ``appReceipt`` must be issued for: a UUID, or the network address of a Mac.
    package var deviceGUID: String?
    /// Compact JWS: the app transaction of the device's store account.
    package var signedAppTransaction: String?

    /// The maximum number of documents in one request.
    package static let documentsMax = 200

    package init(
        signedTransactions: [String] = [], signedRenewalInfos: [String] = [],
        appReceipt: String? = nil, transactionReceipt: String? = nil, deviceGUID: String? = nil,
        signedAppTransaction: String? = nil
    ) {
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.appReceipt = appReceipt
        self.transactionReceipt = transactionReceipt
        self.deviceGUID = deviceGUID
        self.signedAppTransaction = signedAppTransaction
    }

    var holdsReceipt: Bool { appReceipt != nil || transactionReceipt != nil }

    package var isEmpty: Bool {
        signedTransactions.isEmpty && signedRenewalInfos.isEmpty && appReceipt == nil
            && transactionReceipt == nil && signedAppTransaction == nil
    }
}

extension Engine {
    /// Records a device's purchases and links those that have no owner to the customer. Returns the
    /// customer in the environment of the first document. Idempotent.
    ///
    /// All documents are verified before any is recorded: if one is rejected, the request fails and
    /// changes nothing. If a purchase belongs to another customer, the app's restore policy
    /// decides. If it stays with the other customer, what the documents attest is recorded all the
    /// same.
    package func record(
        _ evidence: PurchaseEvidence, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> CustomerState {
        let (app, verifier) = try app(appID)
        try id.requireValid()
        guard !evidence.isEmpty else { throw .unreadable("The request contains no purchase.") }
        try evidence.requireWithinLimit()
        let origin = VerifiedDocument.Origin(
            app: app, source: .device, receivedAt: now(), digests: digests)
        let attestations = try await verify(evidence, verifier, origin)
        for attestation in attestations { logUnmappedProducts(of: attestation) }
        let state = try await record(attestations, of: id, app: app, at: origin.receivedAt)
        counters.purchasesPosted.add()
        return state
    }

    func verify(
        _ evidence: PurchaseEvidence, _ verifier: Verifier, _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> [VerifiedDocument] {
        var attestations: [VerifiedDocument] = []
        for jws in evidence.signedTransactions {
            attestations.append(
                try await verify(transaction: Array(jws.utf8), verifier, origin).complete)
        }
        for jws in evidence.signedRenewalInfos {
            attestations.append(
                try await verify(renewal: Array(jws.utf8), verifier, origin).complete)
        }
        if evidence.holdsReceipt { try origin.app.requireLegacy() }
        if let text = evidence.appReceipt {
            let guid = try evidence.guid()
            let file = try Self.file(text, named: "app_receipt")
            try Self.requireMostlySigned(file)
            let attestation = try await verify(appReceipt: file, guid: guid, verifier, origin)
            logShortcomings(attestation)
            attestations.append(attestation)
        }
        if let text = evidence.transactionReceipt {
            let file = try Self.file(text, named: "transaction_receipt")
            attestations.append(
                try await verify(transactionReceipt: file, verifier, origin).complete)
        }
        if let jws = evidence.signedAppTransaction {
            let attestation = try await verify(appTransaction: Array(jws.utf8), verifier, origin)
            // Without a number it still says what the environment is.
            logShortcomings(attestation)
            attestations.append(attestation)
        }
        return attestations
    }

    private static func file(_ text: String, named name: String) throws(EngineFailure) -> [UInt8] {
        guard let bytes = ReceiptText.bytes(of: text) else {
            throw .unreadable("\(name) is not valid Base64.")
        }
        return bytes
    }

    /// Rejects a receipt file that contains too many bytes that are not signed.
    private static func requireMostlySigned(_ file: [UInt8]) throws(EngineFailure) {
        let unsigned = Verifier.unsignedBytes(inReceipt: file) ?? 0
        guard unsigned <= Verifier.unsignedReceiptBytesMax else {
            throw .unreadable(
                "The receipt has \(unsigned) unsigned bytes, more than "
                    + "\(Verifier.unsignedReceiptBytesMax).")
        }
    }

    func verify(
        transaction jws: [UInt8], _ verifier: Verifier, _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        let outcome = await verifier.transaction(
            jws, for: origin.app.identity, at: AppStoreDate(origin.receivedAt))
        return VerifiedDocument(transaction: try trusted(outcome), jws, from: origin)
    }

    func verify(
        renewal jws: [UInt8], _ verifier: Verifier, _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        let outcome = await verifier.renewal(
            jws, for: origin.app.identity, at: AppStoreDate(origin.receivedAt))
        return VerifiedDocument(renewal: try trusted(outcome), jws, from: origin)
    }

    func verify(
        appTransaction jws: [UInt8], _ verifier: Verifier, _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        let outcome = await verifier.appTransaction(
            jws, for: origin.app.identity, at: AppStoreDate(origin.receivedAt))
        return VerifiedDocument(appTransaction: try trusted(outcome), jws, from: origin)
    }

    private func record(
        _ attestations: [VerifiedDocument], of id: CustomerID, app: AppSettings, at now: Instant
    ) async throws(EngineFailure) -> CustomerState {
        let environment = attestations[0].document.environment
        let (state, foreign) = try await transaction { tx in
            let foreign = try tx.record(attestations, of: id, in: app, at: now)
            return (try tx.state(of: id, in: app, environment: environment, at: now), foreign)
        }
        if let foreign { throw .belongsToAnotherCustomer(foreign.purchase, foreign.why) }
        return state
    }
}

/// A purchase that stays with another customer.
private struct ForeignPurchase: Sendable {
    var purchase: PurchaseID
    var why: OwnershipClaim.Refusal
}

extension DatabaseSession {
    /// Records documents and resolves who owns their purchases. Returns a purchase that stays with
    /// another customer, or nil if there is none.
    fileprivate func record(
        _ attestations: [VerifiedDocument], of id: CustomerID, in app: AppSettings, at now: Instant
    ) throws -> ForeignPurchase? {
        var purses = WalletProjectionCache()
        var new: [DocumentWithFacts] = []
        for attestation in attestations.sorted(by: { $0.isPayment && !$1.isPayment }) {
            if !attestation.isPayment { try requireKnownPurchase(attestation, in: app.id) }
            // A receipt that shows no purchase is evidence of nothing, so it is not recorded.
            guard !attestation.isEmpty else { continue }
            let kept = attestation.documentWithFacts
            if try record(kept, &purses) { new.append(kept) }
        }
        try spend(app.documentBudget, on: new, at: now)
        var foreign: ForeignPurchase?
        let signed = attestations.signingTimes
        for (purchase, signedAt) in signed.sorted(by: { $0.key < $1.key }) {
            let timeline = try timeline(of: purchase, in: app.id) ?? Timeline(of: purchase, [])
            let claim = try claim(timeline, signedAt: signedAt, by: id, in: app, at: now)
            // An app transaction is sent along with purchases, and claims none: if it belongs to
            // another customer, it only gives nothing.
            if let why = try resolve(claim, on: purchase, for: id, in: app, at: now, &purses),
                purchase.appTransaction == nil
            {
                foreign = foreign ?? ForeignPurchase(purchase: purchase, why: why)
            }
        }
        return foreign
    }

    private func requireKnownPurchase(_ attestation: VerifiedDocument, in app: AppID) throws {
        for fact in attestation.facts where try timeline(of: fact.purchase, in: app) == nil {
            throw EngineFailure.renewalWithoutTransaction(fact.purchase.original.rawValue)
        }
    }
}

extension PurchaseEvidence {
    func requireWithinLimit() throws(EngineFailure) {
        guard signedTransactions.count + signedRenewalInfos.count <= Self.documentsMax else {
            throw .limitExceeded(what: "documents in a request", limit: Self.documentsMax)
        }
    }

    fileprivate func guid() throws(EngineFailure) -> [UInt8]? {
        guard let deviceGUID else { return nil }
        guard let bytes = DeviceGUID.bytes(of: deviceGUID) else {
            throw .unreadable("device_guid must be a UUID or a network address.")
        }
        return bytes
    }
}

extension VerifiedDocument {
    /// Returns itself if no field is missing; throws `incomplete` otherwise. Whoever submits a
    /// document expects it to have an effect.
    fileprivate var complete: VerifiedDocument {
        get throws(EngineFailure) {
            if let lacking = shortcomings.first { throw .incomplete(lacking) }
            return self
        }
    }

    var isPayment: Bool { document.kind != .renewal }

    /// The document attests nothing, and no field is missing either.
    fileprivate var isEmpty: Bool { facts.isEmpty && shortcomings.isEmpty }
}

extension [VerifiedDocument] {
    /// The purchases that these documents are about, each with the time when its newest document
    /// was signed.
    var signingTimes: [PurchaseID: Instant] {
        var signed: [PurchaseID: Instant] = [:]
        for attestation in self {
            let signedAt = attestation.document.signedAt
            for fact in attestation.facts {
                signed[fact.purchase] = Swift.max(signed[fact.purchase] ?? signedAt, signedAt)
            }
        }
        return signed
    }
}
