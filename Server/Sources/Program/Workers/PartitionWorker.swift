import Engine
import Logging
import ServiceLifecycle

/// Creates the tables of coming months while the server runs, if the database stores documents by
/// month.
struct PartitionWorker: Service {
    /// The tables reach three months ahead, so the exact time does not matter.
    static let pause = Duration.seconds(86_400)

    let engine: Engine
    let logger: Logger

    /// Waits first, because the start has just created the tables, or could not because of another
    /// process's lock.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.pause) } catch { return }
                do { try await engine.createPartitions() } catch {
                    logger.error(
                        "creating tables of coming months failed", metadata: ["error": "\(error)"])
                }
            }
        }
    }
}
