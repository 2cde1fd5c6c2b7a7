import Testing

/// Each limit is tested with a value at the limit and a value above it.
@Suite struct SourceSizesTests {
    private func violations(_ text: String, path: String = "X.swift") -> [Violation] {
        SourceSizes.violations(in: SourceFile(path: path, text: text))
    }

    private func lines(_ count: Int) -> String { String(repeating: "a\n", count: count) }

    private func function(bodyLines: Int, opening: String = "func x() {") -> String {
        "struct X {\n    \(opening)\n" + lines(bodyLines) + "    }\n}\n"
    }

    @Test func `a line of 101 columns is a violation, but a line of 100 columns is not`() {
        let wide = String(repeating: "x", count: SourceSizes.columnsMax)
        #expect(violations("\n// a\n" + wide + "x").map(\.line) == [3])
        #expect(violations(wide).isEmpty)
        #expect(violations(String(repeating: "é", count: SourceSizes.columnsMax)).isEmpty)
    }

    @Test func `a file of 401 lines is a violation, but a file of 400 lines is not`() {
        #expect(violations(lines(SourceSizes.fileLinesMax + 1)).count == 1)
        #expect(violations(lines(SourceSizes.fileLinesMax)).isEmpty)
    }

    @Test(arguments: [
        "func x() {", "init?(y: Int) throws {", "func x(\n        y: () -> Int = { 1 }\n    ) {",
        "func x<Y>() -> [Y]\n    where Y: Z\n    {",
    ])
    func `a function body of 61 lines is a violation, but a body of 60 lines is not`(
        opening: String
    ) {
        let most = SourceSizes.functionLinesMax
        let found = violations(function(bodyLines: most + 1, opening: opening))
        #expect(found.map(\.line) == [2])
        #expect(violations(function(bodyLines: most, opening: opening)).isEmpty)
    }

    @Test func `a function in a protocol has no body and no length`() {
        let text = "protocol P {\n    func x() throws\n    var y: Int { get }\n}\n" + lines(70)
        #expect(SourceSizes.functions(in: SourceFile(path: "X.swift", text: text)).isEmpty)
    }

    @Test func `braces in strings and comments are not counted`() {
        let text = "func x() {\n    let a = \"}\" // }\n    let b = \"\\(c(\"}\"))}\"\n}\n"
        let found = SourceSizes.functions(in: SourceFile(path: "X.swift", text: text))
        #expect(found == [SourceSizes.Function(line: 1, lines: 2)])
    }

    @Test func `a call of an initialiser is not a declaration`() {
        let text = "struct X {\n    let y = Y.init(1)\n    let z = self.init()\n}\n"
        #expect(SourceSizes.functions(in: SourceFile(path: "X.swift", text: text)).isEmpty)
    }

    @Test func `a README or an architecture page that is too long is a violation`() {
        for (path, most) in SourceSizes.pageLinesMax {
            #expect(violations(lines(most + 1), path: path).count == 1)
            #expect(violations(lines(most), path: path).isEmpty)
        }
        #expect(violations(lines(500), path: "docs/api.md").isEmpty)
    }
}
