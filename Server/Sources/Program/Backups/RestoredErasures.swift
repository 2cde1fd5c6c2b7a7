import Engine
import Foundation
import Ledger

/// Repeats erasures in a restored database before it gets its name.
///
/// This requires the apps of the configuration. If the configuration is invalid, the restore
/// continues, and the server repeats the erasures when it starts.
struct RestoredErasures: Sendable {
    private let file: ErasureFile
    private let apps: [AppConfiguration]

    /// Returns nil if there is no configuration, or no list of erasures.
    ///
    /// - Parameters:
    ///   - database: the path of the database that is replaced.
    ///   - config: the flag with the path of the configuration.
    init?(of database: String, config: String?) {
        let environment = ProcessInfo.processInfo.environment
        let path = ProcessSettings.configPath(flag: config, environment: environment)
        guard let configuration = try? ConfigurationFile(path: path),
            let settings = try? ProcessSettings(
                flags: ["database": database], environment: environment,
                file: configuration.settings)
        else { return nil }
        let backups = configuration.backup.map { ConfigurationFolder(of: path).path($0.folder) }
        guard let file = ErasureFile(for: database, in: settings.erasures, backups: backups),
            [file.path, file.copy].compactMap(\.self).contains(where: Disk.exists)
        else { return nil }
        self.file = file
        apps = configuration.apps
    }

    /// Erases people in the restored database. Returns a sentence about the erasures, or nil if
    /// there were none.
    func repeatAll(in fresh: String) async throws -> String? {
        let repetition = ErasureRepetition(file: file, logger: Log.start(.warning))
        let assembly = try await Assembly(
            apps: apps, databaseAddress: fresh, for: .modifying, now: { .machine },
            erasures: repetition.list, logger: repetition.logger)
        defer { assembly.database.close() }
        let outcome: RepeatedErasures = try await repetition.run(on: assembly.engine)
        guard outcome.missing > 0 else { return nil }
        return "\(outcome.missing.counted("erasure")) since the backup repeated: "
            + "\(outcome.erased.counted("customer")) erased again."
    }
}
