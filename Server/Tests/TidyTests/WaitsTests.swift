import Testing

@Suite struct WaitsTests {
    private func violations(_ text: String, in path: String = "Server/Tests/X/Y.swift") -> Int {
        Waits.violations(in: SourceFile(path: path, text: text)).count
    }

    @Test func `no test waits without a limit`() {
        for violation in Repository.files.flatMap(Waits.violations) {
            Issue.record(Comment(rawValue: violation.description))
        }
    }

    /// An exception that is no longer needed must be removed from the list.
    @Test
    func `every file that may wait without a limit does so exactly as often as listed`() {
        for (path, allowance) in Waits.allowed {
            let file = Repository.files.first { $0.path == "Server/Tests/\(path)" }
            #expect(file.map { Waits.lines(in: $0).count } == allowance.count, "\(path)")
        }
    }

    @Test(arguments: [
        "gate.wait()", "process.waitUntilExit()", "let data = handle.readDataToEndOfFile()",
        "try handle.readToEnd()",
    ])
    func `a wait without a limit is a violation in all tests`(line: String) {
        #expect(violations(line) == 1)
        #expect(violations(line, in: "Tests/X/Y.swift") == 1)
        #expect(violations(line, in: "Server/Sources/X/Y.swift") == 0)
    }

    @Test(arguments: ["for await event in stream { }", "for try await part in answer.body {"])
    func `a loop over elements from outside is a violation in the server's tests`(line: String) {
        #expect(violations(line) == 1)
        #expect(violations(line, in: "Server/Sources/X/Y.swift") == 0)
    }

    @Test(arguments: [
        "try gate.wait(for: event)", "try process.waitForEnd()", "// gate.wait()",
        "for await count in group { }", "@Test(.timeLimit(.minutes(1)))\nfor await x in y {}",
    ])
    func `a wait with a limit is allowed`(text: String) {
        #expect(violations(text) == 0)
    }
}
