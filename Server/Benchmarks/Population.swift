import AppStoreFormats
import Crypto
import Engine
import Foundation
import Ledger
import Storage
import StorageSQLite

/// A database of very many customers, each with one subscription and three documents: the purchase
/// posted by a device, its notification, and the notification of its latest renewal.
///
/// The documents are complete and can be unpacked byte for byte. But their ids were changed after
/// signing, so their signatures are invalid. Signing three million documents would take most of the
/// time.
struct Population {
    static let documentsEach = 3
    private static let app = AppID(rawValue: "birds")
    private static let chunk = 2000

    let customers: Int
    private let maker: DocumentMaker
    private let posted: Template
    private let bought: Template
    private let renewed: Template

    init(_ customers: Int, _ maker: DocumentMaker) throws {
        self.customers = customers
        self.maker = maker
        let last = DocumentMaker.periods - 1
        posted = try Template(.transaction, period: 0, maker)
        bought = try Template(.notification, period: 0, maker)
        renewed = try Template(.notification, period: last, maker)
    }

    /// Returns a customer's id. Every second one is a UUID, as in apps that pass their ids to the
    /// App Store as account tokens.
    static func id(of number: Int) -> String {
        guard number.isMultiple(of: 2) else { return "customer-\(number)" }
        let digits = String(number)
        return "7f3c1a52-94d0-4b7e-8c11-" + String(repeating: "0", count: 12 - digits.count)
            + digits
    }

    /// Returns a short hash of a database's tables and indexes. A population made with a different
    /// schema cannot be used.
    static func schemaName(of path: String) async throws -> String {
        let database = try SQLiteDriver(path: path)
        let statements = try await database.read {
            try $0.texts("SELECT coalesce(sql, '') FROM sqlite_master ORDER BY name")
        }
        database.close()
        let text = statements.joined(separator: "\n")
        return SHA256.hash(data: Array(text.utf8)).prefix(4)
            .map { String($0, radix: 36) }.joined()
    }

    /// Fills a database that already has its tables. No other process may write to it.
    func fill(_ path: String) async throws {
        let database = try SQLiteDriver(path: path)
        let store = Database(database)
        let start = ContinuousClock.now
        var next = residents(from: 0)
        for first in stride(from: 0, to: customers, by: Self.chunk) {
            // The next documents are made while these are written.
            let present = next
            async let following = residents(from: first + Self.chunk)
            try await store.transaction { tx in
                for resident in present { try Self.insert(resident, tx) }
            }
            next = await following
            let done = min(first + Self.chunk, customers)
            if done % (Self.chunk * 50) == 0 || done == customers {
                let seconds = (ContinuousClock.now - start).components.seconds
                Progress.report("  \(done) of \(customers) customers, \(seconds) s")
            }
        }
        database.close()
    }

    private struct Resident: Sendable {
        var id: CustomerID
        var documents: [StoredDocument]
        /// The facts of each document.
        var facts: [[Fact]]
    }

    private func residents(from first: Int) -> [Resident] {
        guard first < customers else { return [] }
        return (first..<min(first + Self.chunk, customers)).map(resident)
    }

    private func resident(_ number: Int) -> Resident {
        let templates = [posted, bought, renewed]
        return Resident(
            id: CustomerID(rawValue: Self.id(of: number)),
            documents: templates.map { $0.document(number, app: Self.app) },
            facts: templates.map { facts(of: .init(number: number, period: $0.period), $0.kind) })
    }

    private func facts(
        of subject: DocumentMaker.Subject, _ kind: StoredDocument.Kind
    ) -> [Fact] {
        do {
            let facts = try maker.facts(of: subject)
            return kind == .notification ? facts : Array(facts.prefix(1))
        } catch { preconditionFailure("Our own payloads have all fields of a fact: \(error)") }
    }

    private static func insert(_ resident: Resident, _ tx: DatabaseSession) throws {
        let now = resident.documents[0].receivedAt
        let customer = try IdentityUpdates(tx).customer(resident.id, in: app, at: now)
        _ = try tx.documents.insert(resident.documents)
        for (document, facts) in zip(resident.documents, resident.facts) {
            try DocumentRecorder(tx).project(facts, from: document)
        }
        guard let purchase = resident.facts.first?.first?.purchase else { return }
        try OwnershipUpdates(tx).link(
            purchase, to: customer.customer, by: .device, in: app, at: now)
    }
}

/// A packed document in which the ids are replaced for each customer.
private struct Template: Sendable {
    private static let sample = 123_456

    let kind: StoredDocument.Kind
    let period: Int
    private let parts: [UInt8]
    private let headers: [StoredDocument.Header]
    /// For each id in the document, the offset of its place, and the number of the id.
    private let places: [(offset: Int, number: Int)]

    init(_ kind: StoredDocument.Kind, period: Int, _ maker: DocumentMaker) throws {
        let subject = DocumentMaker.Subject(number: Self.sample, period: period)
        let jws =
            kind == .notification
            ? try maker.notification(subject) : try maker.signedTransaction(subject)
        let packed = PackedDocument(packing: Array(jws.utf8))
        self.kind = kind
        self.period = period
        parts = packed.parts
        headers = packed.headers.map {
            .init(digest: Array(SHA256.hash(data: $0)), segment: $0)
        }
        places = Self.numbers(subject).enumerated().flatMap { number, text in
            packed.parts.offsets(of: Array(text.utf8)).map { ($0, number) }
        }
        guard places.count > 3 else { throw BenchFailure("a document has too few ids") }
    }

    /// Everything that differs between customers. Each value has a fixed length, and no constant
    /// leading digits.
    private static func numbers(_ subject: DocumentMaker.Subject) -> [String] {
        [
            String(subject.original.dropFirst()), String(subject.transaction.dropFirst()),
            subject.line, subject.uuid, "\(subject.signedAt.milliseconds)",
        ]
    }

    func document(_ number: Int, app: AppID) -> StoredDocument {
        let subject = DocumentMaker.Subject(number: number, period: period)
        let texts = Self.numbers(subject).map { Array($0.utf8) }
        var parts = parts
        for place in places {
            let text = texts[place.number]
            parts.replaceSubrange(place.offset..<place.offset + text.count, with: text)
        }
        let packed = PackedDocument(parts: parts, headers: headers.map(\.segment))
        guard let bytes = packed.unpacked else {
            preconditionFailure("Ids of the same length keep a packed document valid.")
        }
        return StoredDocument(
            app: app, id: Array(SHA256.hash(data: bytes)), kind: kind, environment: .production,
            source: kind == .notification ? .notification : .device,
            signedAt: Instant(milliseconds: subject.signedAt.milliseconds),
            receivedAt: Instant(milliseconds: subject.signedAt.milliseconds + 1000), parts: parts,
            headers: headers)
    }
}

extension [UInt8] {
    fileprivate func offsets(of text: [UInt8]) -> [Int] {
        guard count >= text.count else { return [] }
        return (0...(count - text.count)).filter { self[$0..<$0 + text.count].elementsEqual(text) }
    }
}
