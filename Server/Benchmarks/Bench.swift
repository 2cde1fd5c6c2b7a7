import ArgumentParser

/// Measures how far Perennial is from what is physically possible: a table of ratios, each of two
/// things measured in turn in the same run.
@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "perennial-bench",
        abstract: "Measure Perennial against the limits of its parts.",
        subcommands: [
            TableCommand.self, ConstantServer.self, BareServer.self, LibraryServer.self,
        ],
        defaultSubcommand: TableCommand.self)
}
