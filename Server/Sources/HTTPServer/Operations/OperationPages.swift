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
            let database = await databaseCheck
            // If the database does not respond, the page shows the last result.
            _ = try? await engine.recording.unlistedSales(of: app)
            let rehearsals = try? await engine.rehearsals.recorded(of: app, in: page.environment)
            let rehearsal = rehearsals.flatMap(RehearsalPages.check)
            return ChecksPage(
                checks: [database] + reportDatabaseChecks + (await setupChecks) + cachedChecks
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

    // MARK: - Checks

    private var databaseCheck: ChecksPage.Check {
        get async {
            await engine.isReady()
                ? .init("Database", .well, "It can be read and written.")
                : .init(
                    "Database", .failed, "It cannot be read, or cannot be written.",
                    remedy: "Look at the log of this server.")
        }
    }

    /// The row about the copy for reports; empty if there is none.
    private var reportDatabaseChecks: [ChecksPage.Check] {
        guard engine.context.hasReportDatabase, let last = engine.measurements.last else {
            return []
        }
        let name = "Database for reports"
        guard let lag = last.copyLag else {
            return [
                .init(
                    name, .failed, "It cannot be read, so there are no reports.",
                    remedy: "Start the standby, or leave out report_database.")
            ]
        }
        let seconds = lag.wholeSeconds
        guard seconds < Self.reportLagMax else {
            return [
                .init(
                    name, .needsYou,
                    "It is \(Int(seconds).counted("second")) behind, and so are the reports.")
            ]
        }
        return [.init(name, .well, "It is \(Int(seconds).counted("second")) behind.")]
    }

    /// If the copy of the database for reports lags by at least this many seconds, it needs
    /// attention.
    private static let reportLagMax = 300

    /// What a new app still needs before its first purchase can be complete.
    private var setupChecks: [ChecksPage.Check] {
        get async {
            var missing: [ChecksPage.Check] = []
            if !engine.reconciliation.canQueryAppStore(app) {
                missing.append(
                    .init(
                        "App Store key", .needsYou,
                        "Without it, notifications that were missed cannot be fetched.",
                        remedy: "app_store:"))
            }
            // If the database does not respond, it is unknown whether there are notifications.
            if (try? await hasNotifications) == false {
                missing.append(
                    .init(
                        "Notifications", .needsYou, "None has arrived yet.",
                        link: .init("Notifications", .notifications),
                        remedy: Paths.notifications))
            }
            return missing
        }
    }

    private var hasNotifications: Bool {
        get async throws {
            for environment in Ledger.Environment.allCases {
                let newest = try await engine.notifications.page(
                    of: app, in: environment, before: nil, limit: 1)
                if !newest.lines.isEmpty { return true }
            }
            return false
        }
    }

    /// The checks of values that the server has in memory.
    var cachedChecks: [ChecksPage.Check] {
        [webhookCheck, forwardCheck] + appStoreChecks + seatChecks + backupChecks + [
            clockCheck, configurationCheck, productCheck, logCheck,
        ]
    }

    private var webhookCheck: ChecksPage.Check {
        let states = engine.webhooks.states.filter { $0.app == app }
        let failing = states.filter(\.isFailing)
        guard failing.isEmpty else {
            let names = failing.map(\.label).joined(separator: ", ")
            return .init(
                "Webhooks", .needsYou, "Failing for an hour or longer: \(names).",
                link: .init("Look at them", .webhooks))
        }
        let waiting = states.map(\.waiting).reduce(0, +)
        let sentence = "\(waiting.counted("delivery waits", "deliveries wait"))."
        return .init("Webhooks", .well, "None has failed for an hour. \(sentence)")
    }

    private var forwardCheck: ChecksPage.Check {
        let late = engine.forwarding.states.filter { $0.app == app && $0.oldestAge >= .hours(1) }
        guard late.isEmpty else {
            let names = late.map(\.label).joined(separator: ", ")
            return .init(
                "Forwarded", .needsYou, "Notifications have waited for an hour for: \(names).",
                link: .init("Look at them", .forwarded))
        }
        return .init("Forwarded", .well, "No notification has waited for an hour.")
    }

    private var appStoreChecks: [ChecksPage.Check] {
        engine.reconciliation.states.filter { $0.app == app }.map { state in
            let name = "App Store, \(state.environment.rawValue)"
            guard state.failures == 0 else {
                return .init(
                    name, .needsYou,
                    Self.silence(state.failures),
                    remedy: "perennial check")
            }
            let answered = state.respondedAt.map { "It last responded at \(Self.minute($0))." }
            return .init(
                name, .well,
                "\(answered ?? "No request was sent yet.") "
                    + "\(state.due.counted("purchase is", "purchases are")) due.")
        }
    }

    /// The checks for an app whose claims on seats wait to be reported.
    private var seatChecks: [ChecksPage.Check] {
        engine.reconciliation.states.filter { $0.app == app && $0.seatReports > 0 }.map { state in
            let name = "Seats reported to Apple, \(state.environment.rawValue)"
            let waiting = "\(state.seatReports.counted("report waits", "reports wait"))."
            guard state.oldestSeatReportAge >= .hours(1) else { return .init(name, .well, waiting) }
            return .init(
                name, .needsYou, "Apple has accepted no report for an hour or longer. \(waiting)",
                remedy: "perennial check")
        }
    }

    /// A sentence that says for how long the App Store has not responded.
    ///
    /// - Parameter failures: how many requests have failed in a row.
    static func silence(_ failures: some BinaryInteger) -> String {
        failures == 1
            ? "It has not responded to the last request."
            : "It has not responded to the last \(failures) requests."
    }

    /// A text such as `2026-05-09 11:00 UTC`.
    static func minute(_ moment: Instant) -> String {
        Timestamp(moment).description.prefix("2026-05-09T11:00".count)
            .replacing("T", with: " ") + " UTC"
    }

    private var clockCheck: ChecksPage.Check {
        let ahead = engine.counts.documentsSignedAhead
        return ahead == 0
            ? .init("Clock", .well, "No document was signed later than this machine’s time.")
            : .init(
                "Clock", .needsYou,
                "\(ahead.counted("document was", "documents were")) signed more than five minutes "
                    + "ahead of this machine.",
                remedy: "Compare this machine’s clock with the correct time.")
    }

    private var configurationCheck: ChecksPage.Check {
        let unknown: [ProductID]? = (try? engine.context.overview(of: app))?.unknownProducts
        guard let unknown, !unknown.isEmpty else {
            return .init(
                "Configuration", .well,
                unknown == nil
                    ? "It is not compared with a .storekit file."
                    : "All its products are in the .storekit file.")
        }
        let names = unknown.map(\.rawValue).joined(separator: ", ")
        return .init(
            "Configuration", .needsYou, "The .storekit file does not have: \(names).",
            link: .init("Products", .products))
    }

    private var productCheck: ChecksPage.Check {
        let sales = engine.recording.lastUnlistedSales(of: app)
        guard !sales.isEmpty else { return listingCheck }
        var counts: [String: Int] = [:]
        for one in sales { counts[one.product.product.rawValue, default: 0] += one.purchases }
        let names = counts.keys.sorted().map { name in
            "\(name) (\(Figures.count(counts[name] ?? 0, "purchase")))"
        }
        let lines = Set(sales.map(\.product.line)).sorted().joined(separator: "\n")
        return .init(
            "Products", .needsYou,
            "Bought, but not listed in perennial.yaml, so it gives nothing: "
                + "\(names.joined(separator: ", ")). Add it under products of \(app).",
            link: .init("Products", .products), remedy: lines)
    }

    /// The check of the products, if no unlisted product was bought.
    private var listingCheck: ChecksPage.Check {
        let known = (try? engine.context.settings(of: app))?.knownProducts
        return known?.isEmpty == true
            ? .init(
                "Products", .needsYou, "None is listed, so no purchase gives access.",
                link: .init("Products", .products), remedy: "products:")
            : .init("Products", .well, "Every product that was bought is listed.")
    }

    private var logCheck: ChecksPage.Check {
        let dropped = server.logLinesDropped()
        return dropped == 0
            ? .init("Log", .well, "No line was dropped.")
            : .init(
                "Log", .needsYou, "\(dropped.counted("line was", "lines were")) dropped.",
                remedy: "Read standard error faster.")
    }
}
