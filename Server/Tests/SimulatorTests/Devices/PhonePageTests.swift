import AppStoreFormats
import Foundation
import HTTPBasics
import Testing

@testable import Simulator

/// The examples and tables of docs/simulator.md about the device itself.
@Suite struct PhonePageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../../docs/simulator.md")

    /// The lines of the section under a heading.
    private func section(_ heading: String) throws -> [String] {
        let lines = try String(contentsOf: Self.page, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return Array(lines.drop { $0 != heading }.dropFirst().prefix { !$0.hasPrefix("#") })
    }

    @Test(arguments: [
        ("### Sheets and prompts", "next-sheet", 3), ("### Errors of StoreKit", "errors", 2),
    ])
    func `the simulator accepts the request bodies in docs/simulator.md`(
        heading: String, route: String, count: Int
    ) async throws {
        let bodies = try section(heading).filter { $0.hasPrefix("{") }
        #expect(bodies.count == count)
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna")
        try await stage.withClient { client in
            for body in bodies {
                _ = try await client.json("/_sim/devices/anna-1/\(route)", body)
            }
        }
    }

    @Test
    func `docs/simulator.md names every network state, cause of a prompt, and error of a device`()
        throws
    {
        let networks = try section("### Network").joined()
        for state in NetworkState.allCases {
            #expect(networks.contains("| `\(state.rawValue)` |"), "\(state)")
        }
        let sheets = try section("### Sheets and prompts").joined()
        for cause in Prompt.Cause.allCases {
            #expect(sheets.contains("`\(cause.rawValue)`"), "\(cause)")
        }
        let errors = try section("### Errors of StoreKit").joined()
        let words =
            StoreKitFailure.allCases.map(\.rawValue) + DeviceCall.allCases.map(\.rawValue)
            + DocumentVerdict.failures.map(\.rawValue)
        for word in words { #expect(errors.contains("`\(word)`"), "\(word)") }
    }

    @Test func `the limits in docs/simulator.md are those of the code`() throws {
        let sheets = try section("### Sheets and prompts").joined(separator: " ")
        for (limit, text) in [
            (SheetQueue.waitingMax, "at most \(SheetQueue.waitingMax) may wait"),
            (PromptList.heldMax, "At most \(PromptList.heldMax) sheets"),
            (PromptList.heldSecondsMax, "within \(PromptList.heldSecondsMax) seconds"),
            (PromptList.listedMax, "The newest \(PromptList.listedMax) prompts"),
        ] {
            #expect(sheets.contains(text), "\(limit)")
        }
        let updates = try section("## Listening").joined(separator: " ")
        #expect(updates.contains("the newest \(UpdateListeners.keptMax) events"))
        let limits = LiveStreamLimits()
        #expect(updates.contains("happens for \(limits.commentPause.components.seconds) seconds"))
        #expect(updates.contains("nothing for \(limits.writeMax.components.seconds) seconds"))
    }
}
