import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// That a subscription is in grace, as an answer of the App Store Server API says it: by a status
/// that nobody has signed, beside signed renewal information that does not name the end.
///
/// By itself the renewal information says that the store collects, without grace, and would shut a
/// payer out. So what was answered is kept as a document of its own, and a rebuild finds the same
/// grace again. It is believed as answers of verifyReceipt are, which nobody has signed either:
/// nobody but us can have put it there.
struct GraceAnswer {
    let signedRenewalInfo: String

    init(signedRenewalInfo: String) { self.signedRenewalInfo = signedRenewalInfo }

    /// Nil for bytes that are no such document.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes),
            json["status"]?.integer == SubscriptionStatus.gracePeriod.rawValue,
            let renewal = json["signedRenewalInfo"]?.string
        else { return nil }
        signedRenewalInfo = renewal
    }

    /// As it is kept: two members of Apple's answer, by their names there.
    var bytes: [UInt8] {
        let json: JSON = [
            "status": .integer(SubscriptionStatus.gracePeriod.rawValue),
            "signedRenewalInfo": .string(signedRenewalInfo),
        ]
        return json.bytes
    }
}

extension Engine {
    func attest(
        graceAnswer bytes: [UInt8], _ verifier: Verifier, _ origin: Attestation.Origin
    ) async throws(EngineFailure) -> Attestation {
        guard let answer = GraceAnswer(bytes) else {
            throw .unreadable("What is kept is no answer about grace.")
        }
        let outcome = await verifier.renewal(
            Array(answer.signedRenewalInfo.utf8), for: origin.app.identity,
            at: AppStoreDate(origin.receivedAt))
        let renewal = try trusted(outcome)
        var attestation = Attestation(renewal: renewal, bytes, from: origin)
        attestation.document.know(by: DocumentDigest(unsigned: bytes))
        attestation.document.kind = .graceAnswer
        attestation.facts = []
        attestation.take { () throws(IntakeFailure) in
            try Intake.fact(
                of: renewal.payload, beside: .gracePeriod, signedAt: renewal.signedAt)
        }
        return attestation
    }
}
