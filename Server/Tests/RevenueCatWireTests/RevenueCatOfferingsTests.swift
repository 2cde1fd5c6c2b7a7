import Ledger
import PerennialContract
import RevenueCatWebhooks
import Testing

@testable import RevenueCatWire

@Suite struct RevenueCatOfferingsTests {
    private static func text(_ value: RevenueCatValue) throws -> String {
        String(decoding: try ContractEncoder().encode(value), as: UTF8.self)
    }

    @Test func `each placement is an offering, and the first is the current one`() throws {
        let placements = [
            Placement(
                id: "default", products: ["pro.monthly", "guide"],
                metadata: ["description": .text("Standard"), "columns": .integer(2)]),
            Placement(id: "sale", products: ["pro.yearly"]),
        ]
        let value = RevenueCatOfferings.value(
            of: placements, packages: ["pro.monthly": "$rc_monthly", "pro.yearly": "$rc_annual"])
        #expect(
            try Self.text(value) == """
                {"current_offering_id":"default","offerings":[{"description":"Standard",\
                "identifier":"default","metadata":{"columns":2,"description":"Standard"},\
                "packages":[{"identifier":"$rc_monthly",\
                "platform_product_identifier":"pro.monthly"},{"identifier":"guide",\
                "platform_product_identifier":"guide"}]},{"description":"","identifier":"sale",\
                "metadata":{},"packages":[{"identifier":"$rc_annual",\
                "platform_product_identifier":"pro.yearly"}]}],"placements":\
                {"fallback_offering_id":"default","offering_ids_by_placement":\
                {"default":"default","sale":"sale"}}}
                """)
    }

    @Test func `the mapping lists every product with its entitlements`() throws {
        let value = RevenueCatOfferings.mapping(of: ["pro": ["a", "b"], "plus": ["b"]])
        #expect(
            try Self.text(value) == """
                {"product_entitlement_mapping":{"a":{"base_plan_id":null,"entitlements":["pro"],\
                "product_identifier":"a"},"b":{"base_plan_id":null,\
                "entitlements":["plus","pro"],"product_identifier":"b"}}}
                """)
        #expect(
            try Self.text(RevenueCatOfferings.mapping(of: [:]))
                == #"{"product_entitlement_mapping":{}}"#)
    }

    @Test func `currencies have the members that the SDK requires`() throws {
        let value = RevenueCatOfferings.currencies(["seeds": 70])
        #expect(
            try Self.text(value) == """
                {"virtual_currencies":{"seeds":{"balance":70,"code":"seeds","description":null,\
                "name":"seeds"}}}
                """)
    }

    @Test func `the customer center has the members that the SDK requires`() {
        let value = RevenueCatCustomerCenter.value(email: "help@example.com")
        let center = value["customer_center"]
        #expect(
            center?.keys == ["appearance", "change_plans", "localization", "screens", "support"])
        #expect(center?["support/email"] == "help@example.com")
        for (name, actions) in [("MANAGEMENT", 3), ("NO_ACTIVE", 1)] {
            let screen = center?["screens/\(name)"]
            #expect(screen?["type"] == .string(name) && screen?["title"] != nil)
            let paths = screen?["paths"]?.elements ?? []
            #expect(paths.map(\.keys) == Array(repeating: ["id", "title", "type"], count: actions))
        }
    }
}
