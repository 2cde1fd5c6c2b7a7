import Engine
import Logging
import ServiceLifecycle

/// Records once a second how far the logs have come, in the file beside the database. Ends the
/// server if a log has become shorter, or if another file stands in the place of the database:
/// nothing that it would acknowledge from then on could be found again.
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
                    // Once, not each second: the database's own workers say it, too.
                    if !isFailing {
                        logger.warning(
                            "recording the place of the log failed",
                            metadata: ["error": "\(error)"])
                    }
                    isFailing = true
                }
            }
        }
        // What was committed until the end.
        _ = try? await file.record(engine(), last: [:])
    }
}
