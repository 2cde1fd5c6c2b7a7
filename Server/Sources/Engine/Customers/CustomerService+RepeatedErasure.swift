import Ledger
import Storage

/// The result of repeating the listed erasures that the database does not have.
package struct RepeatedErasures: Hashable, Sendable {
    /// The number of erasures that the database did not contain: the database is older than the
    /// erasure, or a server was killed before the end of the erasure was listed.
    package var missing = 0
    /// The number of customers who were still stored, and were erased again.
    package var erased = 0
    /// The number of erasures whose ids cannot be compared: they were listed under the key of
    /// another database, or their app is not configured.
    package var unknown = 0

    package init() {}
}

extension CustomerService {
    /// Creates the keys under which erasures are listed. Called even if no list is configured, so
    /// that every backup contains the keys. Idempotent.
    package func prepare() async throws(EngineFailure) {
        for app in context.appIDs { _ = try await erasureKey(of: app) }
    }

    /// Repeats the listed erasures of people whom the database still contains. Idempotent. Call it
    /// before anybody can read the database.
    ///
    /// - Parameter listed: all erasures of the list.
    package func repeatErasures(
        _ listed: [ListedErasure]
    ) async throws(EngineFailure) -> RepeatedErasures {
        guard let erasureList else { return RepeatedErasures() }
        return try await LostErasures(customers: self, list: erasureList).repeatAll(listed)
    }
}

/// Finds and repeats the erasures that a restored database does not have.
///
/// After a restore, the log of the database stops before the ends of the lost erasures, or belongs
/// to another epoch. The server finds the ids of such erasures by their HMACs, and erases the
/// customers as if somebody had requested it. If a customer's id is newer than the erasure, it
/// belongs to another person, or the person has come back: such a customer stays. Then a further
/// end of each erasure is appended to the list, with a position in the present epoch. So the next
/// start erases nobody who comes back later.
private struct LostErasures {
    let customers: CustomerService
    let list: ErasureList

    private var context: Context { customers.context }

    /// The number of ids that are read and compared in one transaction.
    private static let searchedAtOnce = 1_000

    func repeatAll(
        _ listed: [ListedErasure]
    ) async throws(EngineFailure) -> RepeatedErasures {
        var outcome = RepeatedErasures()
        for (app, erasures) in Dictionary(grouping: listed, by: \.intent.app)
            .sorted(by: { $0.key < $1.key })
        {
            guard context.apps[app] != nil else {
                outcome.unknown += erasures.count
                continue
            }
            let key = try await customers.erasureKey(of: app)
            let missing = try await missing(among: erasures, of: app)
            let known = missing.filter { $0.intent.key == key.name }
            outcome.unknown += missing.count - known.count
            guard !known.isEmpty else { continue }
            outcome.missing += known.count
            outcome.erased += try await erase(known.map(\.intent), of: app, by: key)
            let position = try await nextPosition(of: app)
            do {
                try await list.append(
                    known.filter { !$0.ends.contains(position) }
                        .map { .end(name: $0.intent.name, app: app, position: position) })
            } catch { throw .storage("The list of erasures failed: \(error)") }
        }
        return outcome
    }

    /// The erasures that are not in the database, according to the app's event log.
    private func missing(
        among erasures: [ListedErasure], of app: AppID
    ) async throws(EngineFailure) -> [ListedErasure] {
        try await readingLog { tx in
            let epochs = try tx.events.epochs(of: app)
            let last = try tx.events.lastSequence(of: app)
            return erasures.filter { erasure in
                !erasure.ends.contains { epochs.contain($0, last: last) }
            }
        }
    }

    private func nextPosition(of app: AppID) async throws(EngineFailure) -> LogPosition {
        try await readingLog { tx in try tx.events.nextPosition(of: app) }
    }

    private func readingLog<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await context.db.readingLog(body) } catch { throw context.counted(error) }
    }

    /// Erases the customers of these erasures whom the database contains. Returns their number.
    private func erase(
        _ intents: [ErasureIntent], of app: AppID, by key: ErasureKey
    ) async throws(EngineFailure) -> Int {
        let sought = SoughtErasures(intents)
        var erased = 0
        for place in StoredID.Place.allCases {
            for id in try await ids(sought, in: place, of: app, by: key) {
                // The id may belong to a customer who was erased a moment ago under another id.
                guard try await isStored(id, in: place, of: app) else { continue }
                // The list already contains the intent. A new intent would have a later time. If a
                // newer database is used again, a new intent would erase people who came back
                // before that time.
                _ = try await customers.erase(id, app: app, listing: nil)
                erased += 1
            }
        }
        let spared = try await tombstones(ofCustomersIn: app, among: sought, by: key)
        try await record(sought.tombstones.filter { !spared.contains($0.key) }, of: app)
        return erased
    }

    /// The ids in a place that belong to one of the erasures, and are not newer than the erasure.
    private func ids(
        _ sought: SoughtErasures, in place: StoredID.Place, of app: AppID, by key: ErasureKey
    ) async throws(EngineFailure) -> [CustomerID] {
        var found: [CustomerID] = []
        try await eachBatch(in: place, of: app) { batch in
            for stored in batch where sought.contain(stored, in: place, by: key) {
                found.append(stored.id)
            }
        }
        return found
    }

    private func eachBatch(
        in place: StoredID.Place, of app: AppID, _ body: ([StoredID]) -> Void
    ) async throws(EngineFailure) {
        var last = ""
        while true {
            let after = last
            let batch = try await context.scan { tx in
                try tx.erasedIDs.ids(in: place, of: app, after: after, limit: Self.searchedAtOnce)
            }
            guard let end = batch.last else { return }
            body(batch)
            last = end.id.rawValue
        }
    }

    private func isStored(
        _ id: CustomerID, in place: StoredID.Place, of app: AppID
    ) async throws(EngineFailure) -> Bool {
        try await context.read { tx in
            switch place {
            case .customer: try tx.customers.find(known: id, in: app) != nil
            // A token that is also the id of a customer was handled in the place `customer`.
            case .token:
                try tx.accountTokens.identifyCustomers(in: app)
                    && tx.customers.find(known: id, in: app) == nil
                    && CustomerFinder(tx).customerToErase(id, in: app) != nil
            case .invitation:
                try tx.customers.find(known: id, in: app) == nil
                    && tx.seatInvitations.exist(naming: [id], in: app)
            }
        }
    }

    /// The tombstones of ids that are account tokens of present customers. Such a token must keep
    /// identifying its customer, so its tombstone is not recorded.
    private func tombstones(
        ofCustomersIn app: AppID, among sought: SoughtErasures, by key: ErasureKey
    ) async throws(EngineFailure) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        try await eachBatch(in: .customer, of: app) { batch in
            for stored in batch where stored.id.accountToken != nil {
                let tombstone = key.tombstone(stored.id)
                if sought.tombstones[tombstone] != nil { found.insert(tombstone) }
            }
        }
        return found
    }

    /// Records the erased ids. Also records ids that the database does not contain, because a
    /// document that arrives again may contain such an id as its account token.
    private func record(
        _ tombstones: [[UInt8]: Instant], of app: AppID
    ) async throws(EngineFailure) {
        do {
            try await context.db.transaction { tx in
                for (code, at) in tombstones.sorted(by: { $0.value < $1.value }) {
                    try tx.erasedIDs.record(codes: [code], in: app, at: at)
                }
            }
        } catch { throw context.counted(error) }
    }
}

/// The codes to search for in a database, each with the moment of its latest erasure.
private struct SoughtErasures: Sendable {
    private(set) var exact: [[UInt8]: Instant] = [:]
    private(set) var tombstones: [[UInt8]: Instant] = [:]

    init(_ intents: [ErasureIntent]) {
        for intent in intents {
            for code in intent.codes {
                exact[code.exact] = max(exact[code.exact] ?? intent.at, intent.at)
                tombstones[code.tombstone] = max(
                    tombstones[code.tombstone] ?? intent.at, intent.at)
            }
        }
    }

    /// Whether a stored id belongs to one of the erasures, and is not newer than the erasure.
    func contain(_ stored: StoredID, in place: StoredID.Place, by key: ErasureKey) -> Bool {
        switch place {
        case .customer, .invitation:
            guard let at = exact[key.exact(stored.id)] else { return false }
            return stored.since.map { $0 <= at } ?? true
        case .token: return tombstones[key.tombstone(stored.id)] != nil
        }
    }
}
