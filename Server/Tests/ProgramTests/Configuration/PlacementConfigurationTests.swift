import Engine
import Ledger
import Testing

@testable import Program

@Suite struct PlacementConfigurationTests {
    private func file(_ text: String) throws(ConfigurationFailure) -> ConfigurationFile {
        let lines = text.split(separator: "\n").map { "    \($0)" }
        let app = ["apps:", "  a:", "    bundle_id: x", "    products: {p: [pro], q: [pro]}"]
        return try ConfigurationFile((app + lines).joined(separator: "\n")) { _ in nil }
    }

    private func placements(_ text: String) throws -> [Placement] {
        try #require(try file(text).apps.first).settings.offerings.placements
    }

    @Test func `placements keep their order, and metadata keeps its YAML types`() throws {
        let found = try placements(
            """
            placements:
              paywall:
                products: [q, p]
                metadata:
                  title: Go pro
                  count: 2
                  share: 0.5
                  year: "2026"
                  isNew: true
                  none: null
                  sizes: [1, {a: b}]
              Another-1: {products: p}
            """)
        #expect(
            found == [
                Placement(
                    id: "paywall", products: ["q", "p"],
                    metadata: [
                        "title": .text("Go pro"), "count": .integer(2), "share": .number(0.5),
                        "year": .text("2026"), "isNew": .flag(true), "none": .null,
                        "sizes": .list([.integer(1), .members(["a": .text("b")])]),
                    ]), Placement(id: "Another-1", products: ["p"]),
            ])
    }

    private static let names = (0..<101).map { "p\($0): {products: [p]}" }.joined(separator: ", ")
    private static let values = (0..<201).map { "\($0)" }.joined(separator: ", ")
    private static let long = String(repeating: "x", count: 8193)

    @Test(arguments: [
        ("placements: [p]", "placements must be a mapping."),
        ("placements: {pay wall: {products: [p]}}", "“pay wall” is not a valid name"),
        ("placements: {paywall: {}}", "Placement paywall has no products."),
        ("placements: {paywall: {products: []}}", "A placement has 0 products."),
        ("placements: {paywall: {products: [p, p]}}", "A placement has a product twice."),
        ("placements: {paywall: {product: [p]}}", "Did you mean products?"),
        ("placements: {\(names)}", "Use at most 100."),
        ("placements: {x: {products: [p], metadata: 1}}", "metadata must be a mapping."),
        ("placements: {x: {products: [p], metadata: {a: [\(values)]}}}", "too large or too deep"),
        ("placements: {x: {products: [p], metadata: {a: \(long)}}}", "too large or too deep"),
        (
            "placements: {x: {products: [p], metadata: {a: {b: {c: {d: {e: 1}}}}}}}",
            "too large or too deep"
        ),
    ]) func `a mistake in a placement is reported with its remedy`(text: String, says: String)
        throws
    {
        let failure = #expect(throws: ConfigurationFailure.self) { try file(text) }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }

    @Test
    func `if a product in a placement is not configured, a warning suggests the nearest name`()
        throws
    {
        let found = try file("placements: {paywall: {products: [p, qq]}}")
        let warnings = found.warnings.map(\.description)
        #expect(
            warnings.contains {
                $0.contains("A placement has qq, which is not under products")
                    && $0.contains("Did you mean q?")
            }, "\(warnings)")
    }

    @Test func `offerings are exported for the app bundle, and signed if there is a database`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: """
                exec 2>/dev/null
                echo 'apps: {birds: {bundle_id: x, products: {p: [pro]}}, cats: {bundle_id: y}}' \
                    >perennial.yaml
                "$perennial" config export --app birds | grep -c '"jws": null'
                "$perennial" keys create --app birds --kind app >/dev/null
                "$perennial" config export --app birds --out birds.json
                grep -c '"jws": "eyJ' birds.json
                grep -c '"product_id": "p"' birds.json
                "$perennial" config export --app cats --environment sandbox \
                    | grep -c '"environment": "sandbox"'
                "$perennial" config export || echo refused
                """)
        #expect(output.split(separator: "\n") == ["1", "1", "1", "1", "refused"])
    }
}
