import Ledger

/// Finds the product that a row of the App Store's reports is about.
///
/// A report names a product by its SKU, which is the product's id. Some files add spaces at the end
/// of the id. For a purchase through the Advanced Commerce API, the report names the SKUs of the
/// items instead, each in single quotation marks, separated by commas (Apple: "Summary Sales
/// Report").
struct ReportProducts: Sendable {
    private let known: Set<ProductID>
    /// The products by their id in lower case, without products whose ids differ only in case.
    private let folded: [String: ProductID]
    /// The products by the SKUs of all their items. The value is nil if two products have the same
    /// items.
    private var byItems: [Set<String>: ProductID?] = [:]

    init(_ known: Set<ProductID>) {
        self.known = known
        let groups = Dictionary(grouping: known) { $0.rawValue.lowercased() }
        folded = groups.compactMapValues { $0.count == 1 ? $0[0] : nil }
    }

    /// Records that a document of a product names these items.
    mutating func add(items: [String], of product: ProductID) {
        let key = Set(items)
        guard !key.isEmpty else { return }
        if let other = byItems[key], other != product {
            byItems.updateValue(nil, forKey: key)
        } else {
            byItems[key] = product
        }
    }

    /// The product that a SKU names. If no such product is known, the SKU itself.
    func product(named sku: String) -> ProductID {
        let text = Self.trimmed(sku[...])
        guard let items = Self.items(of: sku) else {
            return product(text) ?? ProductID(rawValue: text)
        }
        if let found = byItems[Set(items)] ?? nil { return found }
        return items.count == 1
            ? product(items[0]) ?? ProductID(rawValue: text) : ProductID(rawValue: text)
    }

    private func product(_ text: String) -> ProductID? {
        let id = ProductID(rawValue: text)
        return known.contains(id) ? id : folded[text.lowercased()]
    }

    /// The SKUs of the items that a text lists. Returns nil if the text is not such a list.
    static func items(of sku: String) -> [String]? {
        let text = trimmed(sku[...])
        guard text.utf8.count >= 2, text.hasPrefix("'"), text.hasSuffix("'") else { return nil }
        var items: [String] = []
        var item = ""
        var rest = text.dropFirst().dropLast()
        while let character = rest.first {
            rest.removeFirst()
            let next = rest.drop { $0 == " " }
            let after = next.dropFirst().drop { $0 == " " }
            if character == "'", next.first == ",", after.first == "'" {
                items.append(item)
                item = ""
                rest = after.dropFirst()
            } else {
                item.append(character)
            }
        }
        return items + [item]
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
