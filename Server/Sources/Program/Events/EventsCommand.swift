import ArgumentParser
import Engine
import Foundation
import Ledger
import PerennialContract
import Storage
import UnixSignals

/// The commands about the event log.
struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Read the event log.",
        subcommands: [EventsFollowCommand.self])
}

/// Prints the log as it grows.
struct EventsFollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Print the events of an app, and then each new one, until Ctrl-C.")

    @Option(help: "Begin after this cursor. Default: with the first event.") var after: String?
    @Flag(name: .customLong("new"), help: "Begin with the next event.") var onlyNew = false
    @Option(help: "Only events of this customer.") var customerID: String?
    @Option(help: "text, or json for one event as JSON on each line.")
    var format = EventLine.Format.text
    @Option(help: "The app, if there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func validate() throws {
        guard after == nil || !onlyNew else {
            throw ValidationError("Use --after or --new, not both.")
        }
    }

    func run() async throws {
        try await Outcome.reportingFailures {
            let begin = try place()
            // If the signals were not trapped, they would end the process in the middle of a line.
            let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            let follower = EventFollower(
                engine: assembly.engine, app: try assembly.app(named: app),
                customer: customerID.map { CustomerID(rawValue: VisibleText.decoded($0)) })
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in signals { return } }
                group.addTask {
                    let from = onlyNew ? try await follower.lastPlace() : begin
                    let last = try await follower.run(after: from) { event, epochs in
                        try EventLine(event, in: epochs).print(as: format)
                    }
                    if let last { Outcome.printError("Continue with --after \(last)") }
                }
                try await group.next()
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }

    private func place() throws(StartFailure) -> LogPosition? {
        guard let after else { return nil }
        guard let place = LogPosition(after) else {
            throw StartFailure(
                "“\(after)” is no cursor.",
                remedy: "Use next_cursor of a response, or the first word of a line.")
        }
        return place
    }
}
