import Testing

@Suite struct PausesTests {
    private func violations(_ text: String, in path: String) -> Int {
        Pauses.violations(in: SourceFile(path: path, text: text)).count
    }

    @Test func `no test sleeps, except where time itself is tested`() {
        for violation in Repository.files.flatMap(Pauses.violations) {
            Issue.record(Comment(rawValue: violation.description))
        }
    }

    /// An exception that is no longer needed must be removed from the list.
    @Test func `every file that may sleep sleeps exactly as often as the list allows`() {
        for (path, allowance) in Pauses.allowed {
            let file = Repository.files.first {
                $0.path == "Server/Tests/\(path)" || $0.path == path
            }
            let found = file?.codeLines.count(where: Pauses.sleeps)
            #expect(found == allowance.count, "\(path)")
        }
    }

    @Test(arguments: [
        "try await Task.sleep(for: .seconds(1))", "Thread.sleep(forTimeInterval: 1)", "sleep(3)",
        "try? await ContinuousClock().sleep (for: x)",
    ])
    func `a sleep is a violation in a test, and is allowed in the server`(line: String) {
        #expect(violations(line, in: "Server/Tests/X/Y.swift") == 1)
        #expect(violations(line, in: "Tests/X/Y.swift") == 1)
        #expect(violations(line, in: "Server/Sources/X/Y.swift") == 0)
    }

    @Test(arguments: [
        "// Task.sleep(for: x)", "run(sleep: rest)", "let text = \"SELECT pg_sleep(1)\"",
        "await asleep()",
    ])
    func `a line that only resembles a sleep is allowed`(line: String) {
        #expect(violations(line, in: "Server/Tests/X/Y.swift") == 0)
    }
}
