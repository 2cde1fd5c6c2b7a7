import AppStoreFormats
import Foundation
import Ledger
import Testing

@testable import Program

/// The commands on a page of the docs, and the answers that the page shows.
struct PageExamples: Sendable, CustomTestStringConvertible {
    var page: String
    var examples: [Example]
    /// Whether the page says before its first example that the reader must start a new world.
    var beginsFresh = false

    var testDescription: String { page }

    struct Example: Sendable {
        var commands: String
        /// The answer of the last command, as far as the page shows it.
        var answer: String?
        /// Whether the answer is text for people, not JSON.
        var isText = false
    }

    /// The commands of the program that examples may use.
    private static var commands: Regex<(Substring, Substring)> {
        #/(?m)^perennial (report|export|apple-reports|reconcile money) /#
    }

    private static let docs = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs")

    /// All pages with examples.
    static func all() throws -> [PageExamples] {
        try FileManager.default.contentsOfDirectory(atPath: docs.path)
            .filter { $0.hasSuffix(".md") }.sorted().map { try PageExamples(page: $0) }
            .filter { !$0.examples.isEmpty }
    }

    private init(page: String) throws {
        self.page = page
        let text = try String(contentsOf: Self.docs.appending(path: page), encoding: .utf8)
        let fence = #/(?m)^```(\w+)\n([\s\S]*?)^```$/#
        let blocks = text.matches(of: fence).map { (kind: $0.output.1, text: $0.output.2) }
        examples = blocks.indices.compactMap { index in
            let text = blocks[index].text
            guard blocks[index].kind == "sh",
                text.contains("curl ") || text.contains(Self.commands)
            else { return nil }
            let next = blocks.indices.contains(index + 1) ? blocks[index + 1] : nil
            let isAnswered = next?.kind == "json" || next?.kind == "text"
            return Example(
                commands: String(text), answer: isAnswered ? next.map { String($0.text) } : nil,
                isText: next?.kind == "text")
        }
        let first = text.firstRange(of: #/(?m)^```sh\n/#)
        beginsFresh = text[..<(first?.lowerBound ?? text.endIndex)].contains("`bin/dev --fresh`")
    }

    private static let separator = "\u{1E}"

    /// The script of all examples in order, as a reader would paste them. Each answer begins on its
    /// own line.
    ///
    /// - Parameters:
    ///   - program: the path of `perennial`.
    ///   - folder: the folder of the development database, to which examples also write files.
    func script(
        serverPort: Int, simulatorPort: Int, program: String, folder: String
    ) -> String {
        let start = "cd '\(folder)'\nperennial() { '\(program)' \"$@\"; }\n"
        return start
            + examples.map { example in
                let commands = example.commands
                    .replacing("localhost:8080", with: "localhost:\(serverPort)")
                    .replacing("localhost:8090", with: "localhost:\(simulatorPort)")
                    .replacing("--data .perennial", with: "--data '\(folder)'")
                    .replacing(#/(?m)^curl /#) { _ in "echo; curl " }
                return commands + "printf '\(Self.separator)'\n"
            }.joined()
    }

    /// The differences between the output and the page; empty if they agree.
    func differences(from output: String) -> [String] {
        let answers = output.components(separatedBy: Self.separator)
        guard answers.count == examples.count + 1 else {
            return ["\(answers.count - 1) of \(examples.count) examples were run"]
        }
        return zip(examples, answers).flatMap { example, answer in
            Self.differences(example, answer).map { "\($0)\nafter\n\(example.commands)" }
        }
    }

    private static func differences(_ example: Example, _ output: String) -> [String] {
        guard let text = example.answer else {
            if output.contains(#""remedy""#) { return ["a problem: \(output)"] }
            return output.allSatisfy(\.isWhitespace) ? ["no answer"] : []
        }
        if example.isText { return missingLines(of: text, in: output) }
        guard let said = try? JSON(parsing: text.utf8) else {
            return ["the page shows no JSON: \(text)"]
        }
        guard let found = lastValue(of: output) else { return ["no JSON: \(output)"] }
        return differences(said, found, at: "").map { "\($0) in \(found.text)" }
    }

    /// The first line of the page that the output lacks. The lines must be in the same order. `…`
    /// stands for any text.
    static func missingLines(of text: String, in output: String) -> [String] {
        var rest = output.split(separator: "\n")[...]
        for line in text.split(separator: "\n") {
            let found = rest.firstIndex { $0 == line || fits(String($0), String(line)) }
            guard let index = found else {
                return ["the line “\(line)” is not in\n\(output)"]
            }
            rest = rest[(index + 1)...]
        }
        return []
    }

    private static func lastValue(of output: String) -> JSON? {
        let lines = output.split(separator: "\n")
        return lines.indices.lazy.compactMap {
            try? JSON(parsing: lines[$0...].joined(separator: "\n").utf8)
        }.first
    }

    /// The differences between two values. An object must have the members that the page shows, and
    /// a list must have the same elements in the same order. `…` in a text stands for any text.
    static func differences(_ said: JSON, _ found: JSON, at place: String) -> [String] {
        switch (said, found) {
        case (.object(let members), .object):
            return members.flatMap { member in
                guard let value = found[member.key] else { return ["\(place).\(member.key): none"] }
                return differences(member.value, value, at: "\(place).\(member.key)")
            }
        case (.array(let said), .array(let found)):
            if said.isEmpty && !found.isEmpty { return ["\(place) is not empty"] }
            var rest = found[...]
            for (index, value) in said.enumerated() {
                guard
                    let next = rest.firstIndex(where: {
                        differences(value, $0, at: "").isEmpty
                    })
                else { return ["\(place)[\(index)] is not there"] }
                rest = rest[(next + 1)...]
            }
            return []
        case (.string(let said), .string(let found)) where said.contains("…"):
            return fits(found, said) ? [] : ["\(place) is \(found)"]
        default: return said == found ? [] : ["\(place) is \(found.text)"]
        }
    }

    private static func fits(_ text: String, _ pattern: String) -> Bool {
        let parts = pattern.components(separatedBy: "…")
        guard let first = parts.first, let last = parts.last, text.hasPrefix(first) else {
            return false
        }
        var rest = text.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() {
            guard part.isEmpty || rest.contains(part) else { return false }
            if let range = rest.firstRange(of: part) { rest = rest[range.upperBound...] }
        }
        return rest.hasSuffix(last)
    }
}

@Suite struct PageExamplesTests {
    private static let canRun = [TourTests.curl, "/usr/bin/jq"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    // The test is skipped without curl or jq, because the commands are run as a reader would paste
    // them.
    @Test(.enabled(if: canRun), arguments: try PageExamples.all())
    func `the examples of a page give the answers on the page, and support sees the effects`(
        page: PageExamples
    ) async throws {
        try await TemporaryFolder.with { folder in
            let shop = DevShop(folder: folder)
            let world = try shop.nextWorld()
            _ = try shop.authority()
            var settings = try shop.settings(try shop.example(), world, logger: .quiet)
            try shop.save(world)
            let keeper = WorldTimeFile(world, in: shop)
            settings.keepTime = { try keeper.save(until: $0) }
            let program = try BuiltProgram.path()
            let differences = try await LocalStack.run(settings) { store in
                let output = try await Shell.output(
                    of: page.script(
                        serverPort: store.serverPort, simulatorPort: store.simulatorPort,
                        program: program, folder: folder))
                return page.differences(from: output)
                    + (try await Self.unseen(of: page.page, in: store))
            }
            #expect(differences == [], "\(differences?.joined(separator: "\n") ?? "")")
        }
    }

    /// What support sees after the examples of a page: the customer, and parts of the explanation
    /// and of the history.
    private struct Shown {
        var id: CustomerID = "anna"
        var explained: [String]
        var history: [String]
    }

    private static let shown: [String: Shown] = [
        "access.md": Shown(
            explained: [
                "guide: closed, refunded", "without end  guide", "revoked on 2026-01-01",
            ],
            history: [
                "guide, transaction", "revoked on 2026-01-01", "Event: refunded of purchase",
            ]),
        "consumption.md": Shown(
            explained: ["The App Store asks how transaction", "30.0 % used, with a sample"],
            history: ["The App Store asks how transaction", "Event: consumption answered"]),
        "content.md": Shown(
            explained: ["content 2025-12: open. The newest issue when access began"],
            history: ["pro.monthly, transaction"]),
        "events.md": Shown(explained: ["  renewed  "], history: ["Event: renewed of purchase"]),
        "grants.md": Shown(
            explained: [
                "pro granted until 2026-12-01 00:00 UTC: ticket 7", "moved from ben",
            ],
            history: [
                "pro granted until 2026-12-01 00:00 UTC: ticket 7", "Event: granted of pro",
            ]),
        "identity.md": Shown(
            id: "ben", explained: ["  moved  ", "  moved_away  "],
            history: ["Event: moved of purchase"]),
        "offers.md": Shown(
            explained: [
                "offer pro.monthly, promotional stay: eligible.", "trial  introductory offer",
                "offer pro.yearly, introductory: not eligible. Is subscribed in the group.",
            ], history: ["trial, introductory offer, from 2026-01-01 12:00 UTC"]),
        "terms.md": Shown(
            explained: [
                "term 2026-01-01 12:00 UTC – 2026-04-02 12:00 UTC  season.spring",
                "reminder 7 days before 2026-04-02 12:00 UTC: emitted on 2026-03-27",
            ],
            history: ["season.spring, transaction", "Event: term ending of purchase"]),
        "tokens.md": Shown(
            explained: ["token: lists no entitlement; valid 60 minutes"], history: []),
        "wallets.md": Shown(
            explained: ["wallet seeds: 65", "→ 70  an oak, debit", "-30 seeds, from 100 to 70"],
            history: [
                "30 of seeds spent: an oak",
                "Event: wallet debited, -30 seeds, from 100 to 70, by the key",
            ]),
    ]

    private static func unseen(of page: String, in store: LocalStack) async throws -> [String] {
        guard let shown = shown[page] else { return [] }
        let text = try await store.engine.customers.explain(
            shown.id, app: "birds", environment: .production)
        let history = try await store.engine.customers.history(
            of: shown.id, app: "birds", environment: .production
        ).map(\.sentence).joined(separator: "\n")
        return shown.explained.filter { !text.contains($0) }.map { "\($0)\nis not in\n\(text)" }
            + shown.history.filter { !history.contains($0) }
            .map { "\($0)\nis not in\n\(history)" }
    }

    // Each page is tested in a new world, so its readers must also start a new world.
    @Test func `a page with examples says that the examples need a new world`() throws {
        #expect(try PageExamples.all().filter { !$0.beginsFresh }.map(\.page) == [])
    }

    @Test func `every page with an expected support view has examples`() throws {
        let pages = Set(try PageExamples.all().map(\.page))
        #expect(pages.isSuperset(of: Self.shown.keys))
    }

    @Test func `the output must contain the lines that a page shows, in the same order`() {
        let output = "a report\n\n2026-01  9.99  10.00\n2026-02  1.00  2.00\n"
        for (text, isThere) in [
            ("a report\n2026-01 … 10.00", true), ("2026-02 … 2.00\n2026-01 …", false),
            ("2026-01 … 9.99", false), ("a report", true), ("report", false),
        ] {
            #expect(PageExamples.missingLines(of: text, in: output).isEmpty == isThere, "\(text)")
        }
    }

    @Test func `an answer that differs from the page's answer is detected`() throws {
        let said: JSON = ["a": [["b": 1]], "c": "x…z", "d": .null, "e": []]
        let rows: [(JSON, Bool)] = [
            (["a": [["b": 0], ["b": 1, "f": 2]], "c": "xyz", "d": .null, "e": [], "g": 1], true),
            (["a": [["b": 2]], "c": "xyz", "d": .null, "e": []], false),
            (["a": [["b": 1]], "c": "xy", "d": .null, "e": []], false),
            (["a": [["b": 1]], "c": "xyz", "e": []], false),
            (["a": [["b": 1]], "c": "xyz", "d": .null, "e": [1]], false),
            (["a": [["b": 1]], "c": 7, "d": .null, "e": []], false),
        ]
        for (found, fits) in rows {
            let differences = PageExamples.differences(said, found, at: "")
            #expect(differences.isEmpty == fits, "\(found.text): \(differences)")
        }
    }
}
