import Engine
import Foundation

/// What `perennial serve` prints while its dashboard has no account.
enum FirstOperator {
    /// Prints a link that creates the first account. The link goes to standard output, because a
    /// person who can read that output may become the first admin. The link is not logged, because
    /// logs are often sent elsewhere. Prints nothing if there is already an account.
    static func printLink(
        _ dashboard: DashboardConfiguration, _ engine: Engine
    ) async throws(EngineFailure) {
        guard let token = try await engine.operators.firstLink() else { return }
        let text = """
            The dashboard has no account yet. This link makes the first account, an admin. The \
            link works once, within three days:
              \(dashboard.url(ofLink: token))

            """
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
