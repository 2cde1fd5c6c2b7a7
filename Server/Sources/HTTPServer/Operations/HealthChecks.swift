import Dashboard
import Engine
import Ledger
import PerennialContract

/// The checks of the page Health, for one app.
struct HealthChecks {
    let server: PerennialServer
    let app: AppID

    private var engine: Engine { server.engine }

    var database: ChecksPage.Check {
        get async {
            await engine.isReady()
                ? .init("Database", .well, "It can be read and written.")
                : .init(
                    "Database", .failed, "It cannot be read, or cannot be written.",
                    remedy: "Look at the log of this server.")
        }
    }

    /// The row about the copy for reports; empty if there is none.
    var reportDatabase: [ChecksPage.Check] {
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

    /// From this lag on, in seconds, the copy for reports needs attention.
    private static let reportLagMax = 300

    /// What a new app still needs before its first purchase can be complete.
    var setup: [ChecksPage.Check] {
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
    var cached: [ChecksPage.Check] {
        [webhookCheck, forwardCheck] + appStoreChecks + seatChecks + backupChecks + alertChecks + [
            clockCheck, configurationCheck, productCheck, logCheck,
        ]
    }

    /// Those of ``cached`` that are about the app.
    var ofApp: [ChecksPage.Check] {
        [webhookCheck, forwardCheck] + appStoreChecks + seatChecks + [
            configurationCheck, productCheck,
        ]
    }

    /// The checks that are about the server, and so the same for every app. The check of the alerts
    /// is not among them: an alert cannot report that no alert arrives.
    var ofServer: [ChecksPage.Check] {
        reportDatabase + backupChecks + [clockCheck, logCheck]
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
