/// Finds waits without a time limit. A wait without a limit can block all tests, and does not say
/// what it waits for. The waits of Tests/Eventually have limits and names.
enum Waits {
    /// Files that may wait in another way, how often, and why.
    static let allowed: [String: (count: Int, why: String)] = [
        "HTTPServerTests/BodyTimeTests.swift": (2, "a channel in memory; the test moves its time"),
        "HTTPServerTests/ListeningServer.swift": (1, "a gate in the server, which a test opens"),
        "RevenueCatDouble/LoopbackDouble.swift": (
            2, "the server's own port, and a response that is held back; the server's end ends both"
        ),
    ]

    private static let folder = "Server/Tests/"

    static func violations(in file: SourceFile) -> [Violation] {
        guard file.isSwift, file.path.hasPrefix(folder) || file.path.hasPrefix("Tests/"),
            !file.path.hasPrefix(folder + "Eventually/")
        else { return [] }
        let most = allowed[String(file.path.trimmingPrefix(folder))]?.count ?? 0
        return lines(in: file).dropFirst(most).map { line in
            Violation(
                path: file.path, line: line, what: "A test waits without a limit.",
                remedy: "wait by Tests/Eventually: `eventually`, `first`, `wait(for:)`, "
                    + "`waitForEnd`, `output`; for a loop, give the test a `.timeLimit`.")
        }
    }

    /// The lines that wait without a limit.
    static func lines(in file: SourceFile) -> [Int] {
        // A suite of the SDK has a time limit in its own file.
        let mayLoop = file.path.hasPrefix(folder) && !file.code.contains(".timeLimit(")
        return file.codeLines.enumerated().filter { _, line in
            blocks(line) || mayLoop && loops(line)
        }.map { $0.offset + 1 }
    }

    // Checks for plain words first, because a regular expression is parsed each time it is used,
    // which takes longer than this check of words.
    private static func blocks(_ line: Substring) -> Bool {
        (line.contains("wait") || line.contains("ToEnd"))
            && line.contains(#/\.wait\(\)|(waitUntilExit|readDataToEndOfFile|readToEnd)\(/#)
    }

    /// Whether the line loops over elements that others send. The tasks of a group have their own
    /// limits, so a loop over a group is allowed.
    private static func loops(_ line: Substring) -> Bool {
        line.contains(" await ") && line.contains(#/\bfor (try )?await \w+ in /#)
            && !line.contains(#/ in (group|tasks|sequence\(\))\b/#)
    }
}
