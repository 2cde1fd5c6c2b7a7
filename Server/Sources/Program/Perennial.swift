import ArgumentParser
import Foundation
import HTTPServer

@main
struct Perennial: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "perennial",
        abstract: "Self-hosted backend for Apple in-app purchases.",
        version: PerennialServer.version,
        subcommands: [
            DevCommand.self, ServeCommand.self, SimulateCommand.self, CheckCommand.self,
            HealthCommand.self, AlertsCommand.self, ExplainCommand.self, RebuildCommand.self,
            KeysCommand.self,
            OperatorsCommand.self,
            EventsCommand.self, WebhooksCommand.self, SchemaCommand.self, MigrateCommand.self,
            BackupCommand.self, RestoreCommand.self,
            ReportCommand.self, ExportCommand.self, AppleReportsCommand.self, ReconcileCommand.self,
            ImportCommand.self, RevenueCatImportCommand.self, RehearseCommand.self,
            ConfigCommand.self, ProveCommand.self,
        ])

    /// Permissions that are removed from every file that the program creates, because it may
    /// contain purchases or keys.
    private static let withheld: mode_t = 0o077

    static func main() async {
        umask(withheld)
        await Self.main(nil)
    }
}
