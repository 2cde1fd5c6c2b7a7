import Logging
import ServiceLifecycle

extension ServiceGroup {
    /// Services that start and stop together: if one fails, the others finish their work.
    ///
    /// Uses graceful shutdown instead of the library's default, cancellation, because a cancelled
    /// server may wait forever for its connections.
    init(together services: [any Service], stopsOnSignals: Bool, logger: Logger) {
        // At lower levels the library logs each service with all its properties, including secrets.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .info)
        self.init(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup)
                }, gracefulShutdownSignals: stopsOnSignals ? [.sigint, .sigterm] : [],
                logger: logger))
    }

    /// Runs the services. After all of them have ended, runs the last work, even if a service
    /// failed. Services stop in reverse order, so a service does not see what the services before
    /// it do when they stop.
    nonisolated func run(before last: @Sendable () async -> Void) async throws {
        do { try await run() } catch {
            await last()
            throw error
        }
        await last()
    }
}
