import AppStoreFormats

/// The objects of API version 2 about one customer. Times are milliseconds since 1970.
struct V2Objects {
    let opinion: Opinion
    let customer: KnownCustomer

    private var project: RevenueCatDouble.Project { opinion.project }
    private var base: String { "/v2/projects/\(project.id)" }

    /// An object of a list, with the id that a cursor names.
    struct Entry {
        let id: String
        let json: JSON
    }

    // MARK: - The customer

    var customerObject: JSON {
        [
            "object": "customer", "id": .string(customer.originalID),
            "project_id": .string(project.id), "first_seen_at": customer.firstSeen.json,
            "last_seen_at": customer.lastSeen.json, "last_seen_app_version": .null,
            "last_seen_country": .null, "last_seen_platform": "iOS",
            "last_seen_platform_version": .null,
        ]
    }

    /// The answer about a single customer, which contains the active entitlements.
    func singleCustomer(url: String) -> JSON {
        let list = Self.list(activeEntitlements.map(\.json), url: url + "/active_entitlements")
        let more: [JSON.Member] = [.init("active_entitlements", list), .init("experiment", .null)]
        return .object((customerObject.members ?? []) + more)
    }

    var activeEntitlements: [Entry] {
        opinion.rights.filter(\.isActive).compactMap { right in
            guard let entitlement = project.entitlement(right.lookupKey) else { return nil }
            return Entry(
                id: entitlement.id,
                json: [
                    "object": "customer.active_entitlement",
                    "entitlement_id": .string(entitlement.id),
                    "expires_at": right.support.ends?.json ?? .null,
                ])
        }
    }

    // MARK: - Subscriptions

    var subscriptions: [Entry] {
        opinion.runs.map { Entry(id: $0.id, json: subscription($0)) }
            + opinion.grants.map { Entry(id: "sub" + $0.id, json: promotional($0)) }
    }

    private func subscription(_ run: SubscriptionRun) -> JSON {
        let now = opinion.now
        let current = run.current(at: now)
        let transaction = current.transaction
        let isEarly = run.hasRenewedAlready(at: now)
        let last = isEarly ? run.spells.last : current
        let ends = last?.ends?.json ?? .null
        let status = run.status(at: now)
        return common(run.id, transaction).adding([
            .init("object", "subscription"),
            .init("starts_at", run.spells[0].begins.json),
            .init("current_period_starts_at", current.begins.json),
            .init("current_period_ends_at", current.ends?.json ?? .null), .init("ends_at", ends),
            .init("gives_access", .bool(run.givesAccess(at: now))),
            .init("pending_payment", .bool([.grace, .retry].contains(status))),
            .init("auto_renewal_status", .string(run.autoRenewalStatus(at: now))),
            .init("status", .string(status.rawValue)), .init("total_revenue_in_usd", Self.noMoney),
            .init(
                "store_subscription_identifier", .string(last?.transaction.id ?? transaction.id)),
            .init("pending_changes", .null),
            .init("management_url", "https://apps.apple.com/account/subscriptions"),
        ])
    }

    private func promotional(_ grant: PromotionalGrant) -> JSON {
        let isOpen = grant.begins <= opinion.now && opinion.now < grant.ends
        let given = project.entitlements.filter { $0.lookupKey == grant.lookupKey }
        let id = "sub" + grant.id
        return [
            "object": "subscription", "id": .string(id),
            "customer_id": .string(customer.originalID),
            "original_customer_id": .string(customer.originalID), "product_id": .null,
            "starts_at": grant.begins.json, "current_period_starts_at": grant.begins.json,
            "current_period_ends_at": grant.ends.json, "ends_at": grant.ends.json,
            "gives_access": .bool(isOpen), "pending_payment": false,
            "auto_renewal_status": "will_not_renew",
            "status": isOpen ? "active" : "expired", "total_revenue_in_usd": Self.noMoney,
            "presented_offering_id": .null,
            "entitlements": entitlementList(given, of: "subscriptions/\(id)"),
            "environment": "production", "store": "promotional",
            "store_subscription_identifier": .string(grant.id), "ownership": "purchased",
            "pending_changes": .null, "country": .null, "management_url": .null,
        ]
    }

    // MARK: - Purchases

    var purchases: [Entry] {
        opinion.oneTimePurchases.flatMap(\.spells).map { spell in
            let transaction = spell.transaction
            let id = "purch" + StableHash.hex(transaction.id)
            let json = common(id, transaction, kind: "purchases").adding([
                .init("object", "purchase"), .init("purchased_at", transaction.purchased.json),
                .init("revenue_in_usd", Self.noMoney),
                .init("quantity", .integer(transaction.quantity)),
                .init("status", transaction.revoked == nil ? "owned" : "refunded"),
                .init("store_purchase_identifier", .string(transaction.id)),
            ])
            return Entry(id: id, json: json)
        }
    }

    /// The members that subscriptions and purchases share.
    private func common(
        _ id: String, _ transaction: AppleTransaction, kind: String = "subscriptions"
    ) -> JSON {
        let product = project.product(transaction.productID)
        let given = opinion.entitlements(of: transaction.productID)
        return [
            "id": .string(id), "customer_id": .string(customer.originalID),
            "original_customer_id": .string(customer.originalID),
            "product_id": product.map { .string($0.id) } ?? .null, "presented_offering_id": .null,
            "entitlements": entitlementList(given, of: "\(kind)/\(id)"),
            "environment": .string(transaction.isSandbox ? "sandbox" : "production"),
            "store": "app_store",
            "ownership": .string(transaction.isFamilyShared ? "family_shared" : "purchased"),
            "country": .null,
        ]
    }

    /// The double knows no exchange rates, so every amount is zero.
    private static let noMoney: JSON = [
        "currency": "USD", "gross": 0, "commission": 0, "tax": 0, "proceeds": 0,
    ]

    private func entitlementList(
        _ entitlements: [RevenueCatDouble.Project.Entitlement], of owner: String
    ) -> JSON {
        Self.list(
            entitlements.map { Self.entitlement($0, of: project) },
            url: "\(base)/\(owner)/entitlements")
    }

    // MARK: - Configuration

    static func entitlement(
        _ entitlement: RevenueCatDouble.Project.Entitlement, of project: RevenueCatDouble.Project
    ) -> JSON {
        [
            "object": "entitlement", "project_id": .string(project.id),
            "id": .string(entitlement.id), "lookup_key": .string(entitlement.lookupKey),
            "display_name": .string(entitlement.lookupKey), "created_at": project.created.json,
        ]
    }

    static func product(
        _ product: RevenueCatDouble.Project.Product, of project: RevenueCatDouble.Project
    ) -> JSON {
        let isSubscription = product.type == .autoRenewable
        let types: [ProductType: JSON] = [
            .autoRenewable: "subscription", .consumable: "consumable",
            .nonConsumable: "non_consumable", .nonRenewing: "non_renewing_subscription",
        ]
        return [
            "object": "product", "id": .string(product.id),
            "store_identifier": .string(product.storeIdentifier),
            "type": types[product.type] ?? "one_time",
            "subscription": isSubscription
                ? [
                    "duration": product.period.map { .string($0) } ?? .null,
                    "grace_period_duration": .null, "trial_duration": .null,
                ] : .null,
            "one_time": isSubscription
                ? .null : ["is_consumable": .bool(product.type == .consumable)],
            "created_at": project.created.json, "app_id": .string(project.appID),
            "display_name": .string(product.storeIdentifier),
        ]
    }

    static func list(_ items: [JSON], url: String, nextPage: String? = nil) -> JSON {
        [
            "object": "list", "items": .array(items),
            "next_page": nextPage.map { .string($0) } ?? .null, "url": .string(url),
        ]
    }
}

extension JSON {
    /// This object with further members.
    fileprivate func adding(_ more: [Member]) -> JSON { .object((members ?? []) + more) }
}
