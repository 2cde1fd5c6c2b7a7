import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

extension ReconciliationService {
    /// The maximum number of documents that are searched for a receipt of a purchase, newest first.
    /// The first document nearly always contains a receipt.
    private static let receiptDocumentsMax = 5

    /// Checks a purchase by its newest known receipt, for an app without an API key. The response
    /// covers the whole account, however old the receipt is.
    func runCheckByReceipt(_ lease: CheckLease) async throws(EngineFailure) -> CheckOutcome {
        guard let verification = context.reconciliationSettings.receiptVerification(lease.app)
        else {
            return .notConfigured
        }
        let asked = context.now()
        guard let receipt = try await receipt(of: lease.purchase, in: lease.app) else {
            try await context.transaction { tx in try tx.checks.fail(lease, at: asked) }
            return .noResponse("No receipt of the purchase is known, and no API key is configured.")
        }
        do {
            let answer = try await verification.response(
                about: receipt, first: lease.purchase.storeEnvironment)
            return try await recordResponse(answer, to: lease, asked: asked)
        } catch let failure as AppStoreFailure {
            context.counters.checksFailed.add()
            try await recordFailure(failure, lease)
            return .noResponse("\(failure) \(failure.remedy)")
        } catch { throw EngineFailure(error) }
    }

    private func recordResponse(
        _ answer: VerifyReceiptClient.Response, to lease: CheckLease, asked: Instant
    ) async throws(EngineFailure) -> CheckOutcome {
        let (app, verifier) = try context.app(lease.app)
        let origin = VerifiedDocument.Origin(
            app: app, source: .reconciliation, receivedAt: context.now(), digests: context.digests)
        var findings = CheckResult()
        do {
            let attestation = try await verification.verify(
                answer: answer.body, of: answer.environment, verifier, origin)
            verification.logShortcomings(attestation)
            findings.attestations = [attestation]
            findings.isListRead = true
        } catch { findings.rejection = "\(error)" }
        return try await completeCheck(lease, findings, asked: asked)
    }

    /// The receipt with which to query Apple about a purchase. An app receipt is better than a
    /// receipt of a single transaction: the response to an app receipt covers the whole account,
    /// and says who has paid.
    private func receipt(
        of purchase: PurchaseID, in app: AppID
    ) async throws(EngineFailure) -> String? {
        // There may be many documents about non-renewing purchases, and verifyReceipt responses
        // about such purchases contain no new receipt. So the last search leaves these responses
        // out.
        let searches: [[StoredDocument.Kind]] = [
            [.appReceipt, .transactionReceipt, .notificationV1, .receiptResponse], [.appReceipt],
            [.appReceipt, .transactionReceipt, .notificationV1],
        ]
        var found: String?
        for kinds in searches {
            let documents = try await context.read { tx in
                try tx.documents.all(
                    about: purchase, in: app, of: kinds, limit: Self.receiptDocumentsMax)
            }
            let receipts = documents.compactMap(\.receipt)
            if let whole = receipts.first(where: ReceiptText.isAppReceipt) { return whole }
            found = found ?? receipts.first
        }
        return found
    }
}

extension StoredDocument {
    /// The receipt that the document is or contains, in Base64. Nil if the document contains no
    /// receipt.
    fileprivate var receipt: String? {
        guard let bytes else { return nil }
        switch kind {
        case .appReceipt, .transactionReceipt: return ReceiptText.text(of: bytes)
        case .notificationV1:
            let notification = try? V1Notification(parsing: bytes)
            return notification?.unifiedReceipt?.latestReceipt ?? notification?.latestReceipt
                ?? notification?.latestExpiredReceipt
        case .receiptResponse:
            return (try? JSON(parsing: bytes))?["latest_receipt"]?.string
        case .notification, .transaction, .renewal, .appTransaction, .graceResponse: return nil
        }
    }
}
