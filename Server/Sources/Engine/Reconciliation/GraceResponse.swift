import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// A response of the App Store Server API that reports a grace period by an unsigned status. The
/// signed renewal info next to the status does not name the end of the grace period.
///
/// By itself, the renewal info says that the App Store is retrying a payment without a grace
/// period. That would deny access to a paying customer. So the response is recorded as a separate
/// document, from which a rebuild derives the same grace period again. The document is not signed.
/// It is trusted nevertheless, like verifyReceipt responses, because only this server can have
/// recorded it.
struct GraceResponse {
    let signedRenewalInfo: String

    init(signedRenewalInfo: String) { self.signedRenewalInfo = signedRenewalInfo }

    /// Reads the recorded form. Returns nil if the bytes are not such a document.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes),
            json["status"]?.integer == SubscriptionStatus.gracePeriod.rawValue,
            let renewal = json["signedRenewalInfo"]?.string
        else { return nil }
        signedRenewalInfo = renewal
    }

    /// The recorded form: two members of Apple's response, under the same names.
    var bytes: [UInt8] {
        let json: JSON = [
            "status": .integer(SubscriptionStatus.gracePeriod.rawValue),
            "signedRenewalInfo": .string(signedRenewalInfo),
        ]
        return json.bytes
    }
}

extension VerificationService {
    func verify(
        graceAnswer bytes: [UInt8], _ verifier: Verifier, _ origin: VerifiedDocument.Origin
    ) async throws(EngineFailure) -> VerifiedDocument {
        guard let answer = GraceResponse(bytes) else {
            throw .unreadable("The stored document is not a grace response.")
        }
        let outcome = await verifier.renewal(
            Array(answer.signedRenewalInfo.utf8), for: origin.app.identity,
            at: AppStoreDate(origin.receivedAt))
        let renewal = try trusted(outcome)
        var attestation = VerifiedDocument(renewal: renewal, bytes, from: origin)
        // The document is identified by its whole content, not by the renewal info in it.
        attestation.document.id = DocumentDigest(unsigned: bytes).signed
        attestation.document.kind = .graceResponse
        attestation.facts = []
        attestation.addFact { () throws(IntakeFailure) in
            try Intake.fact(
                of: renewal.payload, beside: .gracePeriod, signedAt: renewal.signedAt)
        }
        return attestation
    }
}
