import ArgumentParser
import Engine
import Ledger
import Storage

/// The commands about alerts.
struct AlertsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "alerts", abstract: "Try the alerts of a server.",
        subcommands: [AlertsTestCommand.self])
}

/// Sends a test by each channel of the configuration.
struct AlertsTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Send a test by each channel of `alerts:`.",
        discussion: "The database is not used, so a server may run meanwhile.")

    @OptionGroup var options: ProcessOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let path = options.configPath
            let file = try Outcome.configuration(at: path)
            guard let settings = file.alerts else {
                throw StartFailure(
                    "\(path) has no alerts.",
                    remedy: "Add `alerts:` with `webhook:` or `mail:`, as docs/monitoring.md shows."
                )
            }
            let sender = AlertSender(settings, dashboard: file.dashboard)
            let message = AlertMessage.test(id: AlertService.newID(), at: .machine)
            var isOK = true
            for channel in settings.channels {
                let label = "\(channel.rawValue) to \(sender.label(of: channel))"
                switch await sender.send(message, on: channel) {
                case .sent: print("ok    \(label): sent")
                case .sentInPart(let refused):
                    isOK = false
                    print("DO    \(label): some recipients were refused: \(refused)")
                case .failed(let reason), .refused(let reason):
                    isOK = false
                    print("DO    \(label): \(reason)")
                }
            }
            if !isOK { throw ExitCode(1) }
        }
    }
}
