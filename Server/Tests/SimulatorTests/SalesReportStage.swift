import AppStoreFormats

@testable import Simulator

extension CivilDate {
    init(test text: String) throws { self = try require(CivilDate(isoText: text), text) }
}

/// Apple's reports about the world of a stage.
extension Stage {
    func books() async -> ReportBooks { ReportBooks(await simulator.world) }

    func sales(_ day: String) async throws -> [SalesRow] {
        let day = try CivilDate(test: day)
        return await books().salesRows(from: day, to: day)
    }

    /// The only row of the report of a day.
    func sale(_ day: String) async throws -> SalesRow {
        let rows = try await sales(day)
        guard let row = rows.first, rows.count == 1 else {
            throw Missing(description: "\(rows.count) rows on \(day): \(rows)")
        }
        return row
    }

    /// The events of a day, such as `Renew pro.monthly`, with ` ×2` for two.
    func events(_ day: String) async throws -> [String] {
        let day = try CivilDate(test: day)
        let books = await books()
        return books.eventRows(on: day).map { row in
            "\(row.event) of \(row.subscriptionName)"
                + (row.quantity > 1 ? " ×\(row.quantity)" : "")
        }.sorted()
    }

    func eventRow(_ event: SalesReportEvent, on day: String) async throws -> SubscriptionEventRow {
        let day = try CivilDate(test: day)
        let rows = await books().eventRows(on: day)
        return try require(rows.first { $0.event == event }, "no \(event) among \(rows)")
    }

    func subscriptions(_ day: String) async throws -> [SubscriptionRow] {
        await books().subscriptionRows(at: try CivilDate(test: day))
    }
}

/// A random world, which is the same for the same seed.
struct RandomWorld {
    var world: World
    var population: Population
    let end: AppStoreDate

    init(
        seed: UInt64, accounts: Int, months: Int, shop: StoreKitFile,
        _ change: (inout ReportRules) -> Void = { _ in }
    ) throws {
        var settings = SimulatorSettings(
            seed: seed, now: try moment("2026-01-05T03:04:05Z"), shop: shop)
        settings.renewsEarlySeconds = seed.isMultiple(of: 2) ? 3600 : 0
        change(&settings.reports)
        world = World(settings)
        end = world.calendar.moment(settings.now, plus: .months(months))
        population = Population(
            accounts, seed: seed, within: settings.now..<end, world.calendar)
    }

    mutating func advance(to moment: AppStoreDate) {
        population.simulate(&world, until: moment) { _ in }
    }

    /// The books of all customers, without the purchases that the App Store does not report.
    func purchases(at now: AppStoreDate) -> [TruePurchase] {
        population.names.flatMap { name in
            let books = try? TrueBooks(world).groundTruth(of: name, at: now)
            return (books?.purchases ?? []).filter {
                $0.environment == .production && $0.ownership == .purchased
            }
        }
    }
}
