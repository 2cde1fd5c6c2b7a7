import AppStoreClient
import ArgumentParser
import AsyncHTTPClient
import Engine
import Ledger
import Logging
import MailClient
import OutgoingHTTP
import Storage

/// Checks everything that `serve` needs. Each line of the output is ok or says what to do.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check configuration, trust roots, App Store keys, clock, and database.")

    @Flag(
        help: """
            Only say how the next start of this program will migrate the database, how long that \
            takes, and whether older servers can go on.
            """)
    var upgrade = false
    @OptionGroup var options: ProcessOptions

    func run() async throws {
        if upgrade {
            let report = await UpgradeReport(options)
            for line in report.lines { print(line) }
            if !report.isOK { throw ExitCode(1) }
            return
        }
        let report = await CheckReport(options)
        for line in report.lines { print(line) }
        if !report.isOK { throw ExitCode(1) }
    }
}

/// The findings of `check`, line by line.
struct CheckReport {
    /// The maximum number of lines of a file that one line of the output names.
    private static let linesShownMax = 20

    private(set) var lines: [String] = []
    private(set) var isOK = true

    init(_ options: ProcessOptions) async {
        let path = options.configPath
        do {
            let file = try ConfigurationFile(path: path)
            for warning in (file.warnings + file.servingWarnings).inFileOrder {
                lines.append("note  \(warning.text(file: path))")
            }
            let names = file.apps.map(\.settings.id.rawValue).joined(separator: ", ")
            lines.append("ok    configuration \(path): \(names)")
            let settings = try options.settings(file)
            reportServing(of: file)
            reportTLS(of: file)
            reportLimits(of: file)
            reportBackups(of: file, settings, ConfigurationFolder(of: path))
            reportErasures(of: file, settings, ConfigurationFolder(of: path))
            await reportAlerts(of: file)
            try checkRoots(of: file)
            reportForwards(of: file)
            try await checkAppStores(of: file)
            try await checkBucket(of: file)
            try await checkDatabase(file, settings)
        } catch let failure as ConfigurationFailure {
            for complaint in failure.complaints { fail(complaint.text(file: path)) }
        } catch {
            fail("\(error)")
        }
    }

    /// Mentions settings that `dev` or a simulator accepts, but `serve` alone does not.
    private mutating func reportServing(of file: ConfigurationFile) {
        do { try ServeRules.check(file.apps, clockFrom: nil) } catch {
            lines.append("note  `perennial serve` does not start with this configuration. \(error)")
        }
    }

    /// Reports whether clients accept the certificate now, and until when.
    private mutating func reportTLS(of file: ConfigurationFile) {
        guard let tls = file.tls else { return }
        let certificate = tls.certificate
        if let problem = certificate.problem(at: .machine) {
            return fail("TLS: \(CertificateRefusal(problem, in: tls.files).text)")
        }
        let names =
            certificate.names.isEmpty
            ? "no host name" : certificate.names.joined(separator: ", ")
        lines.append("ok    TLS: a certificate for \(names), until \(certificate.end.minute)")
        if certificate.end - .machine <= CertificateReload.warningBefore {
            lines.append("note  \(tls.files.certificate) expires soon. Renew it.")
        }
    }

    /// Reports the limits of one caller's requests, unless they are the defaults, and where traces
    /// are sent.
    private mutating func reportLimits(of file: ConfigurationFile) {
        if file.limits != LimitSettings() {
            lines.append("ok    limits: \(file.limits.text)")
        }
        if let traces = file.traces { lines.append("ok    traces: \(traces.text)") }
    }

    /// Reports whether the server can write its backups, and how old the newest backup is.
    private mutating func reportBackups(
        of file: ConfigurationFile, _ settings: ProcessSettings, _ place: ConfigurationFolder
    ) {
        guard let backup = file.backup else { return }
        do throws(StartFailure) { try ServeRules.check(backup, of: settings.database) } catch {
            lines.append("note  `perennial serve` does not start with this configuration. \(error)")
            return
        }
        let folder = BackupFolder(path: place.path(backup.folder))
        do throws(StartFailure) {
            try folder.requireWritable()
            if !backup.recipients.isEmpty { _ = try AgeProgram() }
            let backups = try folder.backups()
            let hours = backup.every.components.seconds / 3600
            let newest =
                backups.last { $0.at <= .machine }.map { ", the newest from \($0.at.minute)" } ?? ""
            let count = backups.isEmpty ? "no backup yet" : "\(backups.count)"
            lines.append(
                "ok    backups every \(hours.counted("hour")) in \(folder.path): \(count)\(newest)")
        } catch {
            return fail("backups: \(error)")
        }
        guard backup.bucket == nil, let one = FileStatus(path: folder.path),
            let other = FileStatus(path: settings.database), one.isOnSameDisk(as: other)
        else { return }
        lines.append(
            "note  backups in \(folder.path) are on the same disk as the database. Copy them to "
                + "another machine, or name a folder on another disk.")
    }

    /// Reports a list of erasures that `serve` could not read.
    private mutating func reportErasures(
        of file: ConfigurationFile, _ settings: ProcessSettings, _ place: ConfigurationFolder
    ) {
        let backups = file.backup.map { place.path($0.folder) }
        let list = ErasureFile(for: settings.database, in: settings.erasures, backups: backups)
        // The folder of a new database is made by the first start.
        guard let list, settings.erasures != nil || Disk.exists(settings.database) else { return }
        do {
            for (file, numbers) in try list.examine().damaged where !numbers.isEmpty {
                lines.append(
                    "note  \(file) has damaged lines: \(numbers.prefix(Self.linesShownMax)). The "
                        + "people in them are not erased again after a restore. Send their "
                        + "DELETE again.")
            }
        } catch { fail("\(error)") }
    }

    /// Whether the mail server of alerts can be used. Sends nothing.
    private mutating func reportAlerts(of file: ConfigurationFile) async {
        guard let settings = file.alerts else { return }
        let sender = AlertSender(settings, dashboard: file.dashboard)
        do throws(MailFailure) { try await sender.checkMailServer() } catch {
            return fail("alerts by mail: \(error)")
        }
        let labels = settings.channels.map { "\($0.rawValue) to \(sender.label(of: $0))" }
        lines.append(
            "ok    alerts: \(labels.joined(separator: ", ")); `perennial alerts test` sends one")
    }

    private mutating func checkRoots(of file: ConfigurationFile) throws {
        for app in file.apps {
            let roots = try Assembly.roots(extra: app.extraRoots, of: app.settings.id)
            let kind = app.settings.isSimulated ? "Apple's and a simulator's" : "Apple's"
            lines.append(
                "ok    trust of \(app.settings.id): \(kind), \(roots.fingerprints.count) roots")
        }
    }

    private mutating func reportForwards(of file: ConfigurationFile) {
        for app in file.apps {
            let names = app.settings.forwards.targets.map(\.name)
            for target in app.settings.forwards.targets {
                let environments = target.environments.map(\.rawValue).sorted()
                lines.append(
                    "ok    \(app.settings.id) forwards to "
                        + "\(ForwardLabel.text(of: target.name, among: names)): "
                        + "\(environments.joined(separator: ", ")), policy "
                        + app.settings.forwards.policy.rawValue)
            }
        }
    }

    private mutating func checkAppStores(of file: ConfigurationFile) async throws {
        let (trials, reports, clock) = try await HTTPClient.withHTTPClient(
            configuration: .withoutRedirects
        ) {
            http in
            let stores = AppStores(file.apps, http: http, now: { .machine })
            var trials: [KeyCheck] = []
            var reports: [ReportKeyCheck] = []
            for app in file.apps {
                if let trial = await KeyCheck.of(app, stores) { trials.append(trial) }
                if let check = await ReportKeyCheck.of(app, stores, at: .machine) {
                    reports.append(check)
                }
            }
            return (trials, reports, stores.clockAhead.map(ClockCheck.init))
        }
        for trial in trials { add(trial.text, isOK: trial.isOK) }
        for check in reports { add(check.text, isOK: check.isOK) }
        if let clock { add(clock.text, isOK: clock.isOK) }
    }

    private mutating func checkDatabase(
        _ file: ConfigurationFile, _ settings: ProcessSettings
    ) async throws {
        let shown = DatabaseAddress.withoutPassword(settings.database)
        reportUnencrypted(to: settings.database)
        let version = try await DatabaseAddress.version(of: settings.database)
        switch version {
        case Schema.version:
            lines.append("ok    database \(shown)")
            try await checkKeys(file, settings)
        case 0:
            lines.append("ok    database \(shown), which is empty: the first key adds its tables")
            for app in file.apps { fail("\(ServeRules.noKey(of: app.settings.id))") }
        case Schema.version...:
            lines.append(
                "ok    database \(shown): a newer program has migrated its tables to version "
                    + "\(version), and this program (\(Schema.version)) can use them")
            try await checkKeys(file, settings)
        default:
            lines.append(
                "ok    database \(shown): the next start migrates its tables from version "
                    + "\(version) to \(Schema.version) ("
                    + Schema.names(ofStepsAfter: version).joined(separator: ", ")
                    + "); `perennial check --upgrade` says more")
            lines.append("note  keys are checked after that")
        }
    }

    /// Mentions that the traffic to the database may be unencrypted. Others on the network could
    /// then read that traffic, including the password.
    private mutating func reportUnencrypted(to address: String) {
        for host in DatabaseAddress.unencryptedHosts(of: address) {
            lines.append(
                "note  the database at \(host) may be reached without encryption: others on the "
                    + "network could read and change the traffic. Add sslmode=verify-full to its "
                    + "address, or at least sslmode=require.")
        }
    }

    private mutating func checkKeys(_ file: ConfigurationFile, _ settings: ProcessSettings)
        async throws
    {
        var logger = Logger(label: "check")
        logger.logLevel = .critical
        let assembly = try await Assembly(
            apps: file.apps, databaseAddress: settings.database, for: .inspecting,
            now: { .machine }, logger: logger)
        defer { assembly.database.close() }
        do {
            try await ServeRules.checkKeys(of: assembly)
            lines.append("ok    keys: every app has at least one")
        } catch {
            fail("\(error)")
        }
        for app in file.apps {
            try await reportUnknownTokens(of: app.settings.id, assembly.engine)
            try await reportUnlistedProducts(of: app.settings.id, assembly.engine)
        }
    }

    /// Reports products that were bought but give nothing, and says what to add. Sandbox purchases
    /// are only mentioned, because nobody paid for them.
    private mutating func reportUnlistedProducts(of app: AppID, _ engine: Engine) async throws {
        for environment in Environment.allCases {
            for sales in try await engine.recording.unlistedSales(of: app, in: environment) {
                let isPaid = environment == .production
                let count = sales.purchases.counted("purchase")
                let text =
                    "\(app): \(sales.product.product) was bought\(isPaid ? "" : " in the sandbox") "
                    + "(\(count)) and gives nothing, because it is not listed. "
                    + sales.product.remedy
                if isPaid { fail(text) } else { lines.append("note  \(text)") }
            }
        }
    }

    /// Mentions purchases whose account token is not the id of a known customer. Only a customer
    /// with that id can own such a purchase.
    private mutating func reportUnknownTokens(of app: AppID, _ engine: Engine) async throws {
        let named = try await engine.ownership.purchasesWithUnknownTokens(app: app)
        guard named.purchases > 0 else { return }
        lines.append(
            "note  \(app): \(named.purchases.counted("purchase has", "purchases have")) an account "
                + "token that is no id of a known customer; \(named.linked) of them are linked to "
                + "a customer anyway. No other customer can get them. Use customer ids as tokens, "
                + "or add each token as an alias. If tokens are not customer ids, set "
                + "account_tokens: other under identity")
    }

    mutating func append(note text: String) { lines.append("note  \(text)") }

    mutating func add(_ text: String, isOK: Bool) {
        if isOK { lines.append("ok    \(text)") } else { fail(text) }
    }

    private mutating func fail(_ text: String) {
        isOK = false
        lines.append("DO    \(text)")
    }
}
