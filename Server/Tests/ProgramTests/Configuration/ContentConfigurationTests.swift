import Engine
import Ledger
import Testing

@testable import Program

@Suite struct ContentConfigurationTests {
    private func content(_ text: String) throws(ConfigurationFailure) -> ContentSettings? {
        let lines = text.split(separator: "\n").map { "      \($0)" }
        let head = [
            "apps:", "  a:", "    bundle_id: x", "    terms: {time_zone: Europe/Vienna}",
            "    products: {monthly: [magazine]}", "    content:",
        ]
        let file = try ConfigurationFile(
            (head + lines).joined(separator: "\n"), environment: ["CDN": "secret"],
            folder: { $0 == "issues" ? "/srv/issues" : nil }, file: { _ in nil })
        return file.apps.first?.settings.content
    }

    @Test func `the content settings of an app name the items, their folder and the access rules`()
        throws
    {
        let content = try #require(
            try content(
                """
                folder: issues
                after_lapse: close
                earlier: open
                link_minutes: 10
                items:
                  2026-01: {title: January, published: 2026-01-15, entitlement: magazine}
                  special: {published: 2026-02-01T06:00:00Z, products: [one], file: a/b.pdf}
                """))
        #expect(content.place == .folder("/srv/issues"))
        #expect(content.rules == PublicationRules(staysAfterLapse: false, opensEarlier: true))
        #expect(content.linkLifetime == .seconds(600))
        #expect(!content.opensSandbox)
        #expect(
            content.items.map(\.publication) == [
                // Midnight in Vienna is 23:00 UTC.
                Publication(
                    id: "2026-01", publishedAt: Instant(milliseconds: 1_768_431_600_000),
                    entitlement: "magazine"),
                Publication(
                    id: "special", publishedAt: Instant(milliseconds: 1_769_925_600_000),
                    entitlement: nil, products: ["one"]),
            ])
        #expect(content.items.map(\.title) == ["January", "special"])
        #expect(content.items.map(\.file) == [nil, "a/b.pdf"])
    }

    @Test func `files may be stored on another server, with signed links`() throws {
        let text = """
            redirect: https://files.example.com/a
            redirect_secret_env: CDN
            sandbox: true
            items: {x: {published: 2026-01-15, entitlement: magazine, file: x.pdf}}
            """
        #expect(try content(text)?.opensSandbox == true)
        #expect(
            try content(text)?.place
                == .elsewhere(
                    url: "https://files.example.com/a", secret: Array("secret".utf8)))
    }

    private static let item = "items: {x: {published: 2026-01-15, entitlement: magazine, "

    @Test(arguments: [
        ("folder: issues", "content has no items."),
        ("items: {x: {entitlement: magazine}}", "“x” has no date."),
        (
            "items: {x: {published: 2026-02-30, entitlement: magazine}}",
            "“2026-02-30” is not a date."
        ),
        ("items: {x: {published: soon, entitlement: magazine}}", "“soon” is not a date."),
        ("items: {x: {published: 2026-01-15, entitlement: magasine}}", "Did you mean magazine?"),
        ("items: {x: {published: 2026-01-15}}", "Nothing gives access to “x”."),
        (item + "file: x.pdf}}", "Add `folder:` or `redirect:`."),
        ("folder: issues\n" + item + "file: ../x}}", "“../x” is not a path below the folder."),
        ("folder: issues\n" + item + "file: /etc/passwd}}", "is not a path below the folder."),
        ("folder: issues\n" + item + "file: .env}}", "is not a path below the folder."),
        ("folder: nowhere\n" + item + "}}", "nowhere is not a folder."),
        ("folder: issues\nredirect: https://a.example\n" + item + "}}", "Keep one of them."),
        ("redirect: files\n" + item + "}}", "“files” is not a URL."),
        (
            "redirect: https://a.example\nredirect_secret_env: NONE\n" + item + "}}",
            "There is no environment variable NONE."
        ),
        ("after_lapse: burn\n" + item + "}}", "Use one of close, keep."),
        ("sandbox: perhaps\n" + item + "}}", "“perhaps” is neither true nor false."),
        ("link_minutes: 0\n" + item + "}}", "link_minutes is out of range."),
    ]) func `a mistake in the content settings is reported with its remedy`(
        text: String, says: String
    ) throws {
        let failure = #expect(throws: ConfigurationFailure.self) { try content(text) }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }
}
