import AppStoreFormats
import Engine
import Ledger
import Reports
import Simulator
import Synchronization

/// One app of a ``MoneyTrial``: its simulated App Store, and its customers.
struct MoneyStall: Sendable {
    static let names = ["birds", "fish"]
    /// The app that sells in seats. The other app sells without them.
    private static let seated: AppID = "fish"
    /// The maximum number of customers that are simulated as one population.
    private static let populationMax = 10_000

    let app: AppSettings
    let store: AppStoreSimulator
    let firstDay: Int64
    private let engine: Engine
    private let names = MoneyNames()

    init(
        _ app: AppSettings, _ seed: UInt64, _ agreement: MoneyAgreement, _ house: TrialFixture,
        _ engine: Engine
    ) throws {
        self.app = app
        self.engine = engine
        var settings = SimulatorSettings(
            seed: seed, now: Plan.start, shop: house.catalogue, bundleID: app.bundleID,
            appAppleID: app.appAppleID ?? 0, notificationURL: "direct")
        settings.isDeterministic = true
        settings.reports = agreement.reports
        for (product, country, price) in MoneyAgreement.prices {
            try settings.rules.prices.set(price, of: product, in: country, from: Plan.start)
        }
        if app.id == Self.seated { settings.rules.seats = FullShop.seats }
        firstDay = Plan.start.milliseconds / 86_400_000
        store = AppStoreSimulator(
            settings, authority: house.authority,
            post: { _, body in
                do {
                    _ = try await engine.recording.record(notification: body)
                    return PostResult(status: 200)
                } catch { return PostResult(status: 503, error: "\(error)") }
            })
    }

    static func settings(
        _ name: String, _ place: Int, _ agreement: MoneyAgreement, _ house: TrialFixture
    ) -> AppSettings {
        var app = AppSettings(
            id: AppID(rawValue: name), bundleID: "com.example.\(name)",
            appAppleID: ExampleShop.appAppleID + Int64(place) * 1000, isSimulated: true,
            entitlements: house.apps[0].entitlements)
        app.money = MoneySettings(rules: agreement.rules)
        return app
    }

    func populate(_ accounts: Int, months: Int) async throws {
        var left = accounts
        while left > 0 {
            let count = min(left, Self.populationMax)
            let more = try await store.populate(count, within: .months(months))
            names.add(more)
            left -= count
        }
        await store.setFaults { faults in
            faults.notifications.odds = [.duplicate: 0.1, .reorder: 0.1, .delay: 0.2]
            faults.delay = Faults.Delay(seconds: 172_800, isMaximum: true)
        }
    }

    /// Customers who paid in more than one currency, because they moved.
    var mixedCustomers: Int {
        get async {
            await store.groundTruths(of: names.all).count { purchases in
                Set(purchases.flatMap(\.charges).map(\.currency)).count > 1
            }
        }
    }

    /// The number of payments for several seats.
    var groupChargesCount: Int {
        get async {
            await store.groundTruths(of: names.all).flatMap { $0.flatMap(\.charges) }
                .count { $0.seats.map { $0 > 1 } ?? false }
        }
    }

    /// Ends the delays of notifications.
    func calm() async { await store.setFaults { $0.notifications.odds = [:] } }

    /// Lets every app post all transactions, as StoreKit signs them now. This is necessary because
    /// no notification reports the amount that an upgrade gives back.
    func postAll() async throws {
        for name in names.all {
            let texts = (try? await store.transactions(on: name + "-1")) ?? []
            guard !texts.isEmpty else { continue }
            // A purchase with an account token belongs to the customer with that token.
            let customer = await store.accountToken(on: name + "-1") ?? name
            _ = try await engine.recording.record(
                PurchaseEvidence(signedTransactions: texts), of: CustomerID(rawValue: customer),
                app: app.id)
        }
    }
}

/// The developer's agreement, as the simulator and the server know it.
struct MoneyAgreement: Sendable {
    /// The tax of each country, in thousandths of a percent.
    private static let taxes: [String: Int64] = [
        "AUT": 20_000, "BRA": 17_000, "CHE": 8100, "DEU": 19_000, "FRA": 20_000, "GBR": 20_000,
        "HUN": 27_000, "IND": 18_000, "JPN": 10_000, "NOR": 25_000, "SWE": 25_000, "TUR": 20_000,
    ]
    /// The prices of storefronts, in thousandths, if they differ from the shop's prices.
    static let prices: [(product: String, country: String, price: Int64)] = [
        ("tiers.silver", "JPN", 1_500_000), ("tiers.gold", "JPN", 3_000_000),
        ("weeks.one", "IND", 249_000), ("tiers.gold.yearly", "CHE", 160_000),
        ("seeds", "KOR", 1_500_000), ("family.monthly", "BRA", 49_900),
    ]

    let rules: MoneyRules
    let reports: ReportRules

    /// Makes the agreement. The developer is a member of the Small Business Program in the third
    /// quarter of the trial's time.
    init(months: Int) {
        let month: Int64 = 30 * 86_400_000
        let from = Plan.start.milliseconds + Int64(months) * month / 2
        let until = Plan.start.milliseconds + Int64(months) * month * 3 / 4
        rules = MoneyRules(
            smallBusiness: [
                MoneyRules.Membership(
                    from: Instant(milliseconds: from), until: Instant(milliseconds: until))
            ], taxes: Self.taxes)
        var reports = ReportRules()
        reports.timeZone = "UTC"
        reports.taxes = Self.taxes
        reports.smallBusinessTime =
            AppStoreDate(milliseconds: from)..<AppStoreDate(milliseconds: until)
        self.reports = reports
    }
}

/// The names of an app's customers.
private final class MoneyNames: Sendable {
    private let names = Mutex<[String]>([])

    var all: [String] { names.withLock { $0 } }

    func add(_ more: [String]) { names.withLock { $0 += more } }
}

/// The clock of the world whose app acts at present.
final class MoneyClock: Sendable {
    private let clock = Mutex<VirtualClock?>(nil)

    func follow(_ store: AppStoreSimulator) { clock.withLock { $0 = store.clock } }

    var now: Instant {
        Instant(milliseconds: clock.withLock { $0?.milliseconds } ?? Plan.start.milliseconds)
    }
}
