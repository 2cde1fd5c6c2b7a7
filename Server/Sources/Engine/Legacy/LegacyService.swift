import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// Answers verifyReceipt requests as Apple's server did.
package struct LegacyService: Sendable {
    let context: Context
    let verification: VerificationService
    let reconciliation: ReconciliationService
}

/// An implementation of Apple's verifyReceipt, for programs that call it and cannot be changed.
///
/// The receipt is verified here. The response about its account combines Apple's last response, if
/// Apple has been queried, with everything that was received since.
extension LegacyService {
    /// The maximum size of a request, in bytes.
    package static let verifyReceiptBytesMax = PurchaseEvidence.bytesMax

    /// The response to a request that is too large. The response must not say that the receipt is
    /// invalid, because programs would then discard it.
    package static let verifyReceiptUnavailable = VerifyReceiptResponse(.unavailable).json.bytes

    /// The response to a request's body, in Apple's format. Like Apple's response, this response
    /// reports problems as a status. Only internal failures and `legacyDisabled` are thrown.
    ///
    /// - Parameter environment: the environment that the receipt must be from. Apple has a URL for
    ///   each environment.
    package func verifyReceipt(
        _ body: [UInt8], at environment: Ledger.Environment
    ) async throws(EngineFailure) -> [UInt8] {
        guard body.count <= Self.verifyReceiptBytesMax,
            let request = try? VerifyReceiptRequest(parsing: body)
        else { return VerifyReceiptResponse(.unreadable).json.bytes }
        guard let file = request.receiptData.flatMap(ReceiptText.bytes) else {
            return VerifyReceiptResponse(.malformed).json.bytes
        }
        guard file.count <= Verifier.receiptBytesMax else { return Self.verifyReceiptUnavailable }
        let isOld = file.first == UInt8(ascii: "{")
        let claimed = isOld ? TransactionReceipt.bundleID(in: file) : Verifier.peek(receipt: file)
        guard let claimed else { return VerifyReceiptResponse(.malformed).json.bytes }
        guard let app = context.apps.values.first(where: { $0.bundleID == claimed }) else {
            return VerifyReceiptResponse(.notAuthentic).json.bytes
        }
        try app.requireLegacy()
        let question = ReceiptRequest(
            request: request, file: file, app: app, store: environment.storeEnvironment)
        return try await isOld ? response(transaction: question) : response(app: question)
    }

    /// The response about a receipt that could not be verified. Apple's format has no room for a
    /// reason. So if the reason may be a wrong clock of the server, it is logged for the operator.
    private func unverified(_ outcome: VerificationOutcome<some Hashable & Sendable>) -> [UInt8] {
        if case .clockMismatch(let uncertainty) = outcome {
            context.counters.documentsSignedAhead.add()
            context.logger.error(
                "a receipt was signed later than this machine's clock",
                metadata: ["found": "\(uncertainty)"])
        }
        return VerifyReceiptResponse(outcome.status).json.bytes
    }

    private func response(app question: ReceiptRequest) async throws(EngineFailure) -> [UInt8] {
        let unsigned = Verifier.unsignedBytes(inReceipt: question.file) ?? 0
        guard unsigned <= Verifier.unsignedReceiptBytesMax else {
            return VerifyReceiptResponse(.malformed).json.bytes
        }
        let (app, verifier) = try context.app(question.app.id)
        let now = context.now()
        let outcome = await verifier.receipt(
            question.file, for: app.identity, at: AppStoreDate(now))
        guard case .verified(let receipt) = outcome else { return unverified(outcome) }
        let isRenewing = receipt.payload.holdsSubscriptions
        if let refusal = question.rejection(
            from: receipt.environment, needsSecret: isRenewing)
        {
            return refusal.json.bytes
        }
        var answer = VerifyReceiptResponse(.valid, environment: receipt.environment)
        answer.receipt = VerifyReceiptApp(receipt.payload, at: AppStoreDate(now))
        guard isRenewing else { return answer.json.bytes }
        let origin = VerifiedDocument.Origin(
            app: app, source: .device, receivedAt: now, digests: context.digests)
        let attestation = VerifiedDocument(appReceipt: receipt, question.file, from: origin)
        guard let known = try await account(of: attestation, in: app, isWhole: true) else {
            return VerifyReceiptResponse(.unavailable).json.bytes
        }
        known.complete(
            &answer, from: receipt, text: ReceiptText.text(of: question.file),
            excludesOld: question.request.excludesOldTransactions == true)
        return answer.json.bytes
    }

    private func response(
        transaction question: ReceiptRequest
    ) async throws(EngineFailure) -> [UInt8] {
        let (app, verifier) = try context.app(question.app.id)
        let now = context.now()
        let outcome = await verifier.transactionReceipt(
            question.file, for: app.identity, at: AppStoreDate(now))
        guard case .verified(let receipt) = outcome else { return unverified(outcome) }
        let isRenewing = receipt.payload.expires != nil
        if let refusal = question.rejection(
            from: receipt.environment, needsSecret: isRenewing)
        {
            return refusal.json.bytes
        }
        var answer = VerifyReceiptTransactionResponse()
        answer.receipt = receipt.payload
        answer.status = .valid
        guard isRenewing else { return answer.json.bytes }
        let origin = VerifiedDocument.Origin(
            app: app, source: .device, receivedAt: now, digests: context.digests)
        let attestation = VerifiedDocument(transactionReceipt: receipt, question.file, from: origin)
        guard let known = try await account(of: attestation, in: app, isWhole: false) else {
            return VerifyReceiptResponse(.unavailable).json.bytes
        }
        known.complete(
            &answer, from: receipt, text: ReceiptText.text(of: question.file),
            at: AppStoreDate(now))
        return answer.json.bytes
    }
}

/// A request, and the app that its receipt claims to be for.
private struct ReceiptRequest: Sendable {
    let request: VerifyReceiptRequest
    let file: [UInt8]
    let app: AppSettings
    let store: StoreEnvironment

    /// Apple's rejection of a receipt of the other environment, or of a request without the secret.
    /// Returns nil if the request is acceptable.
    func rejection(
        from origin: StoreEnvironment, needsSecret: Bool
    ) -> VerifyReceiptResponse? {
        guard origin == store else {
            return VerifyReceiptResponse(origin == .sandbox ? .sandboxReceipt : .productionReceipt)
        }
        guard needsSecret || request.password != nil else { return nil }
        let isRight = app.sharedSecret?.matches(request.password ?? "") ?? false
        return isRight ? nil : VerifyReceiptResponse(.wrongSecret, environment: origin)
    }
}

extension VerificationOutcome {
    /// The status of the response for a receipt that is not verified.
    fileprivate var status: VerifyReceiptStatus {
        switch self {
        case .verified: .valid
        case .clockMismatch: .unavailable
        case .refused(let refusal):
            switch refusal.reason {
            case .receiptUnreadable, .tooLong, .environmentNeverTrusted: .malformed
            case .notAJWS, .headerUnreadable, .criticalHeader, .algorithm, .certificateCount,
                .certificateUnreadable, .untrustedChain, .missingMarker, .wrongKeyUsage,
                .badSignature, .payloadUnreadable, .notValidAtSigning, .fieldMissing, .wrongBundle,
                .wrongAppAppleID, .wrongDevice, .wrongSecret, .wrongEnvironment:
                .notAuthentic
            }
        }
    }
}

extension AppReceipt {
    fileprivate var holdsSubscriptions: Bool {
        purchases.contains { $0[.kind]?.integer == ReceiptProductKind.autoRenewable.rawValue }
    }
}

extension TransactionReceipt {
    /// The bundle ID that a receipt file claims.
    fileprivate static func bundleID(in file: [UInt8]) -> String? {
        let signed = try? TransactionReceiptFile(parsing: file).signedBytes
        return signed.flatMap { try? TransactionReceipt(signedBytes: $0) }?.bundleID
    }
}
