import Configuration
import Engine
import Logging

/// The settings of this process. Each comes from a flag, or else from an environment variable
/// (`PERENNIAL_…`), or else from `settings:` in the file.
package struct ProcessSettings: Hashable, Sendable {
    package var database: String
    package var host: String
    package var port: Int
    package var logLevel: Logger.Level
    /// How long a server may hold a leased check. After that, another server may take over the
    /// check.
    package var checkLease: Duration
    /// The only address that serves `/metrics`. If nil, the address of `host` and `port` serves
    /// `/metrics`.
    package var metricsAddress: ListenAddress?
    /// The only address that accepts secret keys. If nil, the address of `host` and `port` accepts
    /// secret keys.
    package var secretAddress: ListenAddress?
    /// The only address of the dashboard. If nil, the address of `host` and `port` serves the
    /// dashboard.
    package var dashboardAddress: ListenAddress?
    /// The folder of the list of erasures. If nil, the list for a SQLite database is beside the
    /// file, and there is no list for a PostgreSQL.
    package var erasures: String?
    /// The address of a copy of the database from which reports are read. If nil, reports are read
    /// from the database itself.
    package var reportDatabase: String?

    package static let databaseDefault = ".perennial/perennial.sqlite"
    /// The default host, at which only programs on this machine can reach the server.
    package static let hostDefault = "127.0.0.1"
    package static let portDefault = 8080
    package static let configDefault = "perennial.yaml"
    static let fileKeys = [
        "database", "host", "port", "listen_metrics", "listen_secret", "listen_dashboard",
        "log_level", "check_lease_seconds", "erasures", "report_database",
    ]
    /// The range of the lease, in seconds. A check takes at most twenty seconds, and a server
    /// leases many checks at a time.
    private static let checkLeaseSeconds = 5...86_400

    /// Resolves the settings.
    ///
    /// - Parameters:
    ///   - flags: the given flags, by name.
    ///   - environment: all environment variables of the process.
    /// - Throws: ``StartFailure`` if a value is invalid.
    package init(
        flags: [String: String], environment: [String: String], file: [String: String]
    ) throws(StartFailure) {
        let reader = Self.reader(flags: flags, environment: environment, file: file)
        database = reader.string(forKey: "database", default: Self.databaseDefault)
        host = reader.string(forKey: "host", default: Self.hostDefault)
        port = try Self.port(reader.string(forKey: "port", default: String(Self.portDefault)))
        logLevel = try Self.logLevel(
            reader.string(forKey: "log.level", default: Logger.Level.info.rawValue))
        checkLease = try Self.checkLease(reader)
        metricsAddress = try Self.address("listen_metrics", reader)
        secretAddress = try Self.address("listen_secret", reader)
        dashboardAddress = try Self.address("listen_dashboard", reader)
        erasures = reader.string(forKey: "erasures")
        reportDatabase = reader.string(forKey: "report.database")
        try ListenAddress.requireDistinct([
            address, metricsAddress, secretAddress, dashboardAddress,
        ])
    }

    /// The address for apps and the App Store.
    private var address: ListenAddress { ListenAddress(host: host, port: port) }

    /// The names of the settings that differ.
    func names(differingFrom other: ProcessSettings) -> [String] {
        let pairs: [(String, Bool)] = [
            ("database", database == other.database), ("host", host == other.host),
            ("port", port == other.port),
            ("listen_metrics", metricsAddress == other.metricsAddress),
            ("listen_secret", secretAddress == other.secretAddress),
            ("listen_dashboard", dashboardAddress == other.dashboardAddress),
            ("log_level", logLevel == other.logLevel),
            ("check_lease_seconds", checkLease == other.checkLease),
            ("erasures", erasures == other.erasures),
            ("report_database", reportDatabase == other.reportDatabase),
        ]
        return pairs.filter { !$0.1 }.map(\.0)
    }

    /// Parses a port number. Checks the range, because a socket would truncate a number that is too
    /// high.
    ///
    /// - Parameter flag: the flag with the value, if known.
    @discardableResult
    static func port(_ text: String, for flag: String? = nil) throws(StartFailure) -> Int {
        if let port = Int(text), (0...65_535).contains(port) { return port }
        let place = flag.map { " for \($0)" } ?? ""
        throw StartFailure(
            "“\(text)” is not a port.", remedy: "Choose a number up to 65535\(place).")
    }

    static func logLevel(_ text: String) throws(StartFailure) -> Logger.Level {
        if let level = Logger.Level(rawValue: text) { return level }
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw StartFailure("“\(text)” is not a log level.", remedy: "Choose one of \(levels).")
    }

    private static func address(
        _ setting: String, _ reader: ConfigReader
    ) throws(StartFailure) -> ListenAddress? {
        let key = ConfigKey(setting.split(separator: "_").map(String.init))
        guard let text = reader.string(forKey: key) else { return nil }
        return try ListenAddress(text, for: setting)
    }

    private static func checkLease(_ reader: ConfigReader) throws(StartFailure) -> Duration {
        guard let text = reader.string(forKey: "check.lease.seconds") else {
            return ReconciliationSettings.lease
        }
        guard let seconds = Int(text), checkLeaseSeconds.contains(seconds) else {
            throw StartFailure(
                "“\(text)” is not a valid check_lease_seconds.",
                remedy: "Choose a number from \(checkLeaseSeconds.lowerBound) to "
                    + "\(checkLeaseSeconds.upperBound).")
        }
        return .seconds(seconds)
    }

    /// The configuration's path, which comes from a flag or an environment variable only.
    package static func configPath(flag: String?, environment: [String: String]) -> String {
        flag ?? environment["PERENNIAL_CONFIG"] ?? configDefault
    }

    private static func reader(
        flags: [String: String], environment: [String: String], file: [String: String]
    ) -> ConfigReader {
        ConfigReader(providers: [
            InMemoryProvider(name: "flags", values: values(flags)),
            EnvironmentVariablesProvider(environmentVariables: environment),
            InMemoryProvider(name: "file", values: values(file)),
        ]).scoped(to: "perennial")
    }

    /// Converts names to keys: `log_level` becomes `perennial.log.level`, which is also the key of
    /// the variable `PERENNIAL_LOG_LEVEL`.
    private static func values(_ texts: [String: String]) -> [AbsoluteConfigKey: ConfigValue] {
        Dictionary(
            uniqueKeysWithValues: texts.map { key, text in
                let parts = ["perennial"] + key.split(separator: "_").map(String.init)
                return (AbsoluteConfigKey(parts), ConfigValue(stringLiteral: text))
            })
    }
}
