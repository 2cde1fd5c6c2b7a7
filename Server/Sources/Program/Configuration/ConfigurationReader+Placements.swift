import Engine
import Ledger
import Yams

/// Parses the placements where products are offered in the app.
extension ConfigurationReader {
    private static let placementsMax = 100
    private static let placementIDCharactersMax = 64
    private static let placementProductsMax = 50
    /// The maximum number of values in the metadata of one placement, at all levels together.
    private static let metadataValuesMax = 200
    /// The maximum size of all names and values in the metadata of one placement, in bytes.
    private static let metadataBytesMax = 8_192
    private static let metadataLevelsMax = 5
    static let placementKeys: [Key<Placement>] = [
        Key("products") { $2.products = $0.offered($1) },
        Key("metadata", \.metadata) { $0.metadata($1) },
    ]

    /// Parses `{paywall: {products: [pro.monthly], metadata: {title: Go pro}}}`.
    mutating func placements(_ node: Node) -> [Placement] {
        guard let mapping = node.mapping else {
            complain(
                node, "placements must be a mapping.",
                "Write `paywall: {products: [PRODUCT_ID]}` lines.")
            return []
        }
        if mapping.count > Self.placementsMax {
            complain(
                node, "There are too many placements.", "Use at most \(Self.placementsMax).")
        }
        return mapping.prefix(Self.placementsMax).compactMap { placement($0, $1) }
    }

    private mutating func placement(_ key: Node, _ value: Node) -> Placement? {
        let name = text(key) ?? ""
        let isPlain = name.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0))
        }
        guard isPlain, (1...Self.placementIDCharactersMax).contains(name.count) else {
            complain(
                key, "“\(name)” is not a valid name of a placement.",
                "Use at most \(Self.placementIDCharactersMax) of A-Z a-z 0-9 - _ .")
            return nil
        }
        var placement = Placement(id: PlacementID(rawValue: name), products: [])
        let found = read(value, Self.placementKeys, into: &placement, in: "placement \(name)")
        if found["products"] == nil {
            complain(key, "Placement \(name) has no products.", "Add `products: [PRODUCT_ID]`.")
        }
        return placement
    }

    /// Parses the products of a placement. A product that is not configured can be shown and
    /// bought, but gives nothing.
    private mutating func offered(_ node: Node) -> [ProductID] {
        let names = names(node, of: "products")
        if !(1...Self.placementProductsMax).contains(names.count) {
            complain(
                node, "A placement has \(names.count) products.",
                "Use 1 to \(Self.placementProductsMax).")
        }
        if Set(names).count < names.count {
            complain(node, "A placement has a product twice.", "Name each product once.")
        }
        let known = products.map(\.id)
        for name in names where !known.contains(name) {
            warn(
                node,
                "A placement has \(name), which is not under products. Its purchase gives nothing.",
                Spelling.remedy(for: name, among: known, else: "Add it under products."))
        }
        return names.map { ProductID(rawValue: $0) }
    }

    // MARK: - Metadata

    private mutating func metadata(_ node: Node) -> [String: Placement.Metadata]? {
        guard node.mapping != nil else {
            complain(
                node, "metadata must be a mapping.", "Write `metadata: {title: Go pro}`.")
            return nil
        }
        var budget = MetadataBudget(values: Self.metadataValuesMax, bytes: Self.metadataBytesMax)
        guard
            case .members(let members)? = Self.value(
                node, within: &budget, levels: Self.metadataLevelsMax)
        else {
            complain(
                node, "The metadata of a placement is too large or too deep.",
                "Use at most \(Self.metadataValuesMax) values, \(Self.metadataBytesMax) bytes and "
                    + "\(Self.metadataLevelsMax) levels, with a name for each value.")
            return nil
        }
        return members
    }

    /// The remaining size and number of values.
    private struct MetadataBudget {
        var values: Int
        var bytes: Int

        /// Counts a text against the limits. Returns false if a limit is exceeded.
        mutating func spend(_ text: String, isName: Bool = false) -> Bool {
            if !isName { values -= 1 }
            bytes -= text.utf8.count
            return values >= 0 && bytes >= 0
        }
    }

    /// Converts a value. Returns nil if a limit is exceeded, or if a member's name is not text.
    private static func value(
        _ node: Node, within budget: inout MetadataBudget, levels: Int
    ) -> Placement.Metadata? {
        guard levels > 0 else { return nil }
        switch node {
        case .scalar(let scalar):
            return budget.spend(scalar.string) ? value(scalar) : nil
        case .sequence(let nodes):
            guard budget.spend("") else { return nil }
            var values: [Placement.Metadata] = []
            for node in nodes {
                guard let value = value(node, within: &budget, levels: levels - 1) else {
                    return nil
                }
                values.append(value)
            }
            return .list(values)
        case .mapping(let mapping):
            guard budget.spend("") else { return nil }
            var members: [String: Placement.Metadata] = [:]
            for (key, node) in mapping {
                guard let name = key.scalar?.string, budget.spend(name, isName: true),
                    let value = value(node, within: &budget, levels: levels - 1)
                else { return nil }
                members[name] = value
            }
            return .members(members)
        case .alias: return nil
        }
    }

    /// Converts a scalar as JSON does: a word without quotation marks may be a number, true, false
    /// or null.
    private static func value(_ scalar: Node.Scalar) -> Placement.Metadata {
        guard scalar.style == .plain else { return .text(scalar.string) }
        switch scalar.string {
        case "true": return .flag(true)
        case "false": return .flag(false)
        case "null", "~", "": return .null
        default: break
        }
        if let number = Int64(scalar.string) { return .integer(number) }
        let isNumber = scalar.string.wholeMatch(of: #/-?\d+(\.\d+)?([eE][-+]?\d+)?/#) != nil
        guard isNumber, let number = Double(scalar.string), number.isFinite else {
            return .text(scalar.string)
        }
        return .number(number)
    }
}

extension AppSettings {
    var placementLines: [String] {
        offerings.placements.enumerated().map { index, placement in
            let products = placement.products.map(\.rawValue).joined(separator: ", ")
            let metadata = placement.metadata.isEmpty ? "" : ", with \(placement.metadataText)"
            return "placement \(index + 1), \(placement.id): \(products)\(metadata)"
        }
    }
}

extension Placement {
    /// The metadata in one line, sorted by name, so that a change can be seen.
    fileprivate var metadataText: String { Metadata.members(metadata).text }
}

extension Placement.Metadata {
    fileprivate var text: String {
        switch self {
        case .null: "null"
        case .flag(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .text(let text): text.debugDescription
        case .list(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
        case .members(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.text)" }
                .joined(separator: ", ") + "}"
        }
    }
}
