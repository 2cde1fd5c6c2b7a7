import Foundation
import Perennial
import PerennialTesting
import Synchronization
import Testing

/// How much of a story is played.
enum StoryScale {
    /// Whether everything is played in its full number, which takes longer than a test may:
    /// `PERENNIAL_STORIES=whole`.
    static let isWhole =
        ProcessInfo.processInfo.environment["PERENNIAL_STORIES"] == "whole"
}

/// What happens between an app, the App Store and the server: each a row of `Tables/rows.txt`, by
/// its number, in a world of its own.
@Suite(
    .serialized, .timeLimit(.minutes(StoryScale.isWhole ? 20 : 2)),
    .enabled(if: World.isAvailable, "skipped: no program"))
enum Stories {
    /// The days of most periods here, in seconds.
    static let day = 86_400

    /// Plays in a new world, which ends with the story however that ends. At its end, nothing has
    /// asked for a password but what the customer has asked for.
    ///
    /// - Parameter passwords: how often the story asks for one, by restoring.
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

    /// Plays in a club, which has codes, a win-back offer, and a plan that is promised for a year.
    static func playClub(_ story: (World) async throws -> Void) async throws {
        try await play(configuration: table("club.yaml"), story)
    }

    /// Plays in the shop of In-App Rage.
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
    /// How often it is looked whether everything is finished.
    static let looksMax = 200

    /// Whether everything is finished, by and by: no change tells of it.
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

/// What the SDK has logged: every opening and every closing of a right is among it.
final class Journal: Sendable {
    private let entries = Mutex<[String]>([])

    var lines: [String] { entries.withLock { $0 } }

    /// The lines about a right that shut.
    func shuttings(of right: String) -> [String] {
        lines.filter { $0.contains("\(right) is shut") }
    }

    var handler: Perennial.LogHandler {
        Perennial.LogHandler(level: .debug) { _, _, message in
            self.entries.withLock { $0.append(message) }
        }
    }
}
