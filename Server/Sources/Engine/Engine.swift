import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Ledger
import Logging
import Storage

/// The verbs: take in what Apple says, say what a customer may use. Decisions are made in Ledger;
/// rows are written by Storage; here is the border of the transaction.
package struct Engine: Sendable {
    let store: Store
    let apps: [AppID: AppSettings]
    let verifiers: [AppID: Verifier]
    let now: @Sendable () -> Instant
    let logger: Logger
    let counters = Counters()
    let digests = HeaderDigests()
    let productsLookedUp = ProductsLookedUp()
    let asking: Asking
    let wishes = Wishes()
    let states = AskingStates()
    let forwarding: Forwarding
    let forwardingStates = ForwardingStates()
    let mint = TokenMint()
    let reminding = Reminding()
    let catchUpPauses = CatchUpPauses()
    let walks = HistoryWalks()
    let askingTurn = AskingTurn()
    let signers: [AppID: OfferSigner]

    /// - Parameter verifiers: for each app the one that holds the roots it trusts.
    /// - Parameter now: the machine's clock, or a simulator's.
    /// - Parameter asking: how the App Store is asked.
    /// - Parameter forwarding: how notifications are sent on.
    /// - Parameter signers: for each app that may sign offers the one that does.
    package init(
        database: any Database, apps: [AppSettings], verifiers: [AppID: Verifier],
        now: @escaping @Sendable () -> Instant, asking: Asking = .nobody,
        forwarding: Forwarding = .nobody, signers: [AppID: OfferSigner] = [:], logger: Logger
    ) {
        precondition(
            apps.allSatisfy { verifiers[$0.id] != nil }, "Every app needs a verifier of its own.")
        precondition(
            Set(apps.map(\.bundleID)).count == apps.count, "Two apps have the same bundle.")
        store = Store(
            database,
            rules: StoreRules(
                checks: asking.rules,
                access: Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0.rules) }),
                reminding: Set(apps.filter(\.terms.hasReminders).map(\.id)),
                wallets: Dictionary(
                    uniqueKeysWithValues: apps.filter { !$0.wallets.all.isEmpty }
                        .map { ($0.id, $0.wallets) }),
                withForeignTokens: Set(apps.filter { $0.accountTokens == .other }.map(\.id)),
                erasedHash: { $0.hash }, erasureKeying: .hmac))
        self.asking = asking
        self.forwarding = forwarding
        self.signers = signers
        self.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        self.verifiers = verifiers
        self.now = now
        self.logger = logger
    }

    /// Brings the tables up to this program's version. Harmless to repeat.
    package func prepare() async throws(EngineFailure) {
        let now = now().milliseconds
        do { try await store.migrate(at: now) } catch { throw EngineFailure(error) }
        try await keyErasures()
    }

    /// Makes the tables of the months to come, where the database keeps documents by month.
    /// Harmless to repeat.
    package func prepareMonths() async throws(EngineFailure) {
        let now = now()
        do { try await store.prepareMonths(around: now) } catch { throw EngineFailure(error) }
    }

    /// Whether the database answers and writes. After a write that failed, for whatever reason, it
    /// is tried with a small one: until that succeeds, the engine is not ready.
    package func isReady() async -> Bool {
        do { try await store.checkWrites(at: now()) } catch {
            logger.error("The database does not write.", metadata: ["error": "\(error)"])
            return false
        }
        do {
            _ = try await reading { tx in try tx.keyCount(of: AppID(rawValue: "")) }
            return true
        } catch {
            logger.error("The database does not answer.", metadata: ["error": "\(error)"])
            return false
        }
    }

    func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await store.transaction(body) } catch { throw EngineFailure(error) }
    }

    func reading<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await store.reading(body) } catch { throw EngineFailure(error) }
    }

    func app(_ id: AppID) throws(EngineFailure) -> (AppSettings, Verifier) {
        guard let settings = apps[id], let verifier = verifiers[id] else { throw .unknownApp(id) }
        return (settings, verifier)
    }

    /// Whether any app takes evidence from before StoreKit 2.
    package var takesLegacy: Bool { apps.values.contains(where: \.takesLegacy) }

    /// Where there is but one, nobody's claim needs to be read.
    var onlyApp: (AppSettings, Verifier)? {
        guard apps.count == 1, let settings = apps.values.first,
            let verifier = verifiers[settings.id]
        else { return nil }
        return (settings, verifier)
    }

    /// The app that a document claims to be for. The claim only chooses by whose identity it is
    /// verified.
    func app(claimedBy jws: [UInt8]) throws(EngineFailure) -> (AppSettings, Verifier) {
        let claim = Verifier.peek(jws)
        guard let settings = apps.values.first(where: { $0.bundleID == claim?.bundleID }),
            let verifier = verifiers[settings.id]
        else {
            if claim == nil { throw .unreadable("The payload is no signed document.") }
            throw .notForAnyApp(
                found: claim?.bundleID, known: apps.values.map(\.bundleID).sorted())
        }
        return (settings, verifier)
    }
}

extension Instant {
    init(_ date: AppStoreDate) { self.init(milliseconds: date.milliseconds) }
}

extension AppStoreDate {
    init(_ instant: Instant) { self.init(milliseconds: instant.milliseconds) }
}
