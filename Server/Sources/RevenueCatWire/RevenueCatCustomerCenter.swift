import RevenueCatWebhooks

/// The configuration of the customer center, a view of RevenueCat's SDK. The configuration contains
/// no translated texts, so the SDK uses its own texts in the language of the device.
package enum RevenueCatCustomerCenter {
    /// - Parameter email: the address that customers write to.
    package static func value(email: String) -> RevenueCatValue {
        .object([
            .init(
                "customer_center",
                .object([
                    .init("appearance", .object([.init("dark", colors), .init("light", colors)])),
                    .init("change_plans", .list([])),
                    .init(
                        "localization",
                        .object([
                            .init("locale", .string("en_US")),
                            .init("localized_strings", .object([])),
                        ])), .init("screens", screens),
                    .init(
                        "support",
                        .object([
                            .init("email", .string(email)),
                            .init("should_warn_customer_to_update", .bool(false)),
                        ])),
                ])), .init("itunes_track_id", .null), .init("last_published_app_version", .null),
        ])
    }

    private static let colors = RevenueCatValue.object([])

    private static let screens = RevenueCatValue.object([
        .init(
            "MANAGEMENT",
            screen(
                "MANAGEMENT", "Your subscription",
                [
                    ("CANCEL", "Cancel the subscription"), ("REFUND_REQUEST", "Ask for a refund"),
                    ("MISSING_PURCHASE", "Restore purchases"),
                ])),
        .init(
            "NO_ACTIVE",
            screen(
                "NO_ACTIVE", "No active subscription", [("MISSING_PURCHASE", "Restore purchases")])
        ),
    ])

    private static func screen(
        _ type: String, _ title: String, _ paths: [(type: String, title: String)]
    ) -> RevenueCatValue {
        .object([
            .init(
                "paths",
                .list(
                    paths.map { path in
                        .object([
                            .init("id", .string(path.type.lowercased())),
                            .init("title", .string(path.title)), .init("type", .string(path.type)),
                        ])
                    })), .init("title", .string(title)), .init("type", .string(type)),
        ])
    }
}
