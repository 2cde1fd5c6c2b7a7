import Engine
import Logging
import ServiceLifecycle

/// Records the logs' last positions once a second, in the file beside the database. Stops the
/// server if a log has become shorter or the database file was replaced, because anything that the
/// server acknowledged from then on would be lost.
struct LogPlaceWorker: Service {
    static let pause = Duration.seconds(1)

    let file: LogPlaceFile
    let engine: @Sendable () -> Engine
    let logger: Logger

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            var places: LogPlaceFile.Places = [:]
            let opened = file.databaseFile
            var isFailing = false
            while (try? await Task.sleep(for: Self.pause)) != nil {
                do {
                    try file.requireDatabase(opened)
                    places = try await file.record(engine(), last: places)
                    isFailing = false
                } catch let short as LogTooShort {
                    throw short.failure
                } catch {
                    // The failure is logged once, not each second, because the database's own
                    // workers also report it.
                    if !isFailing {
                        logger.warning(
                            "recording the place of the log failed",
                            metadata: ["error": "\(error)"])
                    }
                    isFailing = true
                }
            }
        }
        // Records the events that were committed before the server stopped.
        do { _ = try await file.record(engine(), last: [:]) } catch {
            guard !Task.isCancelled else { return }
            logger.warning(
                "recording the last place of the log failed", metadata: ["error": "\(error)"])
        }
    }
}
