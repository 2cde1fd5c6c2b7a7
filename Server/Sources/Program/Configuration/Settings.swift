import Configuration
import Engine
import Logging

/// How this process runs: each by flag, else by environment variable (`PERENNIAL_…`), else by the
/// file's `settings:`.
package struct Settings: Hashable, Sendable {
    package var database: String
    package var host: String
    package var port: Int
    package var logLevel: Logger.Level
    /// After so long another server may ask the store what this one has taken and not finished.
    package var checkLease: Duration

    package static let databaseDefault = ".perennial/perennial.sqlite"
    /// Only this machine is listened to, unless asked otherwise.
    package static let hostDefault = "127.0.0.1"
    package static let portDefault = 8080
    package static let configDefault = "perennial.yaml"
    static let fileKeys = ["database", "host", "port", "log_level", "check_lease_seconds"]
    /// A question takes twenty seconds at most, and a server takes many at a time.
    private static let checkLeaseSeconds = 5...86_400

    /// - Parameters:
    ///   - flags: by name, those that were given.
    ///   - environment: all variables of the process.
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
    }

    /// A port that there is: a socket would take one that is too high for another one.
    ///
    /// - Parameter flag: where it was given, if that is known.
    @discardableResult
    static func port(_ text: String, for flag: String? = nil) throws(StartFailure) -> Int {
        if let port = Int(text), (0...65_535).contains(port) { return port }
        let place = flag.map { " for \($0)" } ?? ""
        throw StartFailure(
            "“\(text)” is no port.", remedy: "Choose a number up to 65535\(place).")
    }

    static func logLevel(_ text: String) throws(StartFailure) -> Logger.Level {
        if let level = Logger.Level(rawValue: text) { return level }
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw StartFailure("“\(text)” is no log level.", remedy: "Choose one of \(levels).")
    }

    private static func checkLease(_ reader: ConfigReader) throws(StartFailure) -> Duration {
        guard let text = reader.string(forKey: "check.lease.seconds") else { return Asking.lease }
        guard let seconds = Int(text), checkLeaseSeconds.contains(seconds) else {
            throw StartFailure(
                "“\(text)” is no lease of a question in seconds.",
                remedy: "Choose a number from \(checkLeaseSeconds.lowerBound) to "
                    + "\(checkLeaseSeconds.upperBound).")
        }
        return .seconds(seconds)
    }

    /// Where the configuration is: it cannot say so itself.
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

    /// `log_level` is the key `perennial.log.level`, and so is the variable `PERENNIAL_LOG_LEVEL`.
    private static func values(_ texts: [String: String]) -> [AbsoluteConfigKey: ConfigValue] {
        Dictionary(
            uniqueKeysWithValues: texts.map { key, text in
                let parts = ["perennial"] + key.split(separator: "_").map(String.init)
                return (AbsoluteConfigKey(parts), ConfigValue(stringLiteral: text))
            })
    }
}
