import Engine
import Foundation
import Ledger
import Rehearsal
import Testing

@testable import Program

/// Compares docs/rehearsal.md with the causes, the flags and the limits of the command.
@Suite struct RehearsalDocsTests {
    private static func page() throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/rehearsal.md")
        return try String(contentsOf: file, encoding: .utf8)
    }

    @Test func `docs/rehearsal.md has a row for each cause, in the order of the report`() throws {
        let rows = try Self.page().matches(of: #/(?m)^\| `([a-z_]+)` \|/#).map { String($0.1) }
        #expect(rows == RehearsalCause.allCases.map(\.rawValue))
    }

    @Test func `docs/rehearsal.md names the flags of the command`() throws {
        let page = try Self.page()
        let flags = Perennial.helpMessage(for: RehearseCommand.self)
            .matches(of: #/(?m)^  (--[a-z-]+)/#).map { String($0.1) }
        let common: Set = [
            "--config", "--database", "--log-level", "--data", "--clock-from", "--version",
        ]
        #expect(flags.contains("--second-look-seconds"))
        for flag in flags where !common.contains(flag) {
            #expect(page.contains("`\(flag)"), "docs/rehearsal.md does not name \(flag).")
        }
    }

    @Test func `docs/rehearsal.md names the columns of the report, and the limits`() throws {
        let page = try Self.page()
        for column in RehearsalDifference.columns {
            #expect(page.contains("`\(column)`"), "\(column)")
        }
        for limit in [
            RehearsalRun.idsMax.formatted(), RehearsalRun.differencesMax.formatted(), "480",
            "\(RehearsalRules.latenessDefault.components.seconds / 60)",
        ] {
            #expect(page.contains(limit), "\(limit)")
        }
    }

    @Test(
        arguments: [
            ("https://rc.example.com", "https://rc.example.com"),
            ("https://rc.example.com:8443/", "https://rc.example.com:8443"),
            ("http://127.0.0.1:4711", "http://127.0.0.1:4711"),
            ("http://[::1]:4711", "http://[::1]:4711"),
            ("http://rc.example.com", nil), ("https://rc.example.com/v2", nil),
            ("https://user@rc.example.com", nil), ("https://rc.example.com?x=1", nil), ("rc", nil),
        ] as [(String, String?)])
    func `RevenueCat's address must use https, unless it is this machine`(
        text: String, address: String?
    ) {
        #expect((try? RevenueCatOptions.address(text)) == address)
    }
}

/// Compares docs/exports.md with the flags of `perennial import-revenuecat`.
@Suite struct RevenueCatImportDocsTests {
    @Test func `docs/exports.md names the flags of import-revenuecat, and its request limit`()
        throws
    {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/exports.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let flags = Perennial.helpMessage(for: RevenueCatImportCommand.self)
            .matches(of: #/(?m)^  (--[a-z-]+)/#).map { String($0.1) }
        let common: Set = [
            "--config", "--database", "--log-level", "--data", "--clock-from", "--version",
        ]
        #expect(flags.contains("--currency"))
        for flag in flags where !common.contains(flag) {
            #expect(page.contains("`\(flag)"), "docs/exports.md does not name \(flag).")
        }
        #expect(page.contains("at most \(CustomerService.idsMax)"))
    }

    @Test(
        arguments: [
            (["GEM=gems"], ["GEM": "gems"]), ([], [:]),
            (["GEM=gems", "GOLD=a=b"], ["GEM": "gems", "GOLD": "a=b"]), (["GEM"], nil),
            (["GEM="], nil), (["=gems"], nil), (["GEM=gems", "GEM=gold"], nil),
        ] as [([String], [String: CurrencyID]?)])
    func `the flag currency names a RevenueCat code and one wallet`(
        texts: [String], names: [String: CurrencyID]?
    ) {
        #expect((try? RevenueCatImportCommand.currencies(texts)) == names)
    }
}
