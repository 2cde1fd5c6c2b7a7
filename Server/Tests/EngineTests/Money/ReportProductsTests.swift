import Ledger
import Testing

@testable import Engine

/// How the product is found for the SKU in a row of a report.
@Suite struct ReportProductsTests {
    private static let known: Set<ProductID> = [
        "pro.monthly", "pro.yearly", "seeds.100", "Case", "case", "Only",
    ]

    private static let skus: [(sku: String, product: ProductID)] = [
        ("pro.monthly", "pro.monthly"), ("seeds.100 ", "seeds.100"), (" seeds.100", "seeds.100"),
        ("PRO.Monthly", "pro.monthly"), ("only", "Only"), ("Case", "Case"), ("case", "case"),
        // If two products differ only in case, neither is chosen.
        ("CASE", "CASE"), ("cats.monthly", "cats.monthly"),
        ("'pro.monthly'", "pro.monthly"), (" 'pro.monthly' ", "pro.monthly"),
        ("'item.a','item.b'", "pro.yearly"), ("'item.b', 'item.a'", "pro.yearly"),
        ("'item.a'", "'item.a'"), ("'item.a','item.c'", "'item.a','item.c'"),
        // If two products have the item, neither is chosen.
        ("'both'", "'both'"), ("'it's','so'", "pro.monthly"),
        // The items of purchases take precedence over the ids of products.
        ("'seeds.100'", "pro.yearly"), ("", ""), ("'", "'"), ("''", "''"),
    ]

    @Test(arguments: skus)
    func `a SKU in a report is matched to a product id or to the items of a purchase`(
        sku: String, product: ProductID
    ) {
        var products = ReportProducts(Self.known)
        products.add(items: ["item.a", "item.b"], of: "pro.yearly")
        products.add(items: ["both"], of: "pro.yearly")
        products.add(items: ["both"], of: "pro.monthly")
        products.add(items: ["it's", "so"], of: "pro.monthly")
        products.add(items: ["seeds.100"], of: "pro.yearly")
        #expect(products.product(named: sku) == product)
    }

    @Test func `a SKU that is a list of more than 2,000 characters is read`() {
        let items = (1...200).map { "item.\($0)" }
        let text = items.map { "'\($0)'" }.joined(separator: ",")
        #expect(text.count > 2_000 && ReportProducts.items(of: text) == items)
    }
}
