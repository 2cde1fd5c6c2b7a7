import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// A device's purchases, as the App Store signed them.
package struct PurchaseEvidence: Hashable, Sendable {
    /// Signed transactions as compact JWS.
    package var signedTransactions: [String]
    /// Signed renewal infos as compact JWS. Each needs a transaction of the same purchase, in this
    /// request or recorded before.
    package var signedRenewalInfos: [String]
    /// The app receipt file, in Base64.
    package var appReceipt: String?
    /// A single-transaction receipt of an app from before iOS 7, in Base64.
    package var transactionReceipt: String?
    /// The device for which ``appReceipt`` must be issued: a UUID, or the network address of a Mac.
    package var deviceGUID: String?
    /// The app transaction of the device's store account, as compact JWS.
    package var signedAppTransaction: String?

    /// The maximum number of documents in one request.
    package static let documentsMax = 200
    /// The maximum size of a request with purchases, in bytes: enough for the largest app receipt
    /// in Base64, or for some hundreds of signed transactions.
    package static let bytesMax = 12_582_912

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

    package var isEmpty: Bool {
        signedTransactions.isEmpty && signedRenewalInfos.isEmpty && appReceipt == nil
            && transactionReceipt == nil && signedAppTransaction == nil
    }
}

extension RecordingService {
    /// Records a device's purchases. Links purchases without an owner to the customer. Returns the
    /// customer in the environment of the first document. Idempotent.
    ///
    /// All documents are verified before any document is recorded. If a document is rejected, the
    /// request fails and changes nothing. If a purchase belongs to another customer, the app's
    /// restore policy decides. If the purchase stays with the other customer, the documents and
    /// their facts are recorded nevertheless.
    package func record(
        _ evidence: PurchaseEvidence, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> CustomerState {
        let posting = try await post(evidence, of: id, intent: nil, app: appID)
        if let refusal = posting.refusal(for: nil) { throw refusal }
        guard let state = posting.state else { throw .unreadable("No document was accepted.") }
        return state
    }

    /// Records a device's purchases, as ``record(_:of:app:)`` does. If there is an intent, rejected
    /// documents do not make the request fail, and the others are recorded.
    ///
    /// - Parameters:
    ///   - place: the place of the sale in the app. The place is stored with the transactions if
    ///     the intent is `purchase`. For other intents, the app does not know the place.
    ///   - isByApp: whether the request has an app key.
    /// - Throws: `mixedEnvironments` if there is an intent and the documents are of both
    ///   environments.
    package func post(
        _ evidence: PurchaseEvidence, of id: CustomerID, intent: OwnershipClaim.Intent?,
        boughtAt place: PurchaseOrigin = PurchaseOrigin(), app appID: AppID, isByApp: Bool = false
    ) async throws(EngineFailure) -> PostingResult {
        let (app, verifier) = try context.app(appID)
        try id.requireValid()
        guard !evidence.isEmpty else { throw .unreadable("The request contains no purchase.") }
        try evidence.requireWithinLimit()
        let origin = VerifiedDocument.Origin(
            app: app, source: .device, receivedAt: context.now(), digests: context.digests)
        let posted = try await verification.verify(
            evidence, verifier, origin, isPartial: intent != nil)
        for document in posted.compactMap(\.verified) { logUnlistedProducts(of: document) }
        guard let environment = try Self.environment(of: posted, isPartial: intent != nil) else {
            return PostingResult(
                state: nil, documents: posted.map { $0.outcome(isNew: false) }, ownerships: [],
                changesWithoutDocument: 0)
        }
        let now = origin.receivedAt
        let wait = isByApp ? context.growth.wait(of: app, at: now) : nil
        let posting = try await context.transaction { tx in
            var posting = try PurchaseDecisions(tx).record(
                posted, of: id, intent: intent, in: app, at: now)
            // The error rolls back the transaction.
            if let wait, posting.changesWithoutDocument > 0 {
                throw EngineFailure.growthBudgetExhausted(wait: wait)
            }
            if intent == .purchase {
                try tx.purchases.insertOrigin(
                    place, of: posting.transactions(in: posted), in: appID, at: now)
            }
            posting.state = try CustomerReader(tx).state(
                of: id, in: app, environment: environment, at: now)
            return posting
        }
        context.counters.purchasesPosted.add()
        if isByApp { context.growth.add(posting.changesWithoutDocument, of: app, at: now) }
        return posting
    }

    /// The environment of the first document that was verified. Nil if no document was verified.
    private static func environment(
        of posted: [PostedDocument], isPartial: Bool
    ) throws(EngineFailure) -> Environment? {
        let environments = posted.compactMap { $0.verified?.document.environment }
        if isPartial, Set(environments).count > 1 { throw .mixedEnvironments }
        return environments.first
    }
}

extension PostingResult {
    /// The transactions of the documents whose purchases the customer has, each with its purchase.
    fileprivate func transactions(
        in posted: [PostedDocument]
    ) -> [(TransactionID, PurchaseID)] {
        let theirs = Set(ownerships.filter(\.isTheirs).map(\.purchase))
        return posted.compactMap { document in
            guard let transaction = document.verified?.transaction,
                let purchase = document.verified?.facts.first?.purchase, theirs.contains(purchase)
            else { return nil }
            return (transaction, purchase)
        }
    }
}

extension OwnershipResult {
    fileprivate var isTheirs: Bool {
        switch kind {
        case .theirs, .linked, .moved, .shared: true
        case .another, .refused: false
        }
    }
}

extension PostedDocument {
    func outcome(isNew: Bool) -> PostingResult.Outcome {
        switch document {
        case .success(let document):
            PostingResult.Outcome(
                place: place, transaction: document.transaction, result: isNew ? .kept : .repeat)
        case .failure(let failure): PostingResult.Outcome(place: place, result: .refused(failure))
        }
    }
}

extension PurchaseEvidence {
    /// The documents, in the order in which they are recorded.
    var places: [DocumentPlace] {
        signedTransactions.indices.map { DocumentPlace(member: .signedTransactions, index: $0) }
            + signedRenewalInfos.indices.map {
                DocumentPlace(member: .signedRenewalInfos, index: $0)
            }
            + (appReceipt == nil ? [] : [DocumentPlace(member: .appReceipt, index: 0)])
            + (transactionReceipt == nil
                ? [] : [DocumentPlace(member: .transactionReceipt, index: 0)])
            + (signedAppTransaction == nil
                ? [] : [DocumentPlace(member: .signedAppTransaction, index: 0)])
    }

    func requireWithinLimit() throws(EngineFailure) {
        guard signedTransactions.count + signedRenewalInfos.count <= Self.documentsMax else {
            throw .limitExceeded(what: "documents in a request", limit: Self.documentsMax)
        }
    }

    func guid() throws(EngineFailure) -> [UInt8]? {
        guard let deviceGUID else { return nil }
        guard let bytes = DeviceGUID.bytes(of: deviceGUID) else {
            throw .unreadable("device_guid must be a UUID or a network address.")
        }
        return bytes
    }
}

extension VerifiedDocument {
    /// Returns the document itself if no field is missing. Throws `incomplete` otherwise, because
    /// the sender of a document expects that the document has an effect.
    var complete: VerifiedDocument {
        get throws(EngineFailure) {
            if let lacking = shortcomings.first { throw .incomplete(lacking) }
            return self
        }
    }

    var isPayment: Bool { document.kind != .renewal }

    /// The transaction that the document is about. Nil if the document is not about exactly one
    /// transaction.
    fileprivate var transaction: TransactionID? {
        guard facts.count == 1, case .payment(let payment) = facts[0].statement else { return nil }
        return payment.transaction
    }

    /// Whether the document attests no facts although no field is missing.
    var isEmpty: Bool { facts.isEmpty && shortcomings.isEmpty }
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
