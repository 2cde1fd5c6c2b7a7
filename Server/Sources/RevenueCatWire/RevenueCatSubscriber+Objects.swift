import Ledger
import PerennialContract
import RevenueCatWebhooks

/// A customer in the form of version 2 of RevenueCat's REST API, as several objects. They contain
/// the same values as in version 1 and in Perennial's own answer, with times in milliseconds.
extension RevenueCatSubscriber {
    /// The customer as an object of the API.
    ///
    /// - Parameter isAlone: whether the answer is about this customer alone, and not a list. If so,
    ///   it contains the active entitlements.
    /// - Parameter attributes: nil if the client has not asked for them.
    package func customer(
        of project: RevenueCatProject, isAlone: Bool, attributes: [CustomerAttribute]? = nil
    ) -> RevenueCatObject {
        let path = Self.path(of: id, project)
        var more: [RevenueCatValue.Member] = []
        if isAlone {
            let active = RevenueCatList(
                path: "\(path)/active_entitlements", items: activeEntitlements.map(\.value))
            more.append(.init("active_entitlements", active.value))
        }
        if let attributes {
            let list = RevenueCatList(
                path: "\(path)/attributes", items: Self.objects(of: attributes).map(\.value))
            more.append(.init("attributes", list.value))
        }
        let unknown = [
            "last_seen_at", "last_seen_app_version", "last_seen_country", "last_seen_platform",
            "last_seen_platform_version", "experiment",
        ]
        return RevenueCatObject(
            "customer", id,
            [
                .init("id", .string(id)), .init("project_id", .string(project.id)),
                .init("first_seen_at", .integer(firstSeen.milliseconds)),
            ] + unknown.map { .init($0, .null) } + more)
    }

    /// The path of a customer, without its query.
    package static func path(of id: String, _ project: RevenueCatProject) -> String {
        "\(project.path)/customers/\(Paths.percentEncoded(id))"
    }

    /// The entitlements that are open now, ordered by name.
    package var activeEntitlements: [RevenueCatObject] {
        status.filter(\.value.isOpen).sorted { $0.key < $1.key }.map { entitlement, status in
            RevenueCatObject(
                "customer.active_entitlement", entitlement.rawValue,
                [
                    .init("entitlement_id", .string(entitlement.rawValue)),
                    .init("expires_at", .milliseconds(status.until?.milliseconds)),
                ])
        }
    }

    /// The attributes, ordered by name.
    package static func objects(of attributes: [CustomerAttribute]) -> [RevenueCatObject] {
        attributes.compactMap { attribute in
            attribute.value.map { value in
                RevenueCatObject(
                    "customer.attribute", attribute.name,
                    [
                        .init("name", .string(attribute.name)), .init("value", .string(value)),
                        .init("updated_at", .integer(attribute.updatedAt.milliseconds)),
                    ])
            }
        }
    }

    // MARK: - Subscriptions

    /// One object for each subscription and for each grant, oldest first.
    package func subscriptionObjects(of project: RevenueCatProject) -> [RevenueCatObject] {
        let own = purchases.compactMap { purchase in
            subscriptionObject(purchase, project).map {
                (purchase.timeline.periods.first?.from ?? now, $0)
            }
        }
        let granted = grants.map { ($0.from, grantObject($0, project)) }
        return (own + granted).sorted { ($0.0, $0.1.id) < ($1.0, $1.1.id) }.map(\.1)
    }

    private func subscriptionObject(
        _ purchase: Purchase, _ project: RevenueCatProject
    ) -> RevenueCatObject? {
        let timeline = purchase.timeline
        guard let access = purchase.access, let period = timeline.period(at: now),
            period.payment.kind == .autoRenewable
        else { return nil }
        let payment = period.payment
        let next = timeline.renewalInfo(about: period)?.value.renewsTo
        let changes = next.map { $0 != payment.product } ?? false
        let renews = access.willRenew ?? true
        let members: [RevenueCatValue.Member] = [
            .init("product_id", .string(payment.product.rawValue)),
            .init(
                "starts_at", .integer((timeline.periods.first?.from ?? period.from).milliseconds)),
            .init("current_period_starts_at", .integer(period.from.milliseconds)),
            .init("current_period_ends_at", .milliseconds(period.end?.milliseconds)),
            .init(
                "ends_at",
                access.isOpen && renews ? .null : .milliseconds(access.until?.milliseconds)),
            .init("gives_access", .bool(access.isOpen)), .init("pending_payment", .bool(false)),
            .init(
                "auto_renewal_status",
                .string(
                    !renews ? "will_not_renew" : changes ? "will_change_product" : "will_renew")),
            .init("status", .string(access.state.revenueCatStatus)),
            .init("store", .string("app_store")),
            .init("store_subscription_identifier", .string(payment.transaction.rawValue)),
            .init(
                "ownership",
                .string(
                    payment.ownership == .familyShared
                        ? "family_shared" : "purchased")),
            .init("country", .text(payment.storefront.flatMap(CountryCodes.two))),
            .init("management_url", .string(Self.managementURL)),
            .init(
                "entitlements",
                entitlements(
                    project.entitlements(of: payment.product),
                    of: "subscriptions", timeline.purchase.description, project)),
        ]
        return RevenueCatObject(
            "subscription", timeline.purchase.description,
            common(timeline.purchase.description, timeline.purchase.environment)
                + [.init("total_revenue_in_usd", .null), .init("pending_changes", .null)] + members)
    }

    private func grantObject(_ grant: Ledger.Grant, _ project: RevenueCatProject)
        -> RevenueCatObject
    {
        let isOpen = grant.isOpen(at: now)
        let end = RevenueCatValue.milliseconds(grant.end?.milliseconds)
        let own = project.allEntitlements.filter { $0.id == grant.entitlement.rawValue }
        return RevenueCatObject(
            "subscription", grant.id.rawValue,
            common(grant.id.rawValue, environment) + [
                .init("total_revenue_in_usd", .null), .init("pending_changes", .null),
                .init("product_id", .null), .init("starts_at", .integer(grant.from.milliseconds)),
                .init("current_period_starts_at", .integer(grant.from.milliseconds)),
                .init("current_period_ends_at", end), .init("ends_at", end),
                .init("gives_access", .bool(isOpen)), .init("pending_payment", .bool(false)),
                .init("auto_renewal_status", .string("will_not_renew")),
                .init("status", .string(isOpen ? "active" : "expired")),
                .init("store", .string("promotional")),
                .init("store_subscription_identifier", .string(grant.id.rawValue)),
                .init("ownership", .string("purchased")), .init("country", .null),
                .init("management_url", .null),
                .init(
                    "entitlements",
                    entitlements(own, of: "subscriptions", grant.id.rawValue, project)),
            ])
    }

    /// The members that subscriptions and purchases have in common.
    private func common(
        _ id: String, _ environment: Environment
    ) -> [RevenueCatValue.Member] {
        [
            .init("id", .string(id)), .init("customer_id", .string(self.id)),
            .init("original_customer_id", .string(self.id)),
            .init("presented_offering_id", .null),
            .init("environment", .string(environment.rawValue)),
        ]
    }

    private func entitlements(
        _ entitlements: [RevenueCatObject], of kind: String, _ id: String,
        _ project: RevenueCatProject
    ) -> RevenueCatValue {
        let owner = "\(project.path)/\(kind)/\(Paths.percentEncoded(id))"
        return RevenueCatList(
            path: "\(owner)/entitlements", items: entitlements.map(\.value)
        ).value
    }

    // MARK: - What is bought once

    /// One object for each payment for a product that does not renew, oldest first. The list
    /// includes refunded payments.
    package func purchaseObjects(of project: RevenueCatProject) -> [RevenueCatObject] {
        let paid = purchases.flatMap { purchase in
            purchase.timeline.payments { $0 != .autoRenewable }.map {
                (purchase.timeline.purchase.environment, $0)
            }
        }
        return paid.sorted {
            ($0.1.from, $0.1.transaction) < ($1.1.from, $1.1.transaction)
        }.map { environment, payment in
            let isRefunded = payment.revocation.map { $0.at <= now } ?? false
            let id = payment.transaction.rawValue
            return RevenueCatObject(
                "purchase", id,
                common(id, environment) + [
                    .init("product_id", .string(payment.product.rawValue)),
                    .init("purchased_at", .integer(payment.from.milliseconds)),
                    .init("revenue_in_usd", .null),
                    .init("quantity", .integer(Int64(payment.quantity))),
                    .init("status", .string(isRefunded ? "refunded" : "owned")),
                    .init("store", .string("app_store")),
                    .init("store_purchase_identifier", .string(id)),
                    .init(
                        "ownership",
                        .string(
                            payment.ownership == .familyShared
                                ? "family_shared" : "purchased")),
                    .init("country", .text(payment.storefront.flatMap(CountryCodes.two))),
                    .init(
                        "entitlements",
                        entitlements(
                            project.entitlements(of: payment.product), of: "purchases", id,
                            project)),
                ])
        }
    }
}

extension Access.State {
    /// RevenueCat's word for the state of a subscription.
    fileprivate var revenueCatStatus: String {
        switch self {
        case .paid, .offer, .unconfirmed, .granted, .owned: "active"
        case .trial: "trialing"
        case .grace: "in_grace_period"
        case .retry: "in_billing_retry"
        case .expired, .refunded, .revoked: "expired"
        }
    }
}
