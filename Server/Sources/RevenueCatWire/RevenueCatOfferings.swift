import Ledger
import RevenueCatWebhooks

/// The products that an app sells and the entitlements that each product gives, in the form that
/// RevenueCat's SDK reads.
package enum RevenueCatOfferings {
    /// The member of a placement's metadata that becomes the description of its offering.
    private static let descriptionKey = "description"

    /// The attribute that names the offering that is the current one for a customer.
    package static let overrideName = "$currentOffering"

    /// The member `offerings`: one offering for each placement. The first offering is the current
    /// one.
    ///
    /// - Parameter packages: the name of the package of each product that has a configured package.
    ///   The package of any other product has the product's name.
    /// - Parameter override: the placement that is the current one for this customer. Ignored if
    ///   no placement has this name any more.
    package static func value(
        of placements: [Placement], packages: [ProductID: String], override: String? = nil
    ) -> RevenueCatValue {
        let first = placements.first?.id.rawValue
        let chosen = placements.first { $0.id.rawValue == override }?.id.rawValue
        let names = placements.map {
            RevenueCatValue.Member($0.id.rawValue, .string($0.id.rawValue))
        }
        return .object([
            .init("current_offering_id", .text(chosen ?? first)),
            .init("offerings", .list(placements.map { offering($0, packages) })),
            .init(
                "placements",
                .object([
                    .init("fallback_offering_id", .text(first)),
                    .init("offering_ids_by_placement", .object(names)),
                ])),
        ])
    }

    private static func offering(
        _ placement: Placement, _ packages: [ProductID: String]
    ) -> RevenueCatValue {
        let description: String? =
            if case .text(let text)? = placement.metadata[descriptionKey] { text } else { nil }
        return .object([
            .init("description", .string(description ?? "")),
            .init("identifier", .string(placement.id.rawValue)),
            .init("metadata", metadata(of: placement)),
            .init(
                "packages",
                .list(
                    placement.products.map { product in
                        .object([
                            .init("identifier", .string(packages[product] ?? product.rawValue)),
                            .init("platform_product_identifier", .string(product.rawValue)),
                        ])
                    })),
        ])
    }

    /// A placement's metadata, unchanged.
    static func metadata(of placement: Placement) -> RevenueCatValue {
        RevenueCatValue(.members(placement.metadata))
    }

    /// The balance of each currency, as an object of version 2 of the REST API.
    package static func balances(_ balances: [CurrencyID: Int64]) -> [RevenueCatObject] {
        balances.sorted { $0.key < $1.key }.map { currency, balance in
            RevenueCatObject(
                "virtual_currency_balance", currency.rawValue,
                [
                    .init("currency_code", .string(currency.rawValue)),
                    .init("balance", .integer(balance)),
                    .init("name", .string(currency.rawValue)), .init("description", .null),
                ])
        }
    }

    /// The member `product_entitlement_mapping`. The SDK uses this mapping to compute access while
    /// it cannot reach the server.
    package static func mapping(
        of entitlements: [EntitlementID: Set<ProductID>]
    ) -> RevenueCatValue {
        var products: [ProductID: [EntitlementID]] = [:]
        for (entitlement, given) in entitlements {
            for product in given { products[product, default: []].append(entitlement) }
        }
        let members = products.sorted { $0.key < $1.key }.map { product, entitlements in
            RevenueCatValue.Member(
                product.rawValue,
                .object([
                    .init("base_plan_id", .null),
                    .init("entitlements", .texts(entitlements.sorted().map(\.rawValue))),
                    .init("product_identifier", .string(product.rawValue)),
                ]))
        }
        return .object([.init("product_entitlement_mapping", .object(members))])
    }

    /// The member `virtual_currencies`: the balance of each currency.
    package static func currencies(_ balances: [CurrencyID: Int64]) -> RevenueCatValue {
        let members = balances.sorted { $0.key < $1.key }.map { currency, balance in
            RevenueCatValue.Member(
                currency.rawValue,
                .object([
                    .init("balance", .integer(balance)),
                    .init("code", .string(currency.rawValue)), .init("description", .null),
                    .init("name", .string(currency.rawValue)),
                ]))
        }
        return .object([.init("virtual_currencies", .object(members))])
    }
}

extension RevenueCatValue {
    /// A placement's metadata, unchanged.
    fileprivate init(_ metadata: Placement.Metadata) {
        self =
            switch metadata {
            case .null: .null
            case .flag(let flag): .bool(flag)
            case .integer(let number): .integer(number)
            case .number(let number): .number(number)
            case .text(let text): .string(text)
            case .list(let values): .list(values.map { RevenueCatValue($0) })
            case .members(let members):
                .object(
                    members.sorted { $0.key < $1.key }.map {
                        .init($0.key, RevenueCatValue($0.value))
                    }
                )
            }
    }
}
