import Foundation

/// An example in Swift on a page. The example can be written as a file that compiles.
struct Snippet: Sendable, CustomStringConvertible {
    /// The page's path from the repository's root.
    var page: String
    /// The line of the page on which the code begins.
    var line: Int
    /// The code, without the indentation of a list.
    var lines: [String]

    var description: String { "\(page):\(line)" }

    /// The examples of a page. Manifests are left out, because another tool reads them.
    static func all(in text: String, of page: String) -> [Snippet] {
        var found: [Snippet] = []
        var open: (line: Int, indentation: Int, lines: [String])?
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            let code = line.drop { $0 == " " }
            if let block = open {
                if code.hasPrefix("```") {
                    found.append(Snippet(page: page, line: block.line, lines: block.lines))
                    open = nil
                } else {
                    open?.lines.append(String(line.dropFirst(block.indentation)))
                }
            } else if code == "```swift" {
                open = (index + 2, line.count - code.count, [])
            }
        }
        return found.filter { !$0.lines.contains("import PackageDescription") }
    }

    /// The pages of the package's DocC catalogue.
    static let catalogue = "Sources/Perennial/Perennial.docc"

    /// The code of the tutorials. Each step is a separate file.
    static func steps() throws -> [Snippet] {
        let folder = "\(catalogue)/Resources"
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Toolchain.root.appendingPathComponent(folder).path)
        return try files.filter { $0.hasSuffix(".swift") }.sorted().map { file in
            let url = Toolchain.root.appendingPathComponent("\(folder)/\(file)")
            let text = try String(contentsOf: url, encoding: .utf8)
            return Snippet(
                page: "\(folder)/\(file)", line: 1, lines: text.components(separatedBy: "\n"))
        }
    }

    /// Every page with an example for people who write apps.
    static func pages() throws -> [String] {
        let files = FileManager.default
        let docs = try files.contentsOfDirectory(
            atPath: Toolchain.root.appendingPathComponent("docs").path
        ).map { "docs/\($0)" }
        let examples = try files.contentsOfDirectory(
            atPath: Toolchain.root.appendingPathComponent("Examples").path
        ).map { "Examples/\($0)/README.md" }
        let catalogue = try files.contentsOfDirectory(
            atPath: Toolchain.root.appendingPathComponent(Self.catalogue).path
        ).map { "\(Self.catalogue)/\($0)" }
        let all = ["README.md"] + docs + examples + catalogue
        return try all.filter { $0.hasSuffix(".md") }.sorted()
            .filter { files.fileExists(atPath: Toolchain.root.appendingPathComponent($0).path) }
            .filter { try !Snippet.all(of: $0).isEmpty }
    }

    static func all(of page: String) throws -> [Snippet] {
        let file = Toolchain.root.appendingPathComponent(page)
        return all(in: try String(contentsOf: file, encoding: .utf8), of: page)
    }

    /// Whether the code contains views. Views exist only on Apple's systems, and are checked
    /// against stubs.
    var hasViews: Bool {
        lines.contains { $0 == "import SwiftUI" || $0 == "import PerennialUI" }
    }

    /// The example as a file. Statements are put into a function, declarations are not. The
    /// compiler's messages have the line numbers of the page.
    func source(number: Int) -> String {
        let imports = lines.filter { $0.hasPrefix("import ") || $0.hasPrefix("@testable ") }
        let body = lines.map { imports.contains($0) ? "" : $0 }.joined(separator: "\n")
        let usual =
            hasViews
            ? ["StoreKit"] : ["FoundationNetworking", "StoreKit", "PerennialTesting", "Testing"]
        let head =
            (["Foundation", "Perennial"] + usual).map { "import \($0)" } + imports
        let place = "#sourceLocation(file: \"\(page)\", line: \(line))"
        let code =
            isDeclarations
            ? "\(place)\n\(body)\n"
            : "func example\(number)() async throws {\n\(place)\n\(body)\n"
                + "#sourceLocation()\n}\n"
        return head.joined(separator: "\n") + "\n" + code
    }

    private static let declarations: Set<Substring> = [
        "import", "func", "struct", "final", "class", "actor", "enum", "extension", "protocol",
        "@main", "@Observable", "@MainActor", "@Suite", "@Test", "}", "//", "///", "public",
        "private",
    ]

    private var isDeclarations: Bool {
        lines.filter { !$0.isEmpty && !$0.hasPrefix(" ") }.allSatisfy { line in
            line.split(separator: " ").first.map { word in
                Self.declarations.contains { word == $0 || word.hasPrefix("\($0)(") }
            } ?? true
        }
    }
}

extension Snippet {
    /// Type-checks examples of one page together, as one module. Returns what the compiler says.
    static func compile(_ snippets: [Snippet], modules: URL) throws -> Toolchain.Output {
        try Toolchain.withFolder { folder in
            var files = [folder.appendingPathComponent("Stage.swift")]
            try FileManager.default.copyItem(
                at: Toolchain.root.appendingPathComponent("Tests/DocsTests/Stage.swift.txt"),
                to: files[0])
            for (number, snippet) in snippets.enumerated() {
                let file = folder.appendingPathComponent("Example\(number).swift")
                try snippet.source(number: number)
                    .write(to: file, atomically: true, encoding: .utf8)
                files.append(file)
            }
            return try Toolchain.typeCheck(files, module: "Examples", modules: modules)
        }
    }
}
