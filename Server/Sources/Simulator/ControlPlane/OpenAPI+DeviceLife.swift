import HTTPBasics

/// The schemas of a device's life: its clock, app, settings, and what waits there.
extension OpenAPI {
    static let deviceLifeSchemas: [OpenAPIValue.Member] = [
        structure(
            "DeviceState",
            [
                "device_id": text, "account": orNull(text),
                "environment": words(of: SimulatedEnvironment.self), "storefront": text,
                "can_make_payments": flag, "calendar": text, "clock": reference("DeviceClock"),
                "app": reference("InstalledApp"),
                "habits": object(
                    of: DeviceHabit.allCases.map { OpenAPIValue.Member($0.rawValue, flag) },
                    mayLack: []),
                "empty_reads_left": whole,
            ]),
        structure(
            "DeviceClock",
            [
                "now": time, "offset_milliseconds": whole, "monotonic_milliseconds": whole,
                "boot_id": text,
            ]),
        structure(
            "InstalledApp",
            [
                "bundle_id": text, "app_apple_id": whole, "version": text,
                "original_version": text, "source": words(of: InstalledApp.Source.self),
                "installation_id": text, "launches": whole,
            ]),
        structure(
            "RefundSheet",
            [
                "result": words(of: RefundSheetResult.self), "transaction_id": text,
            ]),
        structure(
            "ManageSheet",
            ["result": words(["closed"]), "original_transaction_ids": list(text)]),
        structure("StoreMessages", ["messages": list(reference("StoreMessage"))]),
        structure(
            "StoreMessage",
            [
                "id": text, "reason": words(of: StoreMessage.Reason.self),
                "original_transaction_id": orNull(text), "product_id": orNull(text),
            ]),
        structure("PurchaseIntents", ["intents": list(reference("PurchaseIntent"))]),
        structure("PurchaseIntent", ["id": text, "product_id": text, "offer": orNull(text)]),
        structure(
            "DeviceProducts",
            [
                "products": list(
                    object(
                        [
                            "product_id": text, "display_name": text, "description": text,
                            "display_price": text, "price_milliunits": whole, "currency": text,
                            "locale": text, "json_representation": foreign,
                            "supports_multi_seat": flag, "price_tiers": list(priceTier),
                        ], mayLack: ["supports_multi_seat", "price_tiers"])),
                "invalid_ids": list(text),
            ]),
    ]

    private static let priceTier = object(
        [
            "minimum_seats": whole, "maximum_seats": whole, "price": text,
            "price_milliunits": whole,
            "display_price": text,
        ], mayLack: ["maximum_seats"])
}
