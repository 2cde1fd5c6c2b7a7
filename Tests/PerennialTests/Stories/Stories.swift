import Foundation
import Perennial
import PerennialTesting
import Synchronization
import Testing

/// The part of each story that is played.
enum StoryScale {
    /// Whether every story is played completely, by `PERENNIAL_STORIES=whole`. A complete run takes
    /// longer than a test's time limit.
    static let isWhole =
        ProcessInfo.processInfo.environment["PERENNIAL_STORIES"] == "whole"
}

/// Situations between an app, the App Store and the server. Each situation is a row of
/// `Tables/rows.txt`, identified by its number, and has a separate world.
@Suite(
    .serialized, .timeLimit(.minutes(StoryScale.isWhole ? 20 : 2)),
    .enabled(if: World.isAvailable, "skipped: no program"))
enum Stories {
    /// The length of most periods in these stories, in seconds.
    static let day = 86_400

    /// Plays a story in a new world. The world ends with the story, even if the story fails. At the
    /// end, the app must not have requested a password, except after an action of the customer.
    ///
    /// - Parameter passwords: the number of password prompts that the story's restores cause.
    static func play(
        storekit: URL? = nil, configuration: URL? = nil, passwords: Int = 0,
        _ story: (World) async throws -> Void
    ) async throws {
        let database = try await StoryDatabases.shared.make()
        let world = try await World.start(
            storekit: storekit, configuration: configuration, database: database)
        do {
            try await story(world)
            let prompts = try await world.prompts()
            #expect(prompts.filter { $0.cause != "purchase" }.count == passwords)
        } catch {
            await world.stop()
            try? await StoryDatabases.shared.drop(database)
            throw error
        }
        await world.stop()
        try await StoryDatabases.shared.drop(database)
    }

    /// Plays a story in a club, which has codes, a win-back offer, and a plan with a commitment for
    /// a year.
    static func playClub(_ story: (World) async throws -> Void) async throws {
        try await play(configuration: table("club.yaml"), story)
    }

    /// Plays a story in the shop of In-App Rage.
    static func playRage(_ story: (World) async throws -> Void) async throws {
        try await play(configuration: rage.appendingPathComponent("perennial.yaml"), story)
    }

    static func table(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Tables/\(name)")
    }

    static let rage = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Examples/Rage")
}

extension Device {
    /// How often the test checks whether all work is finished.
    static let looksMax = 200

    /// Checks repeatedly whether all work is finished, because no event reports the end.
    func finishesAll(_ perennial: Perennial) async throws -> Bool {
        for _ in 0..<Self.looksMax {
            await perennial.enterForeground()
            if try await unfinished() == 0 { return true }
        }
        return false
    }
}

extension Duration {
    static func days(_ days: Int) -> Self { .seconds(days * Stories.day) }
}

/// The lines that the SDK has logged. The lines include every opening and closing of a right.
final class Journal: Sendable {
    private let entries = Mutex<[String]>([])

    var lines: [String] { entries.withLock { $0 } }

    /// The lines about a right that closed.
    func shuttings(of right: String) -> [String] {
        lines.filter { $0.contains("\(right) is shut") }
    }

    var handler: Perennial.LogHandler {
        Perennial.LogHandler(level: .debug) { _, _, message in
            self.entries.withLock { $0.append(message) }
        }
    }
}
