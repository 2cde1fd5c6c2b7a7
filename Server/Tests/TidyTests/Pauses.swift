/// Finds tests that sleep for a fixed time. A fixed sleep fails on a busy machine and is slow on
/// any other. A test waits for a condition instead: see `eventually` in Tests/Eventually.
enum Pauses {
    /// Files that may sleep, how often, and why. These files test time itself.
    static let allowed: [String: (count: Int, why: String)] = [
        "Eventually/Eventually.swift": (2, "it looks again and again"),
        "Eventually/AsyncSequence+First.swift": (1, "the limit of a wait"),
        "CourierTests/CourierTests.swift": (1, "a receiver that never answers"),
        "Tests/PerennialTests/Answers/LateServer.swift": (1, "it is late by the test's clock"),
        "Tests/PerennialTests/Answers/VirtualClock.swift": (2, "a clock whose sleep is no pause"),
        "Tests/PerennialTests/Engine/LimitTests.swift": (1, "a wait that is cancelled at once"),
        "Tests/PerennialTests/Engine/SilentStore.swift": (1, "a clock whose sleep is no pause"),
        "Tests/PerennialTests/Kills/KillTests.swift": (1, "a kill at a random moment"),
        "AppStoreClientTests/HTTPSenderTests.swift": (
            1, "a server that is slower than the client's time limit"
        ),
        "SimulatorTests/Devices/UpdateStreamTests.swift": (
            1, "a stream on which nothing happens for a while"
        ),
        "Stories/Reconciliation/AppStoreClientStories.swift": (
            1, "a rate limit counts real seconds"
        ),
        "Stories/Support/Stream.swift": (1, "a sender pauses before it tries again"),
        "Stories/Operations/ClusterStories.swift": (1, "a crash at a random moment"),
        "Stories/Operations/DrillStories.swift": (1, "a kill at a random moment"),
        "Stories/Operations/KillStories.swift": (1, "a kill at a random moment"),
        "Stories/Operations/ProofStories.swift": (1, "a kill at a random moment"),
        "Stories/Operations/RebuildStories.swift": (
            1, "documents that arrive while a rebuild runs, one after the other"
        ),
    ]

    static func violations(in file: SourceFile) -> [Violation] {
        let folder = "Server/Tests/"
        guard file.isSwift, file.path.hasPrefix(folder) || file.path.hasPrefix("Tests/") else {
            return []
        }
        let lines = file.codeLines.enumerated().filter { sleeps($0.element) }
        let most = allowed[String(file.path.trimmingPrefix(folder))]?.count ?? 0
        return lines.dropFirst(most).map { index, _ in
            Violation(
                path: file.path, line: index + 1, what: "A test sleeps.",
                remedy: "wait for what you need, by `eventually`, a hook, or the simulator's clock;"
                    + " only if real time is the point, name the file and the reason in Pauses.")
        }
    }

    /// Does not use a word boundary: by Unicode's rules there is none at the point of `Task.sleep`.
    static func sleeps(_ line: Substring) -> Bool {
        line.contains("sleep") && line.contains(#/(^|[^A-Za-z0-9_])sleep\s*\(/#)
    }
}
