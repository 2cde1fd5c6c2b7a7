import AppStoreClient
import AppStoreFormats
import Crypto
import Engine
import Ledger
import Logging
import Synchronization
import Testing

@testable import Program
@testable import Simulator

/// A server fetches the App Store's report files with a team key.
@Suite(.serialized) struct ReportFetchStories {
    @Test
    func `reports are fetched each day, and missed reports are fetched after an outage of Apple`()
        async throws
    {
        let fetcher = try await Fetcher()
        let first = fetcher.today
        _ = try await fetcher.fetchAll()
        try await fetcher.store.addDevice(account: "anna")
        try await fetcher.store.purchase(PurchaseOrder("pro.monthly"), on: "anna-1")
        for day in 1...12 {
            try await fetcher.store.advance(by: ISODuration(days: 1, milliseconds: 0))
            if day == 3 {
                try await fetcher.store.addDevice(account: "ben")
                try await fetcher.store.purchase(PurchaseOrder("seeds.100"), on: "ben-1")
            }
            if day == 5 { await fetcher.breakOff(forDays: 2) }
            let outcome = try await fetcher.fetchAll()
            #expect(outcome.troubles.isEmpty != (5...6).contains(day), "day \(day): \(outcome)")
            if (5...6).contains(day) {
                // The server does not try again immediately.
                let again = try #require(
                    try await fetcher.engine.appleReports.fetch(of: Fetcher.app))
                #expect(again == ReportFetchOutcome())
            }
            if day == 7 {
                // This is the file with ben's purchase on the third day.
                #expect(outcome.stored.contains { $0.hasPrefix("S_D_") })
                #expect(outcome.count >= 12, "three days of four reports each: \(outcome)")
            }
        }
        let comparison = try await fetcher.engine.appleReports.reconcileSales(
            of: Fetcher.app, in: first...fetcher.today - 2, .utc)
        #expect(comparison.reconciliation.differences == [])
        #expect(comparison.reconciliation.comparedCount > 0)
        // A day without sales counts in the same way as a day with a file.
        #expect(comparison.files == Int(fetcher.today - 2 - first) + 1)
    }

    @Test func `if a server was down for a week, it fetches all missed reports, each once`()
        async throws
    {
        let fetcher = try await Fetcher()
        _ = try await fetcher.fetchAll()
        try await fetcher.store.addDevice(account: "anna")
        try await fetcher.store.purchase(PurchaseOrder("pro.monthly"), on: "anna-1")
        try await fetcher.store.advance(by: ISODuration(days: 7, milliseconds: 0))
        let outcome = try await fetcher.fetchAll()
        let days = Set(outcome.stored.filter { $0.hasPrefix("SUBSCRIPTION_D_") })
        // Apple has a day's report from eight o'clock Pacific time of the next day.
        #expect(days.count == 6, "\(outcome.stored)")
        #expect(outcome.stored.contains { $0.hasPrefix("S_D_80000001_2026") })
        #expect(try await fetcher.fetchAll() == ReportFetchOutcome())
    }

    @Test func `with a wrong key no report is stored, and the message names app_store.reports`()
        async throws
    {
        let other = P256.Signing.PrivateKey()
        let fetcher = try await Fetcher { try other.signature(for: $0) }
        let outcome = try #require(try await fetcher.engine.appleReports.fetch(of: Fetcher.app))
        #expect(outcome.count == 0)
        #expect(outcome.troubles.count == 1)
        #expect(outcome.troubles.first?.contains("app_store.reports") == true)
    }
}

/// A server and a simulator on one clock, and the client between them.
private final class Fetcher: Sendable {
    static let app: AppID = "birds"

    let store: AppStoreSimulator
    let engine: Engine
    private let folder: TemporaryFolder

    init(
        sign: @escaping @Sendable ([UInt8]) throws -> P256.Signing.ECDSASignature =
            APIKey.wellKnownSignature
    ) async throws {
        folder = try TemporaryFolder()
        var settings = SimulatorSettings(shop: try ExampleShop.file(), notificationURL: "direct")
        settings.reports.timeZone = "UTC"
        let line = StoreLine()
        let credentials = AppStoreCredentials(
            keyID: APIKey.wellKnown.id, issuerID: APIKey.wellKnown.issuerID, bundleID: nil,
            sign: sign)
        let start = settings.now
        let client = AppStoreClient(
            credentials, now: { line.store?.clock.now ?? start },
            send: { try await line.respond($0) })
        var reconciliation = ReconciliationSettings.disabled
        let fetching = ReportFileSource.limited(
            client: client, vendorNumber: settings.reports.vendorNumber)
        reconciliation.reports = { _ in fetching }
        let authority = try SigningAuthority()
        let app = AppConfiguration(
            settings: AppSettings(
                id: Self.app, bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
                isSimulated: true, entitlements: ["pro": ["pro.monthly"]]), extraRoots: [])
        let assembly = try await Assembly(
            apps: [app], databaseAddress: "\(folder.path)/reports.sqlite",
            simulatorRoot: authority.rootDER,
            now: { Instant(milliseconds: (line.store?.clock.now ?? start).milliseconds) },
            reconciliation: reconciliation,
            logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
        let engine = assembly.engine
        self.engine = engine
        store = AppStoreSimulator(
            settings, authority: authority, keepsRoot: true,
            post: { _, body in
                do {
                    _ = try await engine.recording.record(notification: body)
                    return PostResult(status: 200)
                } catch { return PostResult(status: 503, error: "\(error)") }
            })
        line.follow(store)
    }

    deinit { folder.remove() }

    /// The number of the present day in UTC.
    var today: Int64 {
        WallClock.utc.dayNumber(at: Instant(milliseconds: store.clock.milliseconds))
    }

    /// Fetches until no file is left or a request fails.
    func fetchAll() async throws -> ReportFetchOutcome {
        var all = ReportFetchOutcome()
        while let outcome = try await engine.appleReports.fetch(of: Self.app, isPatient: false) {
            all.stored += outcome.stored
            all.empty += outcome.empty
            all.troubles += outcome.troubles
            guard outcome.count > 0, outcome.troubles.isEmpty else { return all }
        }
        return all
    }

    func breakOff(forDays days: Int64) async {
        let now = store.clock.milliseconds
        let until = AppStoreDate(milliseconds: now + days * 86_400_000)
        await store.setFaults {
            $0.apiOutage = Outage(from: AppStoreDate(milliseconds: now), until: until)
        }
    }
}

/// Connects the client with the simulator, which is created later than the client.
private final class StoreLine: Sendable {
    private let connected = Mutex<AppStoreSimulator?>(nil)

    var store: AppStoreSimulator? { connected.withLock { $0 } }

    func follow(_ store: AppStoreSimulator) { connected.withLock { $0 = store } }

    func respond(_ request: AppStoreRequest) async throws -> AppStoreResponse {
        guard let store else { throw CancellationError() }
        let endpoint: ReportCall.Endpoint =
            request.path == "/v1/salesReports" ? .sales : .finance
        let query = request.query.map { (name: $0.0, value: $0.1) }
        let result = await store.report(
            ReportCall(
                endpoint: endpoint, query: query, authorization: request.authorization,
                accept: request.accept, arrived: store.clock.now))
        switch result {
        case .success(let bytes): return AppStoreResponse(status: 200, body: bytes)
        case .failure(let error):
            return AppStoreResponse(status: error.status, body: error.json.bytes)
        }
    }
}
