import Foundation
import Testing

@Suite struct SurfaceTests {
    /// Whether the tests update the recorded files. `bin/surface --update` sets the variable.
    private static let isUpdating =
        ProcessInfo.processInfo.environment["PERENNIAL_UPDATE_SURFACE"] == "1"

    private func check(_ module: String, modules: URL) throws {
        let now = try Surface(of: module, modules: modules)
        // A tool that prints nothing must not count as a module that has no declarations.
        try #require(now.lines.count > 10)
        if Self.isUpdating { try now.write(as: module) }
        let written = try Surface(fileOf: module)
        let difference = written.difference(to: now)
        #expect(
            difference == nil,
            """
            The public declarations of \(module) differ from Tests/DocsTests/Surface/\(module).txt:
            \(difference ?? "")
            If that is meant: bin/surface --update, and a line in CHANGELOG.md.
            """)
    }

    @Test(arguments: ["Perennial", "PerennialTesting", "StoreKit", "PerennialContract"])
    func `a module's public declarations equal those in its recorded file`(
        module: String
    ) throws {
        try check(module, modules: Toolchain.modules)
    }

    @Test(.enabled(if: Toolchain.hasStubs, "skipped: no stubs; run bin/check-apple"))
    func `the views' public declarations equal those in the recorded file`() throws {
        try check("PerennialUI", modules: Toolchain.stubs)
    }

    @Test func `the description of each SDK type with a raw value is that raw value`() throws {
        let lines = try Surface(of: "Perennial", modules: Toolchain.modules).lines
        func types(_ ending: String) -> Set<String> {
            Set(lines.filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) })
        }
        let words = types(" is Swift.RawRepresentable")
        #expect(words.count > 20)
        #expect(words.subtracting(types(" is Swift.CustomStringConvertible")).sorted() == [])
    }

    @Test func `the difference of two surfaces lists removed and added declarations`() {
        let before = Surface(lines: ["A.x: var x: Int", "A.y: var y: Int"])
        let after = Surface(lines: ["A.x: var x: Int?", "A.y: var y: Int", "B: struct B"])
        #expect(
            before.difference(to: after) == """
                - A.x: var x: Int
                + A.x: var x: Int?
                + B: struct B
                """)
        #expect(before.difference(to: before) == nil)
    }
}
