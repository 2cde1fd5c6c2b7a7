import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// Apple's verifyReceipt, answered by us: for programs that ask it and are not to be changed.
///
/// The receipt is verified here. What its account has come to is what Apple last answered, where it
/// has been asked, and everything heard since.
extension Engine {
    /// Bytes of a question.
    package static let verifyReceiptBytesMax = 4_194_304

    /// The answer to a question's body, in Apple's form. Like Apple's it says in a status what is
    /// wrong; only our own troubles are thrown, and `legacyOff`.
    ///
    /// - Parameter environment: the store that a receipt must be of; Apple has an address for each.
    package func verifyReceipt(
        _ body: [UInt8], at environment: Ledger.Environment
    ) async throws(EngineFailure) -> [UInt8] {
        guard body.count <= Self.verifyReceiptBytesMax,
            let request = try? VerifyReceiptRequest(parsing: body)
        else { return VerifyReceiptAnswer(.unreadable).json.bytes }
        guard let file = request.receiptData.flatMap(ReceiptText.bytes) else {
            return VerifyReceiptAnswer(.malformed).json.bytes
        }
        let isOld = file.first == UInt8(ascii: "{")
        let claimed = isOld ? TransactionReceipt.bundleID(in: file) : Verifier.peek(receipt: file)
        guard let claimed else { return VerifyReceiptAnswer(.malformed).json.bytes }
        guard let app = apps.values.first(where: { $0.bundleID == claimed }) else {
            return VerifyReceiptAnswer(.notAuthentic).json.bytes
        }
        try app.requireLegacy()
        let question = ReceiptQuestion(
            request: request, file: file, app: app, store: environment.storeEnvironment)
        return try await isOld ? answer(transaction: question) : answer(app: question)
    }

    /// What is answered about a receipt that is not verified. Apple's form has no room for a
    /// reason: that our clock may be wrong is told to the operator.
    private func unverified(_ outcome: Outcome<some Hashable & Sendable>) -> [UInt8] {
        if case .cannotTellNow(let uncertainty) = outcome {
            counters.documentsSignedAhead.add()
            logger.error(
                "A receipt was signed ahead of this machine's clock.",
                metadata: ["found": "\(uncertainty)"])
        }
        return VerifyReceiptAnswer(outcome.status).json.bytes
    }

    private func answer(app question: ReceiptQuestion) async throws(EngineFailure) -> [UInt8] {
        let unsigned = Verifier.unsignedBytes(inReceipt: question.file) ?? 0
        guard unsigned <= Verifier.unsignedReceiptBytesMax else {
            return VerifyReceiptAnswer(.malformed).json.bytes
        }
        let (app, verifier) = try app(question.app.id)
        let now = now()
        let outcome = await verifier.receipt(
            question.file, for: app.identity, at: AppStoreDate(now))
        guard case .verified(let receipt) = outcome else { return unverified(outcome) }
        let isRenewing = receipt.payload.holdsSubscriptions
        if let refusal = question.refusal(
            from: receipt.environment, needsSecret: isRenewing)
        {
            return refusal.json.bytes
        }
        var answer = VerifyReceiptAnswer(.valid, environment: receipt.environment)
        answer.receipt = VerifyReceiptApp(receipt.payload, at: AppStoreDate(now))
        guard isRenewing else { return answer.json.bytes }
        let origin = Attestation.Origin(
            app: app, source: .device, receivedAt: now, digests: digests)
        let attestation = Attestation(appReceipt: receipt, question.file, from: origin)
        guard let known = try await account(of: attestation, in: app, isWhole: true) else {
            return VerifyReceiptAnswer(.unavailable).json.bytes
        }
        known.complete(
            &answer, from: receipt, text: ReceiptText.text(of: question.file),
            excludesOld: question.request.excludesOldTransactions == true)
        return answer.json.bytes
    }

    private func answer(
        transaction question: ReceiptQuestion
    ) async throws(EngineFailure) -> [UInt8] {
        let (app, verifier) = try app(question.app.id)
        let now = now()
        let outcome = await verifier.transactionReceipt(
            question.file, for: app.identity, at: AppStoreDate(now))
        guard case .verified(let receipt) = outcome else { return unverified(outcome) }
        let isRenewing = receipt.payload.expires != nil
        if let refusal = question.refusal(
            from: receipt.environment, needsSecret: isRenewing)
        {
            return refusal.json.bytes
        }
        var answer = VerifyReceiptTransactionAnswer()
        answer.receipt = receipt.payload
        answer.status = .valid
        guard isRenewing else { return answer.json.bytes }
        let origin = Attestation.Origin(
            app: app, source: .device, receivedAt: now, digests: digests)
        let attestation = Attestation(transactionReceipt: receipt, question.file, from: origin)
        guard let known = try await account(of: attestation, in: app, isWhole: false) else {
            return VerifyReceiptAnswer(.unavailable).json.bytes
        }
        known.complete(
            &answer, from: receipt, text: ReceiptText.text(of: question.file),
            at: AppStoreDate(now))
        return answer.json.bytes
    }
}

/// A question, and of which app its receipt claims to be.
private struct ReceiptQuestion: Sendable {
    let request: VerifyReceiptRequest
    let file: [UInt8]
    let app: AppSettings
    let store: StoreEnvironment

    /// As Apple refuses what is for the other store, or comes without the secret.
    func refusal(
        from origin: StoreEnvironment, needsSecret: Bool
    ) -> VerifyReceiptAnswer? {
        guard origin == store else {
            return VerifyReceiptAnswer(origin == .sandbox ? .sandboxReceipt : .productionReceipt)
        }
        guard needsSecret || request.password != nil else { return nil }
        let isRight = app.sharedSecret?.matches(request.password ?? "") ?? false
        return isRight ? nil : VerifyReceiptAnswer(.wrongSecret, environment: origin)
    }
}

extension Outcome {
    /// Of a receipt that is not verified.
    fileprivate var status: VerifyReceiptStatus {
        switch self {
        case .verified: .valid
        case .cannotTellNow: .unavailable
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
    /// The bundle that a file claims to be for.
    fileprivate static func bundleID(in file: [UInt8]) -> String? {
        let signed = try? TransactionReceiptFile(parsing: file).signedBytes
        return signed.flatMap { try? TransactionReceipt(signedBytes: $0) }?.bundleID
    }
}
