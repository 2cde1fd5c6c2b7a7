import Foundation

/// The public declarations of a module as sorted lines of text: what an app can depend on.
struct Surface: Equatable {
    var lines: [String]

    /// Conformances that are left out, because every type has them, or because they follow from
    /// others.
    private static let unsaid: Set<String> = [
        "Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype", "Swift.Equatable",
    ]

    init(lines: [String]) { self.lines = lines }

    /// Reads the declarations that the compiler reports for a module.
    init(of module: String, modules: URL) throws {
        let graphs = try Toolchain.symbolGraphs(of: module, modules: modules)
            .map { try JSONDecoder().decode(Graph.self, from: $0) }
        lines = graphs.flatMap(Self.lines).sorted()
    }

    private static func lines(of graph: Graph) -> [String] {
        let names = Dictionary(
            graph.symbols.map { ($0.identifier.precise, $0.name) }, uniquingKeysWith: { $1 })
        let declared = graph.symbols.map { symbol in
            let available = (symbol.availability ?? []).compactMap(\.text).map { $0 + " " }.joined()
            return "\(symbol.name): \(available)\(symbol.declaration)"
        }
        let conforming = graph.relationships.compactMap { relationship -> String? in
            guard relationship.kind == "conformsTo" || relationship.kind == "inheritsFrom",
                let type = names[relationship.source]
            else { return nil }
            let name = relationship.targetFallback ?? names[relationship.target] ?? ""
            return unsaid.contains(name) ? nil : "\(type) is \(name)"
        }
        return declared + conforming
    }

    // MARK: - The file

    static let folder = Toolchain.root.appendingPathComponent("Tests/DocsTests/Surface")

    /// The declarations of a module that the repository has recorded.
    init(fileOf module: String) throws {
        let text = try String(contentsOf: Self.file(of: module), encoding: .utf8)
        lines = text.split(separator: "\n").map(String.init)
    }

    func write(as module: String) throws {
        let text = lines.joined(separator: "\n") + "\n"
        try text.write(to: Self.file(of: module), atomically: true, encoding: .utf8)
    }

    private static func file(of module: String) -> URL {
        folder.appendingPathComponent("\(module).txt")
    }

    /// The removed and the added declarations, as text for people. Nil if the surfaces are equal.
    func difference(to other: Surface) -> String? {
        let gone = Set(lines).subtracting(other.lines).map { "- \($0)" }
        let new = Set(other.lines).subtracting(lines).map { "+ \($0)" }
        guard !gone.isEmpty || !new.isEmpty else { return nil }
        return (gone + new).sorted { ($0.dropFirst(2), $0) < ($1.dropFirst(2), $1) }
            .joined(separator: "\n")
    }
}

/// The parts of a symbol graph that we read.
private struct Graph: Decodable {
    var symbols: [Symbol]
    var relationships: [Relationship]

    struct Symbol: Decodable {
        var identifier: Identifier
        var pathComponents: [String]
        var declarationFragments: [Fragment]?
        var availability: [Availability]?

        var name: String { pathComponents.joined(separator: ".") }
        /// The declaration on one line.
        var declaration: String {
            (declarationFragments ?? []).map(\.spelling).joined()
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }

    struct Identifier: Decodable { var precise: String }
    struct Fragment: Decodable { var spelling: String }

    struct Availability: Decodable {
        var domain: String?
        var introduced: Version?
        var isUnconditionallyDeprecated: Bool?

        var text: String? {
            guard let domain else { return nil }
            if isUnconditionallyDeprecated == true { return "@deprecated(\(domain))" }
            return introduced.map { "@available(\(domain) \($0.text))" }
        }
    }

    struct Version: Decodable {
        var major: Int
        var minor: Int?
        var text: String { minor.map { "\(major).\($0)" } ?? "\(major)" }
    }

    struct Relationship: Decodable {
        var kind: String
        var source: String
        var target: String
        var targetFallback: String?
    }
}
