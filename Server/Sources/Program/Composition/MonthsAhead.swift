import Engine
import Logging
import ServiceLifecycle

/// Makes the tables of the months to come while the server runs, where the database keeps documents
/// by month.
struct MonthsAhead: Service {
    /// The tables reach three months ahead, so that a day more or less does not matter.
    static let pause = Duration.seconds(86_400)

    let engine: Engine
    let logger: Logger

    /// Begins with the pause: the start has just made them, or could not for another's lock.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.pause) } catch { return }
                do { try await engine.prepareMonths() } catch {
                    logger.error(
                        "tables of coming months not made", metadata: ["error": "\(error)"])
                }
            }
        }
    }
}
