import Engine
import Ledger
import Logging

/// After a database was restored, erases the people on the list of erasures again.
struct ErasureRepetition {
    var file: ErasureFile
    var logger: Logger

    /// The list, for the engine.
    var list: ErasureList { file.list(logger) }

    /// Erases the people again before a server accepts requests, and removes erasures that no
    /// backup can undo.
    func run(on engine: Engine, backups: BackupFolder?) async throws {
        try await run(on: engine)
        await removeExpired(backups, at: engine.context.serverTime)
    }

    /// Erases the people again, logs the result, and returns it. Idempotent.
    ///
    /// - Parameter apps: the apps whose erasures are repeated; nil for all. Until this function
    ///   returns, nobody may read the data of these apps.
    /// - Throws: ``StartFailure`` if the list or the database cannot be used. Then no server may
    ///   start on the database.
    @discardableResult
    func run(on engine: Engine, of apps: Set<AppID>? = nil) async throws -> RepeatedErasures {
        let listed = try await file.read(logger).erasures.filter { erasure in
            apps?.contains(erasure.intent.app) ?? true
        }
        let outcome: RepeatedErasures
        do { outcome = try await engine.customers.repeatErasures(listed) } catch {
            throw StartFailure(
                "The erasures in \(file.path) could not be repeated: \(error).",
                remedy: "Check the database and that file, then try again. Until then, people "
                    + "who were erased may be in the database.")
        }
        report(outcome)
        return outcome
    }

    private func report(_ outcome: RepeatedErasures) {
        if outcome.missing > 0 {
            logger.notice(
                "erasures that the database did not have were repeated",
                metadata: [
                    "erasures": "\(outcome.missing)", "customers": "\(outcome.erased)",
                ])
        }
        if outcome.unknown > 0 {
            logger.warning(
                "listed erasures are of another database, or of an app that is not configured",
                metadata: ["file": .string(file.path), "erasures": "\(outcome.unknown)"])
        }
    }

    /// Removes erasures that no backup can undo. A failure is only reported.
    private func removeExpired(_ backups: BackupFolder?, at now: Instant) async {
        do {
            guard let earliest = try backups?.backups().first?.at else { return }
            try await file.removeExpired(before: earliest, at: now)
        } catch {
            logger.warning(
                "old lines of the list of erasures were not removed",
                metadata: ["problem": "\(error)"])
        }
    }
}
