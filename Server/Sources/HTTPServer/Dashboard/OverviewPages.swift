import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Reports

/// The first page: numbers, warnings, and the newest events.
struct OverviewPages: PageGroup {
    let routes: DashboardRoutes

    /// The number of events on the overview.
    private static let feedMax = 8
    /// The maximum number of customers that the page names because their access has ended.
    private static let leftMax = 5

    @Sendable func show(_ page: PageRequest) async throws -> String {
        let log = try await routes.eventPages.newest(
            before: nil, limit: Self.feedMax, in: page.environment
        ) { _ in true }
        let left = try await leaving(page)
        _ = try await engine.recording.unlistedSales(of: app)
        var content = OverviewPage(
            warnings: Self.warnings(routes.operationPages.checks.cached), tiles: [],
            events: log.events, left: Array(left.prefix(Self.leftMax)), leftTotal: left.count)
        if page.frame.viewer.seesMoney { try await addMoney(to: &content, page) }
        return content.html(in: page.frame)
    }

    private func addMoney(to content: inout OverviewPage, _ page: PageRequest) async throws {
        let display = try await engine.reporting.displayCurrency(of: app, in: page.environment)
        let mrr = try await picture("mrr", display, page)
        let movement = try await picture("mrr_movement", display, page)
        let hasMoney = !mrr.isEmpty
        var tiles: [OverviewPage.Tile] = []
        var conversions = [mrr.conversion]
        if hasMoney { tiles.append(Self.tile("MRR", mrr, 0)) }
        for (name, title, column) in [
            ("active", "Active subscriptions", 0), ("trials", "In a free trial", 4),
            ("revenue", "Revenue", 0),
        ] {
            let picture = try await picture(name, display, page)
            conversions.append(picture.conversion)
            if !picture.isEmpty { tiles.append(Self.tile(title, picture, column)) }
        }
        content.conversion = Self.longest(conversions + [movement.conversion])
        content.warnings += [mrr.incompleteness].compactMap(\.self)
        content.tiles = tiles
        content.chart = hasMoney ? mrr.line(0) : nil
        content.chartFinding = hasMoney ? MoneyPages.finding(mrr) : ""
        content.movement =
            movement.isEmpty ? nil : movement.view.drawnStack.flatMap { movement.sum($0) }
    }

    /// The longest of the sentences about currencies: the one that names the most currencies.
    private static func longest(_ conversions: [String?]) -> String {
        conversions.compactMap(\.self).max { $0.count < $1.count } ?? ""
    }

    private func picture(
        _ name: String, _ display: DisplayCurrency?, _ page: PageRequest
    ) async throws -> ReportPicture {
        let rates = try engine.context.settings(of: app).money.rates
        let view = try ChartView(name, of: page, rates: rates, display: display)
        return ReportPicture(view, try await engine.reporting.report(view.query, of: app))
    }

    /// The last number of a column, and its change since the previous period.
    private static func tile(
        _ title: String, _ picture: ReportPicture, _ column: Int
    ) -> OverviewPage.Tile {
        let values = picture.result.periods.map { picture.value(column, in: $0) }
        let before = values.dropLast().last
        let last = values.last ?? 0
        let unit = picture.unit(column)
        // A month in progress is not compared: its smaller number would look like a decrease.
        let addsUp = picture.view.definition.name == "revenue"
        return OverviewPage.Tile(
            title, value: last, unit: unit, change: addsUp ? nil : before.map { last - $0 },
            remark: addsUp
                ? "so far; \(unit.text(before ?? 0)) last month" : "since last month",
            shape: Sparkline(values), path: .chart(picture.view.definition.name))
    }

    private static func warnings(_ checks: [ChecksPage.Check]) -> [Notice] {
        checks.filter { $0.state != .well }.map { check in
            Notice(
                check.state == .failed ? .wrong : .warning, "\(check.name).", check.sentence,
                link: check.link ?? .init("Health", .checks))
        }
    }

    /// The customers whose access ended today.
    private func leaving(_ page: PageRequest) async throws -> [OverviewPage.Leaving] {
        let day: Int64 = 86_400_000
        let today = page.frame.now.milliseconds / day
        let log = try await routes.eventPages.newest(
            before: nil, since: today * day, limit: EventService.eventsMax, in: page.environment
        ) { event in
            event.at.milliseconds / day == today && event.before?.active == true
                && event.after?.active == false
        }
        return log.events.map { event in
            OverviewPage.Leaving(
                customerID: event.customerID,
                productID: event.productID ?? event.before?.productID ?? "",
                remark: event.type.rawValue.replacing("_", with: " "))
        }
    }
}
