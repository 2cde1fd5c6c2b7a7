import ArgumentParser

@main
struct Bench: AsyncParsableCommand {
    func run() async throws {}
}
