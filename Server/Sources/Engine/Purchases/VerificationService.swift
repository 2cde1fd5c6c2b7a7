import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// Verifies documents that Apple signed, when they arrive and again later. Gives the reason if a
/// document is refused.
package struct VerificationService: Sendable {
    let context: Context

    /// Verifies the documents of a request.
    ///
    /// - Parameter isPartial: whether to return a rejected document with its failure. If false, the
    ///   failure is thrown.
    func verify(
        _ evidence: PurchaseEvidence, _ verifier: Verifier, _ origin: VerifiedDocument.Origin,
        isPartial: Bool
    ) async throws(EngineFailure) -> [PostedDocument] {
        var posted: [PostedDocument] = []
        for place in evidence.places {
            do throws(EngineFailure) {
                let document = try await verify(place, of: evidence, verifier, origin)
                posted.append(PostedDocument(place: place, document: .success(document)))
            } catch {
                guard isPartial, error.isAboutDocument else { throw error }
                posted.append(PostedDocument(place: place, document: .failure(error)))
            }
        }
        return posted
    }

    private func verify(
        _ place: DocumentPlace, of evidence: PurchaseEvidence, _ verifier: Verifier,
        _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        switch place.member {
        case .signedTransactions:
            let jws = Array(evidence.signedTransactions[place.index].utf8)
            return try await verify(transaction: jws, verifier, origin).complete
        case .signedRenewalInfos:
            let jws = Array(evidence.signedRenewalInfos[place.index].utf8)
            return try await verify(renewal: jws, verifier, origin).complete
        case .appReceipt:
            try origin.app.requireLegacy()
            let guid = try evidence.guid()
            let file = try Self.file(evidence.appReceipt, of: place)
            try Self.requireMostlySigned(file)
            let document = try await verify(appReceipt: file, guid: guid, verifier, origin)
            logShortcomings(document)
            return document
        case .transactionReceipt:
            try origin.app.requireLegacy()
            let file = try Self.file(evidence.transactionReceipt, of: place)
            return try await verify(transactionReceipt: file, verifier, origin).complete
        case .signedAppTransaction:
            let jws = Array((evidence.signedAppTransaction ?? "").utf8)
            let document = try await verify(appTransaction: jws, verifier, origin)
            // An app transaction without a number is still useful, because it names the
            // environment.
            logShortcomings(document)
            return document
        }
    }

    private static func file(
        _ text: String?, of place: DocumentPlace
    ) throws(EngineFailure) -> [UInt8] {
        guard let text, let bytes = ReceiptText.bytes(of: text) else {
            throw .unreadable("\(place.member.rawValue) is not valid Base64.")
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
}
