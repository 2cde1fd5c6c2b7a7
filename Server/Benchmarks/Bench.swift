import ArgumentParser

/// Measures how close Perennial comes to the physical limits: prints a table of ratios. The two
/// values of each ratio are measured alternately in the same run.
@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "perennial-bench",
        abstract: "Measure Perennial against the limits of its parts.",
        subcommands: [
            TableCommand.self, ConstantServer.self, BareServer.self, LibraryServer.self,
            ServersCommand.self, UpgradeCommand.self, ReportsCommand.self, PagesCommand.self,
        ],
        defaultSubcommand: TableCommand.self)
}
