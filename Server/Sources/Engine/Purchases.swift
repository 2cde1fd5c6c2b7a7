import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// What a device has of its purchases, as the App Store signed it.
package struct PurchaseEvidence: Hashable, Sendable {
    /// Compact JWS.
    package var signedTransactions: [String]
    /// Compact JWS; each needs a transaction of the same purchase, here or known before.
    package var signedRenewalInfos: [String]
    /// The file of the app's receipt, in Base64.
    package var appReceipt: String?
    /// What an app before iOS 7 had of one transaction, in Base64.
    package var transactionReceipt: String?
    /// Of the device that ``appReceipt`` must be for: a UUID, or a network address of a Mac.
    package var deviceGUID: String?

    /// Documents in one posting.
    package static let documentsMax = 200

    package init(
        signedTransactions: [String] = [], signedRenewalInfos: [String] = [],
        appReceipt: String? = nil, transactionReceipt: String? = nil, deviceGUID: String? = nil
    ) {
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.appReceipt = appReceipt
        self.transactionReceipt = transactionReceipt
        self.deviceGUID = deviceGUID
    }

    var holdsReceipt: Bool { appReceipt != nil || transactionReceipt != nil }

    package var isEmpty: Bool {
        signedTransactions.isEmpty && signedRenewalInfos.isEmpty && appReceipt == nil
            && transactionReceipt == nil
    }
}

extension Engine {
    /// Takes in what a customer's device has, and makes those purchases theirs that are nobody's
    /// yet. Returns the customer in the environment of the first document. Harmless to repeat.
    ///
    /// All documents are verified before any is kept: one that is refused refuses the posting, and
    /// changes nothing. Of a purchase that is somebody else's the app's policy decides; where it
    /// stays theirs, what the documents attest is kept all the same.
    package func record(
        _ evidence: PurchaseEvidence, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> CustomerState {
        let (app, verifier) = try app(appID)
        try id.requireMeaning()
        guard !evidence.isEmpty else { throw .unreadable("There is no purchase.") }
        try evidence.requireRoom()
        let origin = Attestation.Origin(
            app: app, source: .device, receivedAt: now(), digests: digests)
        let attestations = try await attest(evidence, verifier, origin)
        for attestation in attestations { lookUpProducts(of: attestation) }
        let state = try await keep(attestations, of: id, app: app, at: origin.receivedAt)
        counters.purchasesPosted.add()
        return state
    }

    func attest(
        _ evidence: PurchaseEvidence, _ verifier: Verifier, _ origin: Attestation.Origin
    ) async throws(EngineFailure) -> [Attestation] {
        var attestations: [Attestation] = []
        for jws in evidence.signedTransactions {
            attestations.append(
                try await attest(transaction: Array(jws.utf8), verifier, origin).whole)
        }
        for jws in evidence.signedRenewalInfos {
            attestations.append(
                try await attest(renewal: Array(jws.utf8), verifier, origin).whole)
        }
        if evidence.holdsReceipt { try origin.app.requireLegacy() }
        if let text = evidence.appReceipt {
            let guid = try evidence.guid()
            let file = try Self.file(text, named: "app_receipt")
            try Self.requireLean(file)
            let attestation = try await attest(appReceipt: file, guid: guid, verifier, origin)
            report(attestation)
            attestations.append(attestation)
        }
        if let text = evidence.transactionReceipt {
            let file = try Self.file(text, named: "transaction_receipt")
            attestations.append(
                try await attest(transactionReceipt: file, verifier, origin).whole)
        }
        return attestations
    }

    private static func file(_ text: String, named name: String) throws(EngineFailure) -> [UInt8] {
        guard let bytes = ReceiptText.bytes(of: text) else {
            throw .unreadable("\(name) is no Base64.")
        }
        return bytes
    }

    /// Refuses a receipt whose file is much larger than what is signed in it.
    private static func requireLean(_ file: [UInt8]) throws(EngineFailure) {
        let unsigned = Verifier.unsignedBytes(inReceipt: file) ?? 0
        guard unsigned <= Verifier.unsignedReceiptBytesMax else {
            throw .unreadable(
                "The receipt has \(unsigned) bytes that nobody signed, more than "
                    + "\(Verifier.unsignedReceiptBytesMax).")
        }
    }

    func attest(
        transaction jws: [UInt8], _ verifier: Verifier, _ origin: Attestation.Origin
    ) async throws(EngineFailure) -> Attestation {
        let outcome = await verifier.transaction(
            jws, for: origin.app.identity, at: AppStoreDate(origin.receivedAt))
        return Attestation(transaction: try trusted(outcome), jws, from: origin)
    }

    func attest(
        renewal jws: [UInt8], _ verifier: Verifier, _ origin: Attestation.Origin
    ) async throws(EngineFailure) -> Attestation {
        let outcome = await verifier.renewal(
            jws, for: origin.app.identity, at: AppStoreDate(origin.receivedAt))
        return Attestation(renewal: try trusted(outcome), jws, from: origin)
    }

    private func keep(
        _ attestations: [Attestation], of id: CustomerID, app: AppSettings, at now: Instant
    ) async throws(EngineFailure) -> CustomerState {
        let environment = attestations[0].document.environment
        let (state, foreign) = try await transaction { tx in
            let foreign = try tx.keep(attestations, of: id, in: app, at: now)
            return (try tx.state(of: id, in: app, environment: environment, at: now), foreign)
        }
        if let foreign { throw .belongsToAnotherCustomer(foreign.purchase, foreign.why) }
        return state
    }
}

/// A purchase that stays another customer's.
private struct ForeignPurchase: Sendable {
    var purchase: PurchaseID
    var why: Claim.Refusal
}

extension StoreTransaction {
    /// Keeps documents and settles whose their purchases are. Returns a purchase that stays another
    /// customer's, where there is one.
    fileprivate func keep(
        _ attestations: [Attestation], of id: CustomerID, in app: AppSettings, at now: Instant
    ) throws -> ForeignPurchase? {
        var purses = Purses()
        var new: [AttestedDocument] = []
        for attestation in attestations.sorted(by: { $0.isPayment && !$1.isPayment }) {
            if !attestation.isPayment { try requireKnownPurchase(attestation, in: app.id) }
            // A receipt that shows no purchase is evidence of nothing: it is not kept.
            guard !attestation.isEmpty else { continue }
            let kept = attestation.kept
            if try keep(kept, &purses) { new.append(kept) }
        }
        try spend(app.documentBudget, on: new, at: now)
        var foreign: ForeignPurchase?
        let signed = attestations.purchasesSigned
        for (purchase, signedAt) in signed.sorted(by: { $0.key < $1.key }) {
            let timeline = try timeline(of: purchase, in: app.id) ?? Timeline(of: purchase, [])
            let claim = try claim(timeline, signedAt: signedAt, by: id, in: app, at: now)
            if let why = try settle(claim, on: purchase, for: id, in: app, at: now, &purses) {
                foreign = foreign ?? ForeignPurchase(purchase: purchase, why: why)
            }
        }
        return foreign
    }

    private func requireKnownPurchase(_ attestation: Attestation, in app: AppID) throws {
        for fact in attestation.facts where try timeline(of: fact.purchase, in: app) == nil {
            throw EngineFailure.renewalWithoutTransaction(fact.purchase.original.rawValue)
        }
    }
}

extension PurchaseEvidence {
    func requireRoom() throws(EngineFailure) {
        guard signedTransactions.count + signedRenewalInfos.count <= Self.documentsMax else {
            throw .tooMuch(what: "documents in a posting", limit: Self.documentsMax)
        }
    }

    fileprivate func guid() throws(EngineFailure) -> [UInt8]? {
        guard let deviceGUID else { return nil }
        guard let bytes = DeviceGUID.bytes(of: deviceGUID) else {
            throw .unreadable("device_guid is neither a UUID nor a network address.")
        }
        return bytes
    }
}

extension Attestation {
    /// Itself, where nothing is lacking: whoever posts a document expects something of it.
    fileprivate var whole: Attestation {
        get throws(EngineFailure) {
            if let lacking = shortcomings.first { throw .incomplete(lacking) }
            return self
        }
    }

    var isPayment: Bool { document.kind != .renewal }

    /// It attests nothing, and lacks nothing either.
    fileprivate var isEmpty: Bool { facts.isEmpty && shortcomings.isEmpty }
}

extension [Attestation] {
    /// The purchases that these are about, and when the newest document of each was signed.
    var purchasesSigned: [PurchaseID: Instant] {
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
