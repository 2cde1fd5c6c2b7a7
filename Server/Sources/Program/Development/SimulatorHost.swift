import HTTPServer
import Hummingbird
import Logging
import ServiceLifecycle
import Simulator

/// A service that runs a simulator's web interface and its clock.
struct SimulatorHost: Service {
    let simulator: AppStoreSimulator
    let host: String
    let port: Int
    let flag: String
    let logger: Logger
    /// The names by which the simulator may be reached.
    var names = LocalNames()
    let onListening: @Sendable (Int) async -> Void

    func run() async throws {
        let app = Application(
            responder: LocalResponder(simulator.router().buildResponder(), for: names),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { await onListening($0.localAddress?.port ?? port) }, logger: logger)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask {
                try await HTTPListener(app: app, host: host, port: port, flag: flag).run()
            }
            tasks.addTask { await cancelWhenGracefulShutdown { await simulator.runClock() } }
            // Does not use `waitForAll`, which would wait for the clock even if the port cannot be
            // opened.
            while try await tasks.next() != nil {}
        }
    }
}
