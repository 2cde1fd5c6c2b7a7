import ArgumentParser

@main
struct Perennial: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "perennial",
        abstract: "What may this customer use right now, and why?",
        subcommands: [
            DevCommand.self, ServeCommand.self, SimulateCommand.self, CheckCommand.self,
            ExplainCommand.self, RebuildCommand.self, KeysCommand.self, MigrateCommand.self,
            ReconcileCommand.self, ImportCommand.self, ConfigCommand.self, ProveCommand.self,
        ])
}
