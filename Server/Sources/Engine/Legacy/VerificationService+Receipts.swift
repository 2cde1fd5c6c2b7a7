import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

// Verifies devices' evidence of purchases from before StoreKit 2.

extension VerificationService {
    func verify(
        appReceipt file: [UInt8], guid: [UInt8]? = nil, _ verifier: Verifier,
        _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        let outcome = await verifier.receipt(
            file, for: origin.app.identity, guid: guid, at: AppStoreDate(origin.receivedAt))
        return VerifiedDocument(appReceipt: try trusted(outcome), file, from: origin)
    }

    func verify(
        transactionReceipt file: [UInt8], _ verifier: Verifier, _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        let outcome = await verifier.transactionReceipt(
            file, for: origin.app.identity, at: AppStoreDate(origin.receivedAt))
        return VerifiedDocument(transactionReceipt: try trusted(outcome), file, from: origin)
    }

    /// Verifies a verifyReceipt response of an App Store environment.
    func verify(
        answer body: [UInt8], of store: StoreEnvironment, _ verifier: Verifier,
        _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        let outcome = await verifier.receiptResponse(
            body, for: origin.app.identity, in: store, at: AppStoreDate(origin.receivedAt))
        switch outcome {
        case .refused(let refusal): throw .notTrusted(refusal)
        case .verified(.app(let answer, let receipt)):
            return VerifiedDocument(kind: .receiptResponse, answer, body, from: origin) {
                () throws(IntakeFailure) in
                try Intake.facts(
                    of: answer.payload, in: answer.environment, answeredAt: answer.signedAt,
                    kinds: Intake.kinds(in: receipt?.payload))
            }
        case .verified(.transaction(let answer)):
            return VerifiedDocument(kind: .receiptResponse, answer, body, from: origin) {
                () throws(IntakeFailure) in
                try Intake.facts(
                    of: answer.payload, in: answer.environment, answeredAt: answer.signedAt)
            }
        }
    }
}

extension VerifiedDocument {
    init(appReceipt receipt: Verified<AppReceipt>, _ file: [UInt8], from origin: Origin) {
        self.init(kind: .appReceipt, receipt, file, from: origin) {
            () throws(IntakeFailure) in
            try Intake.facts(
                of: receipt.payload, in: receipt.environment, createdAt: receipt.signedAt)
        }
    }

    init(
        transactionReceipt receipt: Verified<TransactionReceipt>, _ file: [UInt8],
        from origin: Origin
    ) {
        self.init(kind: .transactionReceipt, receipt, file, from: origin) {
            () throws(IntakeFailure) in
            try Intake.facts(
                of: receipt.payload, in: receipt.environment, signedAt: receipt.signedAt)
        }
    }
}

/// The identifier of a device, to which its receipts are bound.
enum DeviceGUID {
    /// The bytes of a UUID (`identifierForVendor`), or of a Mac's network address. Returns nil if
    /// the text is neither.
    static func bytes(of text: String) -> [UInt8]? {
        let digits = text.filter { $0 != "-" && $0 != ":" }
        guard [32, 12].contains(digits.utf8.count) else { return nil }
        return Hexadecimal.bytes(digits)
    }
}
