import Ledger
import RevenueCatWebhooks

/// The products, entitlements and offerings of an app, as objects of version 2 of RevenueCat's REST
/// API. Each app appears as one project that contains one app. The ids are the names in the
/// configuration. The configuration has no dates, so every `created_at` is 0.
package struct RevenueCatProject: Sendable {
    /// The id of the project.
    package let id: String
    private let bundleID: String
    private let entitlements: [EntitlementID: Set<ProductID>]
    private let placements: [Placement]
    private let packages: [ProductID: String]
    /// The kinds of products, for products whose kind is in the configuration.
    private let kinds: [ProductID: ProductKind]

    package init(
        id: String, bundleID: String, entitlements: [EntitlementID: Set<ProductID>],
        placements: [Placement], packages: [ProductID: String], kinds: [ProductID: ProductKind]
    ) {
        self.id = id
        self.bundleID = bundleID
        self.entitlements = entitlements
        self.placements = placements
        self.packages = packages
        self.kinds = kinds
    }

    package var path: String { "/v2/projects/\(id)" }

    private static let createdAt = RevenueCatValue.Member("created_at", .integer(0))

    /// The project itself.
    package var project: RevenueCatObject {
        RevenueCatObject(
            "project", id,
            [
                .init("id", .string(id)), .init("name", .string(id)), Self.createdAt,
                .init("icon_url", .null), .init("icon_url_large", .null),
            ])
    }

    /// The app of the project.
    package var app: RevenueCatObject {
        RevenueCatObject(
            "app", id,
            [
                .init("id", .string(id)), .init("name", .string(id)), Self.createdAt,
                .init("type", .string("app_store")), .init("project_id", .string(id)),
                .init("app_store", .object([.init("bundle_id", .string(bundleID))])),
            ])
    }

    // MARK: - Products and entitlements

    /// All products that give an entitlement or are offered, ordered by id.
    package var products: [RevenueCatObject] { productIDs.map(product) }

    private var productIDs: [ProductID] {
        let given = entitlements.values.reduce(into: Set(kinds.keys)) { $0.formUnion($1) }
        return given.union(placements.flatMap(\.products)).sorted()
    }

    private func product(_ product: ProductID) -> RevenueCatObject {
        let kind = kinds[product]
        let subscription = RevenueCatValue.object(
            ["duration", "grace_period_duration", "trial_duration"].map { .init($0, .null) })
        return RevenueCatObject(
            "product", product.rawValue,
            [
                .init("id", .string(product.rawValue)),
                .init("store_identifier", .string(product.rawValue)),
                .init("type", .text(kind.flatMap(\.revenueCatWord))),
                .init("subscription", kind == .autoRenewable ? subscription : .null),
                .init(
                    "one_time",
                    kind.map { $0 == .autoRenewable } ?? true
                        ? .null
                        : .object([.init("is_consumable", .bool(kind == .consumable))])),
                Self.createdAt, .init("app_id", .string(id)), .init("display_name", .null),
            ])
    }

    /// All entitlements, ordered by id.
    package var allEntitlements: [RevenueCatObject] {
        entitlements.keys.sorted().map(entitlement)
    }

    private func entitlement(_ entitlement: EntitlementID) -> RevenueCatObject {
        RevenueCatObject(
            "entitlement", entitlement.rawValue,
            [
                .init("project_id", .string(id)), .init("id", .string(entitlement.rawValue)),
                .init("lookup_key", .string(entitlement.rawValue)),
                .init("display_name", .string(entitlement.rawValue)), Self.createdAt,
            ])
    }

    /// The entitlements that a product gives, ordered by id.
    func entitlements(of product: ProductID) -> [RevenueCatObject] {
        entitlements.filter { $0.value.contains(product) }.keys.sorted().map(entitlement)
    }

    /// The products that give an entitlement, ordered by id. Returns nil if there is no such
    /// entitlement.
    package func products(of entitlement: EntitlementID) -> [RevenueCatObject]? {
        entitlements[entitlement]?.sorted().map(product)
    }

    // MARK: - Offerings

    /// One offering for each placement, in the order of the configuration.
    package var offerings: [RevenueCatObject] {
        placements.enumerated().map { index, placement in
            RevenueCatObject(
                "offering", placement.id.rawValue,
                [
                    .init("id", .string(placement.id.rawValue)),
                    .init("lookup_key", .string(placement.id.rawValue)),
                    .init("display_name", .string(placement.id.rawValue)),
                    .init("is_current", .bool(index == 0)), Self.createdAt,
                    .init("project_id", .string(id)),
                    .init("metadata", RevenueCatOfferings.metadata(of: placement)),
                ])
        }
    }

    /// The packages of an offering, in the order of the configuration. Returns nil if there is no
    /// such offering.
    package func packages(of offering: String) -> [RevenueCatObject]? {
        placements.first { $0.id.rawValue == offering }?.products.enumerated().map {
            position, product in
            let name = packages[product] ?? product.rawValue
            return RevenueCatObject(
                "package", name,
                [
                    .init("id", .string(name)), .init("lookup_key", .string(name)),
                    .init("display_name", .string(name)),
                    .init("position", .integer(Int64(position))), Self.createdAt,
                ])
        }
    }
}

extension ProductKind {
    fileprivate var revenueCatWord: String? {
        switch self {
        case .autoRenewable: "subscription"
        case .nonRenewing: "non_renewing_subscription"
        case .nonConsumable: "non_consumable"
        case .consumable: "consumable"
        case .unknown: nil
        }
    }
}
