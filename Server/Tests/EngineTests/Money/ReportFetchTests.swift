import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Crypto
import Ledger
import Logging
import StorageSQLite
import Synchronization
import Testing

@testable import Engine

/// Days without sales according to the App Store, and files of another vendor.
@Suite struct ReportFetchTests {
    /// An App Store with sales reports of a few days, and the server that fetches them.
    private final class Scene: Sendable {
        static let app: AppID = "birds"

        private struct State {
            var now = Instant(milliseconds: 1_772_000_000_000)
            var vendorNumber = "80000001"
            /// The responses of the App Store, by vendor and day.
            var responses: [String: AppStoreResponse] = [:]
            var requests: [String] = []
            /// The only version of a report that the App Store serves, by type of report.
            var versions: [String: String] = [:]
            /// The response to all requests for a type of report, and the number of requests by
            /// type.
            var refusals: [String: AppStoreResponse] = [:]
            var types: [String: Int] = [:]
            var regions: [String] = []
        }

        let engine: Engine
        private let state: Box

        private final class Box: Sendable {
            let value = Mutex(State())

            func respond(_ request: AppStoreRequest) -> AppStoreResponse {
                func text(_ name: String) -> String {
                    request.query.first { $0.0.contains(name) }?.1 ?? ""
                }
                let name = "\(text("vendorNumber")) \(text("reportDate"))"
                let type = text("reportType")
                let refused = value.withLock { state -> AppStoreResponse? in
                    state.types[type, default: 0] += 1
                    if let refusal = state.refusals[type] { return refusal }
                    guard let only = state.versions[type], only != text("version") else {
                        return nil
                    }
                    return .problem(
                        400, "PARAMETER_ERROR.INVALID",
                        "The version parameter you have specified is invalid. "
                            + "The latest version for this report is \(only).")
                }
                if let refused { return refused }
                guard type == "SALES" else { return .noSales }
                return value.withLock { state in
                    state.requests.append(name)
                    return state.responses[name] ?? .noSales
                }
            }
        }

        init() async throws {
            let state = Box()
            self.state = state
            let credentials = try AppStoreCredentials(
                keyID: "KEY1", issuerID: "ISSUER", bundleID: nil,
                privateKey: P256.Signing.PrivateKey().pemRepresentation)
            let now: @Sendable () -> Instant = { state.value.withLock { $0.now } }
            let client = AppStoreClient(
                credentials, now: { AppStoreDate(milliseconds: now().milliseconds) },
                send: { state.respond($0) })
            var reconciliation = ReconciliationSettings.disabled
            reconciliation.reports = { _ in
                ReportFileSource(
                    client: client, vendorNumber: state.value.withLock { $0.vendorNumber },
                    regions: state.value.withLock { $0.regions }, decompress: { $0 })
            }
            engine = Engine(
                database: try SQLiteDriver.inMemory(),
                apps: [AppSettings(id: Self.app, bundleID: "com.example.birds", entitlements: [:])],
                verifiers: [Self.app: Verifier(roots: .apple)], now: now,
                reconciliation: reconciliation,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await engine.prepare()
        }

        /// The last day for which Apple has a report.
        var lastDay: Int64 {
            WallClock.utc.dayNumber(at: state.value.withLock { $0.now }) - 2
        }

        func pass(days: Int) { state.value.withLock { $0.now = $0.now + .days(days) } }

        func change(vendorNumber: String) {
            state.value.withLock { $0.vendorNumber = vendorNumber }
        }

        func respond(_ response: AppStoreResponse, vendor: String, on day: Int64) {
            let name = "\(vendor) \(Ledger.CivilDate(dayNumber: day).text)"
            state.value.withLock { $0.responses[name] = response }
        }

        /// Serves a report in one version only.
        func serve(_ type: SalesReportKind, only version: String) {
            state.value.withLock { $0.versions[type.rawValue] = version }
        }

        func refuse(_ type: SalesReportKind, with response: AppStoreResponse) {
            state.value.withLock { $0.refusals[type.rawValue] = response }
        }

        func ask(forRegions regions: [String]) { state.value.withLock { $0.regions = regions } }

        /// The number of requests by type of report since the last call.
        func takeTypes() -> [String: Int] {
            state.value.withLock { state in
                defer { state.types = [:] }
                return state.types
            }
        }

        /// One run of the server's worker.
        func work() async throws -> ReportFetchOutcome {
            try #require(try await engine.appleReports.fetch(of: Self.app))
        }

        /// Fetches all reports that are due. Returns the number of requests for the day.
        func fetch(_ day: Int64) async throws -> (requests: Int, outcome: ReportFetchOutcome) {
            var all = ReportFetchOutcome()
            while true {
                let outcome = try #require(
                    try await engine.appleReports.fetch(
                        of: Self.app, isPatient: false, besides: all.leftOut))
                all.leftOut = outcome.leftOut
                all.stored += outcome.stored
                all.empty += outcome.empty
                all.troubles += outcome.troubles
                guard outcome.count == 0 else { continue }
                let requests = state.value.withLock { state in
                    defer { state.requests = [] }
                    return state.requests
                }
                let date = Ledger.CivilDate(dayNumber: day).text
                return (requests.count { $0.hasSuffix(date) }, all)
            }
        }

        func units(_ day: Int64) async throws -> [Int64] {
            try await engine.appleReports.reconcileSales(of: Self.app, in: day...day, .utc).apples
                .map(\.units)
        }
    }

    private static func file(_ day: Int64, units: Int64) throws -> AppStoreResponse {
        var row = SalesRow()
        (row.sku, row.productType, row.units) = ("pro.monthly", .autoRenewable, units)
        let date = AppStoreFormats.CivilDate(daysSince1970: day)
        (row.begin, row.end) = (date, date)
        (row.customerCurrency, row.proceedsCurrency, row.countryCode) = ("USD", "USD", "US")
        return AppStoreResponse(status: 200, body: try SalesReport(rows: [row]).bytes())
    }

    @Test func `a recent day without sales is fetched again each day, and an old day only once`()
        async throws
    {
        let scene = try await Scene()
        let (day, old) = (scene.lastDay, scene.lastDay - 20)
        #expect(try await scene.fetch(day).requests == 1)
        // A day is fetched at most once a day.
        #expect(try await scene.fetch(day).requests == 0)
        scene.pass(days: 1)
        #expect(try await scene.fetch(old).requests == 0)
        scene.pass(days: 1)
        scene.respond(try Self.file(day, units: 3), vendor: "80000001", on: day)
        scene.respond(try Self.file(old, units: 3), vendor: "80000001", on: old)
        let (requests, outcome) = try await scene.fetch(day)
        #expect(requests == 1)
        #expect(outcome.stored.count == 1)
        #expect(try await scene.units(day) == [3])
        #expect(try await scene.units(old) == [])
        // A stored report is not fetched again.
        scene.pass(days: 1)
        #expect(try await scene.fetch(day).requests == 0)
    }

    @Test func `after two weeks, a day without sales is final`() async throws {
        let scene = try await Scene()
        let day = scene.lastDay
        var asked = 0
        for _ in 1...20 {
            asked += try await scene.fetch(day).requests
            scene.pass(days: 1)
        }
        #expect(asked == 14)
    }

    @Test func `a report that Apple has deleted does not count as a day without sales`()
        async throws
    {
        let scene = try await Scene()
        let day = scene.lastDay
        scene.respond(AppStoreResponse(status: 410, body: []), vendor: "80000001", on: day)
        let (requests, outcome) = try await scene.fetch(day)
        #expect(requests >= 1)
        #expect(outcome.troubles.first?.contains("no longer") == true)
        let found = try await scene.engine.appleReports.reconcileSales(
            of: Scene.app, in: day...day, .utc)
        #expect(found.files == 0)
    }

    /// The number of days for which each report is due at first.
    private static let days = 59

    @Test func `a report in an unreadable version does not hold up the other reports`()
        async throws
    {
        let scene = try await Scene()
        scene.ask(forRegions: ["ZZ"])
        scene.serve(.subscriptionEvent, only: "1_4")
        let (_, outcome) = try await scene.fetch(scene.lastDay)
        let types = scene.takeTypes()
        #expect(types["SUBSCRIPTION_EVENT"] == 1)
        for type in ["SALES", "SUBSCRIPTION", "SUBSCRIBER"] {
            #expect(types[type] ?? 0 >= Self.days, "\(type): \(types)")
        }
        #expect(types["FINANCIAL"] == 3)
        // There is one message for the report, and it names the version that Apple requires.
        #expect(outcome.troubles.count == 1)
        #expect(outcome.troubles.first?.hasPrefix("SUBSCRIPTION_EVENT: ") == true)
        #expect(outcome.troubles.first?.contains("Version 1_4 cannot be read") == true)
        // The server does not ask again on the same day.
        _ = try await scene.work()
        scene.pass(days: 1)
        _ = scene.takeTypes()
        let next = try await scene.work()
        #expect(scene.takeTypes()["SUBSCRIPTION_EVENT"] == 1)
        #expect(next.troubles.count == 1 && !next.isBrokenOff)
    }

    @Test
    func `if Apple requires another version that we can read, later requests use that version`()
        async throws
    {
        let scene = try await Scene()
        scene.serve(.subscriptionEvent, only: "1_2")
        let (_, outcome) = try await scene.fetch(scene.lastDay)
        #expect(outcome.troubles == [])
        let types = scene.takeTypes()
        #expect(types["SUBSCRIPTION_EVENT"] == (types["SUBSCRIPTION"] ?? 0) + 1)
    }

    /// The response to one report, and whether the failure concerns only that report.
    private static let refusals: [(AppStoreResponse, isOfReport: Bool)] = [
        (.problem(400, "PARAMETER_ERROR.INVALID", "Invalid vendor number specified."), true),
        (.problem(403, "FORBIDDEN_ERROR", "The API key has no role for this."), true),
        (.problem(404, "PATH_ERROR", "The URL path is not valid"), true),
        (AppStoreResponse(status: 406, body: []), true),
        (AppStoreResponse(status: 401, body: []), false),
        (AppStoreResponse(status: 429, body: []), false),
        (AppStoreResponse(status: 503, body: []), false),
    ]

    @Test(arguments: refusals)
    func `a refused key, a limit or an outage ends a run, and any other refusal skips one report`(
        refusal: AppStoreResponse, isOfReport: Bool
    ) async throws {
        let scene = try await Scene()
        scene.refuse(.subscription, with: refusal)
        let outcome = try await scene.work()
        #expect(outcome.isBrokenOff == !isOfReport && outcome.troubles.count == 1)
        let types = scene.takeTypes()
        #expect(types["SUBSCRIPTION"] == 1)
        #expect((types["SALES"] ?? 0 > 1) == isOfReport, "\(types)")
    }

    @Test func `after the vendor number changes, all days are fetched again`() async throws {
        let scene = try await Scene()
        let (day, empty) = (scene.lastDay - 20, scene.lastDay - 30)
        scene.respond(try Self.file(day, units: 1), vendor: "80000001", on: day)
        _ = try await scene.fetch(day)
        #expect(try await scene.units(day) == [1])
        scene.change(vendorNumber: "80000002")
        scene.respond(try Self.file(day, units: 7), vendor: "80000002", on: day)
        scene.respond(try Self.file(empty, units: 8), vendor: "80000002", on: empty)
        #expect(try await scene.fetch(day).requests == 1)
        #expect(try await scene.units(day) == [7])
        #expect(try await scene.units(empty) == [8])
        #expect(try await scene.fetch(day).requests == 0)
    }

    @Test func `the stored file of a day stays if a new vendor number has no sales on that day`()
        async throws
    {
        let scene = try await Scene()
        let day = scene.lastDay
        scene.respond(try Self.file(day, units: 1), vendor: "80000001", on: day)
        _ = try await scene.fetch(day)
        scene.change(vendorNumber: "80000002")
        #expect(try await scene.fetch(day).requests == 1)
        #expect(try await scene.units(day) == [1])
    }
}

extension AppStoreResponse {
    fileprivate static let noSales = problem(
        404, "NOT_FOUND", "There were no sales for the date specified.")

    fileprivate static func problem(_ status: Int, _ code: String, _ detail: String) -> Self {
        AppStoreResponse(
            status: status,
            body: ([
                "errors": [
                    [
                        "status": .string("\(status)"), "code": .string(code),
                        "detail": .string(detail),
                    ]
                ]
            ] as JSON).bytes)
    }
}
