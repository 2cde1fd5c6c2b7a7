import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle

/// A web application that says clearly when its port is taken.
struct Listening<App: ApplicationProtocol>: Service {
    var app: App
    var port: Int
    /// The flag that chooses another.
    var flag: String

    func run() async throws {
        do { try await app.run() } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw StartFailure(
                "Port \(port) is in use.",
                remedy: "Stop the other program, or choose another port with \(flag).")
        }
    }
}
