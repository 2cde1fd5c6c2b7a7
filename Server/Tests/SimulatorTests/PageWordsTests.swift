import Foundation
import Testing

@testable import Simulator

/// The tables of docs/simulator.md list all the words of the code, and no others.
@Suite struct PageWordsTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/simulator.md")

    private func text() throws -> String { try String(contentsOf: Self.page, encoding: .utf8) }

    /// The words in the first column of the first table under a heading.
    private func words(under heading: String) throws -> [String] {
        let lines = try text().split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        let section = lines.drop { $0 != heading }.dropFirst().prefix { !$0.hasPrefix("#") }
        let table = section.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        // Skips the two lines of the table's head.
        return table.dropFirst(2).flatMap { row in
            let cell = String(row.dropFirst().prefix { $0 != "|" })
            return cell.matches(of: #/`([^`]+)`/#).map { String($0.1) }
        }
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
    func `a table of the page has every word of the code, and no other`(
        heading: String, known: [String]
    ) throws {
        #expect(try words(under: heading).sorted() == known.sorted())
    }

    @Test func `the page names every fault`() throws {
        let text = try text()
        let faults =
            NotificationFault.allCases.map(\.rawValue) + APIFault.allCases.map(\.rawValue)
            + DeviceFault.allCases.map(\.rawValue)
        for fault in faults { #expect(text.contains("`\(fault)`"), "\(fault)") }
    }
}
