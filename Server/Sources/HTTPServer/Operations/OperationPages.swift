import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Reports

/// The pages of checks, products, and previews of configurations.
struct OperationPages: PageGroup {
    let routes: DashboardRoutes

    func add(to router: Router<ServerContext>) {
        routes.livePage("/checks", by: .everything, of: router) { page in
            let database = await checks.database
            // If the database does not respond, the page shows the last result.
            _ = try? await engine.recording.unlistedSales(of: app)
            let rehearsals = try? await engine.rehearsals.recorded(of: app, in: page.environment)
            let rehearsal = rehearsals.flatMap(RehearsalPages.check)
            return ChecksPage(
                checks: [database] + checks.reportDatabase + (await checks.setup) + checks.cached
                    + (rehearsal.map { [$0] } ?? [])
            ).html(in: page.frame)
        }
        routes.page("/products", of: router) { page in
            ProductsPage(
                offerings: Offerings(
                    of: try engine.context.settings(of: app), in: page.environment),
                figures: try await sold(page), unlisted: try await unlisted(page),
                listsSubscriptions: try engine.context.settings(of: app).soldProducts != nil,
                takesConfiguration: server.readsConfiguration != nil
            ).html(in: page.frame)
        }
        if server.readsConfiguration != nil {
            routes.act(
                DashboardPath.configurationPreview.path, for: .admin, of: router,
                max: BodyLimit.configuration
            ) { page, form in
                page.audit.leaveOut()
                let preview = try await server.configurationRoutes.preview(
                    of: form["configuration"] ?? "", for: app)
                return .page(ConfigurationPage(preview).html(in: page.frame))
            }
        }
        routes.livePage("/", of: router, routes.overviewPages.show)
        routes.documentPages.add(to: router)
        routes.rehearsalPages.add(to: router)
        routes.notificationPages.add(to: router)
        routes.moneyPages.addAppleReports(to: router)
    }

    /// The `.storekit` file's data about each product, and the number of active subscriptions.
    private func sold(_ page: PageRequest) async throws -> [String: ProductsPage.Sold] {
        let settings = try engine.context.settings(of: app)
        let query = try ReportRoutes.query(named: "active", in: page.environment) {
            $0 == "segment" ? Division.product.rawValue : nil
        }
        let result = try await engine.reporting.report(query, of: app)
        var sold: [String: ProductsPage.Sold] = [:]
        for product in settings.offers.products.keys {
            sold[product.rawValue] = .init(kind: "subscription", active: 0)
        }
        for row in result.report.rows where row.period == result.periods.last {
            let active = Int(clamping: row.values.first?.whole ?? 0)
            guard let product = row.part, active > 0 || sold[product] != nil else { continue }
            // Only a subscription can be active.
            sold[product, default: .init(kind: "subscription", active: 0)].active =
                (sold[product]?.active ?? 0) + active
        }
        return sold
    }

    private func unlisted(_ page: PageRequest) async throws -> [ProductsPage.Unlisted] {
        try await engine.recording.unlistedSales(of: app, in: page.environment).map { sales in
            ProductsPage.Unlisted(
                productID: sales.product.product.rawValue, line: sales.product.line,
                purchases: sales.purchases, since: Timestamp(sales.since))
        }
    }

    var checks: HealthChecks { HealthChecks(server: server, app: app) }
}
