import Foundation
import Ledger
import Logging
import Storage
import Testing

@testable import Engine
@testable import Program

/// The file with the list of erasures.
@Suite struct ErasureFileTests {
    private static func intent(
        _ name: String, at milliseconds: Int64 = 1, ids: Int = 1
    ) -> ErasureIntent {
        ErasureIntent(
            name: name, app: "rage", at: Instant(milliseconds: milliseconds), key: "0a1b2c3d",
            codes: (0..<ids).map { number in
                .init(
                    exact: Array(repeating: UInt8(number), count: 32),
                    tombstone: Array(repeating: UInt8(number + 100), count: 32))
            })
    }

    private static let position = LogPosition("k3f9x2ab7c", 12)

    private static func write(_ lines: [ErasureLine], to file: ErasureFile) async throws {
        try await file.list(.quiet).append(lines)
    }

    @Test func `lines are read as they were written`() async throws {
        try await TemporaryFolder.with { folder in
            let file = ErasureFile(path: folder + "/list")
            try await Self.write([.intent(Self.intent("a", ids: 2))], to: file)
            try await Self.write(
                [
                    .end(name: "a", app: "rage", position: Self.position),
                    .intent(Self.intent("b")), .abandoned(name: "b", app: "rage"),
                    .intent(Self.intent("c")),
                ], to: file)
            let contents = try await file.read(.quiet)
            #expect(contents.damaged.isEmpty && contents.lines.count == 6)
            #expect(
                contents.erasures == [
                    ListedErasure(intent: Self.intent("a", ids: 2), ends: [Self.position]),
                    ListedErasure(intent: Self.intent("c")),
                ])
            #expect(FileStatus(path: file.path)?.permissions == 0o600)
        }
    }

    @Test func `if the copy is unreadable, an empty list is refused, but a nonempty list is used`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let file = ErasureFile(path: folder + "/list", copy: folder + "/copy")
            // A folder in place of the copy cannot be read.
            try FileManager.default.createDirectory(
                atPath: folder + "/copy", withIntermediateDirectories: false)
            await #expect(throws: StartFailure.self) { try await file.read(.quiet) }
            try await Self.write(
                [.intent(Self.intent("a"))], to: ErasureFile(path: folder + "/list"))
            #expect(try await file.read(.quiet).lines.count == 1)
        }
    }

    @Test func `an incomplete last line is ignored, and the next line is written completely`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let file = ErasureFile(path: folder + "/list")
            try await Self.write([.intent(Self.intent("a"))], to: file)
            let whole = try Data(contentsOf: URL(filePath: file.path))
            for length in 1..<whole.count - 1 {
                try whole.prefix(length).write(to: URL(filePath: file.path))
                #expect(try ErasureFile.contents(of: file.path).damaged.isEmpty, "\(length)")
                try await Self.write([.intent(Self.intent("b"))], to: file)
                let contents = try await file.read(.quiet)
                #expect(contents.damaged.isEmpty, "\(length)")
                #expect(contents.erasures.map(\.intent.name) == ["b"], "\(length)")
            }
        }
    }

    @Test func `a damaged line is reported with its number, unless it is an incomplete last line`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let file = ErasureFile(path: folder + "/list")
            try await Self.write(
                ["a", "b", "c"].map { .intent(Self.intent($0)) }, to: file)
            var bytes = try Data(contentsOf: URL(filePath: file.path))
            let line = bytes.count / 3
            for place in [3, line + line - 2] { bytes[place] = UInt8(ascii: "\r") }
            try bytes.write(to: URL(filePath: file.path))
            let log = LineCollector()
            let contents = try await file.read(Logger(label: "test") { _ in log.handler })
            #expect(contents.damaged == [1, 2])
            #expect(contents.erasures.map(\.intent.name) == ["c"])
            #expect(log.text.contains("is damaged") && log.text.contains("line=2"), "\(log.text)")
        }
    }

    @Test func `a line with a changed character cannot be read`() async throws {
        let text = ErasureText.text(of: [
            .intent(Self.intent("a")), .end(name: "a", app: "rage", position: Self.position),
            .abandoned(name: "b", app: "rage"),
        ])
        for line in text.split(separator: "\n") {
            #expect(ErasureText.line(of: line) != nil)
            let characters = Array(line)
            for index in characters.indices where characters[index] != " " {
                var changed = characters
                changed[index] = characters[index] == "7" ? "8" : "7"
                #expect(ErasureText.line(of: String(changed)) == nil, "\(index)")
            }
        }
    }

    @Test func `if the file and its copy differ, each gets the missing lines`() async throws {
        try await TemporaryFolder.with { folder in
            let both = ErasureFile(path: folder + "/list", copy: folder + "/copy")
            try await Self.write([.intent(Self.intent("a"))], to: ErasureFile(path: both.path))
            try await Self.write(
                [.intent(Self.intent("b"))], to: ErasureFile(path: try #require(both.copy)))
            for _ in 1...2 {
                #expect(Set(try await both.read(.quiet).erasures.map(\.intent.name)) == ["a", "b"])
            }
            for path in [both.path, folder + "/copy"] {
                #expect(try ErasureFile.contents(of: path).lines.count == 2, "\(path)")
            }
        }
    }

    @Test func `concurrent writers lose no line`() async throws {
        try await TemporaryFolder.with { folder in
            await withTaskGroup(of: Void.self) { tasks in
                for writer in 0..<8 {
                    tasks.addTask {
                        let file = ErasureFile(path: folder + "/list")
                        for number in 0..<20 {
                            try? await Self.write(
                                [.intent(Self.intent("\(writer)-\(number)"))], to: file)
                        }
                    }
                }
            }
            let contents = try ErasureFile.contents(of: folder + "/list")
            #expect(contents.erasures.count == 160 && contents.damaged.isEmpty)
        }
    }

    @Test func `an erasure is removed from the list when it is old and no older backup exists`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let file = ErasureFile(path: folder + "/list")
            let day: Int64 = 86_400_000
            for number in [1, 2, 3] as [Int64] {
                try await Self.write(
                    [
                        .intent(Self.intent("\(number)", at: number * day, ids: 2)),
                        .end(name: "\(number)", app: "rage", position: Self.position),
                    ], to: file)
            }
            func names() throws -> [String] {
                try ErasureFile.contents(of: file.path).erasures.map(\.intent.name)
            }
            let backup = Instant(milliseconds: 3 * day)
            // Copies of backups may be elsewhere.
            try await file.removeExpired(before: backup, at: backup + .days(300))
            #expect(try names() == ["1", "2", "3"])
            try await file.removeExpired(before: backup, at: backup + .days(401))
            #expect(try names() == ["3"])
            #expect(try ErasureFile.contents(of: file.path).lines.count == 3)
        }
    }

    @Test func `a database in memory has no list; PostgreSQL has one only with the setting`() {
        #expect(ErasureFile(for: ":memory:", in: nil, backups: nil) == nil)
        #expect(ErasureFile(for: "postgres://h/d", in: nil, backups: "/b") == nil)
        let set = ErasureFile(for: "postgres://h/d", in: "/e", backups: nil)
        #expect(set?.path == "/e/perennial.erasures")
    }
}
