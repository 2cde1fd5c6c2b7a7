import Testing

/// Each check of imports finds a bad sample and accepts a good one.
@Suite struct ArrowsTests {
    private func file(_ path: String, _ text: String) -> SourceFile {
        SourceFile(path: path, text: text)
    }

    @Test func `an import outside the table is a violation, with file and line`() {
        let bad = file("Server/Sources/Ledger/Access.swift", "// why\nimport Foundation\n")
        let found = Arrows.violations(in: bad)
        #expect(found.map(\.line) == [2])
        #expect(found.first?.description.contains("Server/Sources/Ledger/Access.swift:2:") == true)
        #expect(found.first?.description.contains("Ledger may not import Foundation") == true)
    }

    @Test(arguments: [
        "import Engine", "@testable import Engine", "package import Engine",
        "@_spi(X) import Engine", "import struct Engine.Recorder", "@preconcurrency import Engine",
        "    import Engine // inside #if", "import Engine.Sub",
    ])
    func `every spelling of an import is recognised`(line: String) {
        let bad = file("Server/Sources/Simulator/World.swift", line)
        #expect(Arrows.violations(in: bad).count == 1)
    }

    @Test(arguments: ["// import Engine", "let text = \"import Engine\"", "importEngine()"])
    func `a line that only resembles an import is allowed`(line: String) {
        let good = file("Server/Sources/Simulator/World.swift", line)
        #expect(Arrows.violations(in: good).isEmpty)
    }

    @Test func `an import in the table is allowed`() {
        let good = file(
            "Server/Sources/Intake/Intake.swift", "import AppStoreFormats\nimport Ledger")
        #expect(Arrows.violations(in: good).isEmpty)
    }

    @Test func `a target that the table of imports lacks is a violation`() {
        let bad = file("Server/Sources/Cellar/Wine.swift", "")
        #expect(Arrows.violations(in: bad).count == 1)
    }

    @Test
    func `a target may not import the simulator in one file and the engine in another file`() {
        let engine = "import Engine"
        let simulator = "import Simulator"
        func meetings(_ target: String) -> Int {
            Arrows.meetings(in: [
                file("Server/Tests/\(target)/A.swift", engine),
                file("Server/Tests/\(target)/B.swift", simulator),
            ]).count
        }
        #expect(meetings("EngineTests") == 1)
        #expect(meetings("Stories") == 0)
    }

    @Test func `a dependency of the manifest outside the table is a violation`() {
        let manifest = """
            let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
            targets: [
                library("Ledger"),
                library("Reports", ["Ledger", crypto]),
                tests(
                    "Cellar",
                    ["Ledger"]),
            ]
            """
        let found = Manifest.violations(in: file("Server/Package.swift", manifest))
        #expect(found.map(\.line) == [4, 5])
        #expect(found.first?.what.contains("Reports depends on Crypto") == true)
        #expect(found.last?.what.contains("Cellar is not in the table") == true)
    }
}
