import Foundation
import Testing

@Suite struct SnippetTests {
    @Test(arguments: try Snippet.pages())
    func `every example of a page compiles`(page: String) throws {
        let snippets = try Snippet.all(of: page).filter { !$0.hasViews }
        guard !snippets.isEmpty else { return }
        let output = try Snippet.compile(snippets, modules: Toolchain.modules)
        #expect(output.status == 0, "\(output.text)")
    }

    @Test(
        .enabled(if: Toolchain.hasStubs, "skipped: no stubs; run bin/check-apple"),
        arguments: try Snippet.pages())
    func `every example with views compiles against the stubs`(page: String) throws {
        let snippets = try Snippet.all(of: page).filter(\.hasViews)
        guard !snippets.isEmpty else { return }
        let output = try Snippet.compile(snippets, modules: Toolchain.stubs)
        #expect(output.status == 0, "\(output.text)")
    }

    @Test(arguments: try Snippet.steps())
    func `every step of a tutorial compiles`(step: Snippet) throws {
        // In the snippet's file, statements are inside a function. So the names that they declare
        // hide the names of the stage.
        guard !step.hasViews || Toolchain.hasStubs else { return }
        let output = try Snippet.compile(
            [step], modules: step.hasViews ? Toolchain.stubs : Toolchain.modules)
        #expect(output.status == 0, "\(output.text)")
    }

    @Test(arguments: try Snippet.pages().flatMap { try Snippet.all(of: $0) } + Snippet.steps())
    func `in an example, no modifier that needs Perennial follows the modifier perennial`(
        snippet: Snippet
    ) {
        // The modifier `perennial(_:)` provides `Perennial` to the views inside, so no modifier
        // that needs `Perennial` may follow.
        let wrong = snippet.lines.joined(separator: "\n").firstMatch(
            of: #/\.perennial\([^)]*\)\s*\.(perennial|paywall)/#)
        #expect(wrong == nil, "\(snippet.page):\(snippet.line)")
    }

    @Test func `the SDK, the server and docs/api.md have the same version`() throws {
        func versions(in path: String, _ pattern: Regex<(Substring, Substring)>) throws -> [String]
        {
            let file = Toolchain.root.appendingPathComponent(path)
            let text = try String(contentsOf: file, encoding: .utf8)
            return text.matches(of: pattern).map { String($0.output.1) }
        }
        let constant = #/static let version = "([0-9.]+)"/#
        let sdk = try versions(in: "Sources/Perennial/Perennial.swift", constant)
        let (page, server) = ("docs/api.md", "Server/Sources/HTTPServer/PerennialServer.swift")
        #expect(sdk.count == 1)
        #expect(try versions(in: server, constant) == sdk)
        #expect(try versions(in: page, #/perennial-swift\/([0-9.]+)/#) == sdk)
        #expect(try versions(in: page, #/"server_version": "([0-9.]+)"/#) == sdk)
    }

    @Test func `an example with a mistake fails, and the message has its line number on the page`()
        throws
    {
        let page = """
            # Page

            1. Buy:

               ```swift
               let purchase = try await perennial.purchase("pro.monthly")
               print(purchase.isPaidInFull)
               ```
            """
        let snippets = Snippet.all(in: page, of: "docs/page.md")
        #expect(snippets.map(\.line) == [6])
        let output = try Snippet.compile(snippets, modules: Toolchain.modules)
        #expect(output.status != 0)
        #expect(output.text.contains("docs/page.md:7:16: error:"), "\(output.text)")
        #expect(output.text.contains("isPaidInFull"), "\(output.text)")
    }

    @Test(.enabled(if: Toolchain.hasStubs, "skipped: no stubs; run bin/check-apple"))
    func `an example of views with a mistake fails`() throws {
        let page = """
            ```swift
            import SwiftUI
            import PerennialUI

            struct Shop: View {
                var body: some View { Perennial.Paywall(shelf: 3) }
            }
            ```
            """
        let snippets = Snippet.all(in: page, of: "docs/page.md")
        #expect(snippets.map(\.hasViews) == [true])
        let output = try Snippet.compile(snippets, modules: Toolchain.stubs)
        #expect(output.text.contains("docs/page.md:6:"), "\(output.text)")
        #expect(output.status != 0)
    }

    @Test func `manifests and code in other languages do not count as examples`() {
        let page = """
            ```swift
            import PackageDescription
            ```
            ```sh
            ls
            ```
            """
        #expect(Snippet.all(in: page, of: "page.md").isEmpty)
    }

    @Test func `the README and docs/sdk.md begin with the same six lines of code`() throws {
        let first = try Snippet.all(of: "README.md").first?.lines
        #expect(first?.count == 6)
        #expect(try Snippet.all(of: "docs/sdk.md").first?.lines == first)
    }
}
