import Logging
import ServiceLifecycle

extension ServiceGroup {
    /// Services that live and end together: where one fails, the others finish what they have
    /// begun.
    ///
    /// Not by cancellation, which is the library's default: a server that is merely cancelled may
    /// wait for its connections for ever.
    init(together services: [any Service], stopsOnSignals: Bool, logger: Logger) {
        // The library describes each service by all that it holds, secrets as well.
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
}
