import AppStoreFormats
import Crypto
import Intake
import Ledger
import Storage

extension DocumentMaker {
    /// The rows that the server records for a notification: the packed document and its facts.
    func notificationRows(
        _ subject: Subject, app: AppID
    ) throws -> (document: StoredDocument, facts: [Fact]) {
        let bytes = Array(try notification(subject).utf8)
        let packed = PackedDocument(packing: bytes)
        let signedAt = Instant(milliseconds: subject.signedAt.milliseconds)
        let document = StoredDocument(
            app: app, id: Array(SHA256.hash(data: bytes)), kind: .notification,
            environment: .production, source: .notification, signedAt: signedAt,
            receivedAt: Instant(milliseconds: signedAt.milliseconds + 1000), parts: packed.parts,
            headers: packed.headers.map {
                .init(digest: Array(SHA256.hash(data: $0)), segment: $0)
            })
        return (document, try facts(of: subject))
    }

    /// The facts that a notification contains.
    func facts(of subject: Subject) throws(IntakeFailure) -> [Fact] {
        [
            try Intake.fact(of: transaction(subject), signedAt: subject.signedAt),
            try Intake.fact(of: renewal(subject), signedAt: subject.signedAt),
        ]
    }
}
