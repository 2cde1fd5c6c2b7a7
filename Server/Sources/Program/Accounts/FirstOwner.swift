import Engine
import Foundation

/// What `perennial serve` prints while nobody has an account of its dashboard.
enum FirstOwner {
    /// Prints a link that makes the first account, to standard output: whoever sees the output of
    /// the server's start may become its first admin. It is no line of the log, which is often
    /// sent elsewhere. Prints nothing once there is an account.
    static func printLink(
        _ dashboard: DashboardConfiguration, _ engine: Engine
    ) async throws(EngineFailure) {
        guard let token = try await engine.firstOwnerLink() else { return }
        let text = """
            Nobody has an account of the dashboard yet. This link makes the first one, an admin. \
            It works once, and for three days:
              \(dashboard.url(ofLink: token))

            """
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
