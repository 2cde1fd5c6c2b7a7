import Foundation
import Testing

@testable import Simulator

/// The tables on the simulator's pages must list all the words of the code, and no others.
@Suite struct PageWordsTests {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs")

    private func text(of page: String = "simulator.md") throws -> String {
        try String(contentsOf: Self.docs.appending(path: page), encoding: .utf8)
    }

    private func lines(of page: String) throws -> [String] {
        try text(of: page).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    /// The words in the first column of the first table under a heading.
    private func words(
        under heading: String, of page: String = "simulator.md"
    ) throws -> [String] {
        let lines = try lines(of: page)
        let section = lines.drop { $0 != heading }.dropFirst().prefix { !$0.hasPrefix("#") }
        let table = section.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        // Skips the two lines of the table's head.
        return table.dropFirst(2).flatMap { Self.words(inColumn: 0, of: $0) }
    }

    /// The words in one column of a row of a table.
    private static func words(inColumn column: Int, of row: String) -> [String] {
        let cells = row.split(separator: "|").map(String.init)
        guard cells.indices.contains(column) else { return [] }
        return cells[column].matches(of: #/`([^`]+)`/#).map { String($0.1) }
    }

    @Test(arguments: [
        ("### Where a purchase stands", TruePurchase.State.allCases.map(\.rawValue)),
        ("### Why a purchase waits", PendingPurchase.Reason.allCases.map(\.rawValue)),
        ("### What stands in the log", LogEntryKind.allCases.map(\.rawValue)),
        ("## Habits", Quirk.allCases.map(\.rawValue)),
        (
            "### Habits of a device",
            DeviceHabit.allCases.map(\.rawValue) + ["empty_reads_at_launch"]
        ),
        ("### Messages", StoreMessage.Reason.allCases.map(\.rawValue)),
    ])
    func `a table in docs/simulator.md lists exactly the words that the code accepts`(
        heading: String, known: [String]
    ) throws {
        #expect(try words(under: heading).sorted() == known.sorted())
    }

    @Test func `docs/simulator.md names every fault`() throws {
        let text = try text()
        let faults =
            NotificationFault.allCases.map(\.rawValue) + APIFault.allCases.map(\.rawValue)
            + DeviceFault.allCases.map(\.rawValue)
        for fault in faults { #expect(text.contains("`\(fault)`"), "\(fault)") }
    }

    // MARK: - Verbs

    private func names(_ subject: Verb.Subject) -> [String] {
        Verb.all.filter { $0.subject == subject }.map(\.name).sorted()
    }

    /// The row of the table of routes whose first column contains a path.
    private func row(of path: String) throws -> String {
        try require(
            try lines(of: "simulator.md").first {
                $0.hasPrefix("|") && $0.split(separator: "|").first?.contains(path) == true
            }, "simulator.md has no row of \(path)")
    }

    @Test func `the simulator's pages list exactly the verbs of a subscription`() throws {
        let listed = try words(
            under: "## Verbs of a subscription", of: "simulator-purchases.md")
        #expect(listed.sorted() == names(.subscriptions))
    }

    @Test func `the simulator's pages list exactly the verbs of a transaction`() throws {
        let row = try row(of: "/_sim/transactions/{id}/{verb}")
        #expect(Self.words(inColumn: 1, of: row).sorted() == names(.transactions))
    }

    @Test(arguments: [Verb.Subject.families, .organizations])
    func `the simulator's pages list exactly the verbs of a family and an organization`(
        subject: Verb.Subject
    ) throws {
        let path = "/_sim/\(subject.rawValue)/"
        // The first path of a row is in full. Of each other path, the row has only the last part.
        let paths = Self.words(inColumn: 0, of: try row(of: path)).drop { !$0.contains(path) }
        let listed = paths.compactMap { $0.split(separator: "/").last.map(String.init) }
        #expect(listed.sorted() == names(subject))
    }

    @Test
    func `each verb of families, organizations and pending purchases is in the table of verbs`() {
        #expect(Set(names(.families)) == Set(FamilyVerb.allCases.map(\.rawValue)))
        #expect(Set(names(.organizations)) == Set(OrganizationVerb.allCases.map(\.rawValue)))
        #expect(
            Set(names(.transactions)).isSuperset(of: PendingVerb.allCases.map(\.rawValue)))
    }

    @Test func `two verbs of one subject never have the same name`() {
        let paths = Verb.all.map(\.route.path)
        #expect(Set(paths).count == paths.count)
    }
}
