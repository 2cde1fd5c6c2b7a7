import Testing

/// Starts that fail. One sentence says what is wrong, another says what to do, and the exit code is
/// 1.
@Suite struct StartFailureTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var command: String
        var says: String
        var testDescription: String { command }
    }

    /// Returns the output and the exit code of a command. Kills a command that does not end.
    private static func said(by command: String) async throws -> [Substring] {
        try await BuiltProgram.output(
            of: """
                "$perennial" \(command) 2>&1 & program=$!
                (sleep 60; kill $program) >/dev/null 2>&1 & guard=$!
                wait $program || echo "exit code $?"
                kill $guard
                """
        ).split(separator: "\n")
    }

    @Test(arguments: [
        Row(command: "--host 192.0.2.1", says: "192.0.2.1 is not an address of this machine."),
        Row(command: "--host no.such.invalid", says: "no.such.invalid is not an address of this"),
        Row(command: "--population 0", says: "The population is 0."),
        Row(command: "--population 5 --months 0", says: "The months are 0."),
        Row(command: "--out books", says: "--out needs --population."),
        Row(command: "--data /proc/here", says: "The folder /proc/here is not writable."),
        Row(command: "--notification-url localhost:8080", says: "“localhost:8080” is not a URL"),
        Row(command: "--now yesterday", says: "“yesterday” is not a valid time."),
    ])
    func `if a simulator cannot start, it says why, and what to do`(row: Row) async throws {
        let lines = try await Self.said(by: "simulate --port 0 --data . \(row.command)")
        #expect(lines.first?.hasPrefix("error: \(row.says)") == true, "\(lines)")
        #expect(lines.count == 3 && lines[1].hasPrefix("  "), "\(lines)")
        #expect(lines.last == "exit code 1")
    }

    @Test(arguments: [
        "simulate --port 65536", "dev --port 65536 --simulator-port 0",
        "dev --port 0 --simulator-port 73626",
    ])
    func `an invalid port is refused`(command: String) async throws {
        let lines = try await Self.said(by: "\(command) --data .")
        #expect(lines.first?.hasSuffix("is not a port.") == true, "\(lines)")
        #expect(lines.last == "exit code 1")
    }

    @Test func `development in a read-only folder is refused`() async throws {
        let lines = try await Self.said(by: "dev --port 0 --simulator-port 0 --data /proc/x")
        #expect(lines.first?.hasPrefix("error: The folder /proc/x") == true, "\(lines)")
        #expect(lines.last == "exit code 1")
    }
}
