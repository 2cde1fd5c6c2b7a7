import AppStoreFormats
import Ledger
import Storage

/// A stored document, verified again, with its bytes.
package struct OpenedDocument: Sendable {
    package var head: DocumentHead
    /// The document's bytes, as they were received.
    package var bytes: [UInt8]
    /// The decoded payload as indented JSON, including the payloads of the documents inside. Nil
    /// for a receipt, which is not JSON.
    package var payload: String?
    /// Why the document is no longer valid. Nil if the document is as valid as when it was
    /// received.
    package var refusal: EngineFailure?
    /// The purchases about which the document attests something.
    package var purchases: [PurchaseID]
    /// The customer who has one of these purchases. Nil if no customer has one of them.
    package var owner: CustomerID?

    /// The document as text. For a receipt, which is binary, its Base64.
    package var text: String {
        let bytes = head.kind == .appReceipt ? Base64.standard.encode(bytes) : bytes
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Data about a document, needed in addition to the document's id to find the document. There is no
/// index by id alone.
package struct DocumentHint: Sendable {
    /// A purchase about which the document attests something.
    package var purchase: PurchaseID?
    /// When the document was received, or when its content became known.
    package var knownAt: Instant?

    package init(purchase: PurchaseID? = nil, knownAt: Instant? = nil) {
        self.purchase = purchase
        self.knownAt = knownAt
    }
}

/// Lists stored documents, and reads one.
package struct DocumentService: Sendable {
    let context: Context
    let verification: VerificationService

    /// The longest times between the signature of a document and its arrival, for searches without
    /// a purchase. Each longer search is made only if the previous one has found nothing.
    private static let searches: [Duration] = [.seconds(600), .hours(6), .days(6)]
    /// The longest time by which the signing time of a document may be ahead of this server's
    /// clock.
    private static let aheadMax = Duration.seconds(600)

    /// Returns a document of an app. Finds the document by a purchase that it is about, or by the
    /// time at which it became known. If a document from a device was signed long before its
    /// arrival, it is found only by purchase.
    ///
    /// - Returns: nil if the document is not found in this way.
    package func find(
        _ id: DocumentID, of appID: AppID, _ hint: DocumentHint
    ) async throws(EngineFailure) -> OpenedDocument? {
        _ = try context.app(appID)
        guard let bytes = Hexadecimal.bytes(id.rawValue) else { return nil }
        let stored: StoredDocument? = try await context.read { tx in
            guard let signedAt = try PurchaseDecisions(tx).signingTime(of: bytes, in: appID, hint)
            else { return nil }
            return try tx.documents.find(bytes, signedAt: signedAt, of: appID)
        }
        guard let stored else { return nil }
        return try await opened(stored)
    }

    private func opened(_ stored: StoredDocument) async throws(EngineFailure) -> OpenedDocument {
        var opened = OpenedDocument(
            head: DocumentHead(stored), bytes: stored.bytes ?? [], purchases: [])
        opened.payload = stored.payload
        do throws(EngineFailure) {
            let facts = try await verification.verify(again: stored).facts
            opened.purchases = Set(facts.map(\.purchase)).sorted()
        } catch {
            opened.refusal = error
        }
        let purchases = opened.purchases
        opened.owner = try await context.read { tx in
            for purchase in purchases {
                if let link = try tx.links.find(of: purchase, in: stored.app) {
                    return link.customer
                }
            }
            return nil
        }
        return opened
    }

    static func ranges(before knownAt: Instant) -> [ClosedRange<Instant>] {
        searches.map { (knownAt - $0)...(knownAt + aheadMax) }
    }
}

extension DocumentHead {
    fileprivate init(_ document: StoredDocument) {
        self.init(
            id: document.id, kind: document.kind, environment: document.environment,
            source: document.source, signedAt: document.signedAt,
            receivedAt: document.receivedAt)
    }
}

// MARK: - Payloads

extension StoredDocument {
    /// The document's content, as indented JSON. Nil if the content is not JSON.
    var payload: String? {
        json.map { String(decoding: $0.bytes(isIndented: true), as: UTF8.self) }
    }

    /// The document's content, with the payloads of signed members in place of their documents. Nil
    /// if the content is not JSON.
    var json: JSON? { bytes.flatMap { Self.json(of: $0, kind) } }

    private static func json(of bytes: [UInt8], _ kind: Kind) -> JSON? {
        switch kind {
        case .notification, .transaction, .renewal, .appTransaction: payload(ofJWS: bytes)
        case .notificationV1, .receiptResponse, .graceResponse: try? JSON(parsing: bytes)
        case .appReceipt, .transactionReceipt: nil
        }
    }

    private static func payload(ofJWS bytes: [UInt8]) -> JSON? {
        guard let payload = CompactJWS(bytes)?.payload else { return nil }
        return (try? JSON(parsing: payload))?.withDecodedMembers
    }
}

extension JSON {
    private static let signedMembers: Set = ["signedTransactionInfo", "signedRenewalInfo"]

    /// Decodes the signed members of this object and of its member `data`.
    fileprivate var withDecodedMembers: JSON {
        guard case .object(let members) = self else { return self }
        return .object(
            members.map { member in
                if member.key == "data" {
                    return Member(member.key, member.value.withDecodedMembers)
                }
                guard Self.signedMembers.contains(member.key), let text = member.value.string,
                    let payload = CompactJWS(text)?.payload,
                    let json = try? JSON(parsing: payload)
                else { return member }
                return Member(member.key, json)
            })
    }
}
