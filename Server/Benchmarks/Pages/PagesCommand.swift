import ArgumentParser

/// Measures the dashboard on a large database.
struct PagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pages",
        abstract: "Measure the pages of the dashboard, with a million customers.")

    @Flag(help: "Use 20,000 customers. For a quick look only.") var quick = false

    func run() async throws {
        print(try await PagesBench(try BenchFolder(isQuick: quick)).measure())
    }
}
