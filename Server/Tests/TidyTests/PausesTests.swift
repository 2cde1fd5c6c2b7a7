import Testing

@Suite struct PausesTests {
    private func violations(_ text: String, in path: String) -> Int {
        Pauses.violations(in: SourceFile(path: path, text: text)).count
    }

    @Test func `no test sleeps, but where time is the point`() {
        for violation in Repository.files.flatMap(Pauses.violations) {
            Issue.record(Comment(rawValue: violation.description))
        }
    }

    /// Otherwise a list of exceptions only grows.
    @Test func `every file of the exceptions sleeps as often as it may`() {
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
    func `a sleep in a test is a violation, and in the server it is none`(line: String) {
        #expect(violations(line, in: "Server/Tests/X/Y.swift") == 1)
        #expect(violations(line, in: "Tests/X/Y.swift") == 1)
        #expect(violations(line, in: "Server/Sources/X/Y.swift") == 0)
    }

    @Test(arguments: [
        "// Task.sleep(for: x)", "run(sleep: rest)", "let text = \"SELECT pg_sleep(1)\"",
        "await asleep()",
    ])
    func `what only looks like a sleep is none`(line: String) {
        #expect(violations(line, in: "Server/Tests/X/Y.swift") == 0)
    }
}
