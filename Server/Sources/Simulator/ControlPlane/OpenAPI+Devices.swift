import HTTPBasics

/// The schemas of device and shop responses.
extension OpenAPI {
    static let deviceSchemas: [OpenAPIValue.Member] = [
        structure("DeviceName", ["device_id": text]),
        structure(
            "PurchaseOutcome",
            [
                "result": words(["purchased", "pending", "cancelled", "failed"]),
                "signed_transaction": text, "transaction_id": text,
                "original_transaction_id": text, "verification": verdict, "app_receipt": text,
                "reason": words(of: PendingPurchase.Reason.self), "error": text,
                "url_error": whole,
            ],
            mayLack: [
                "signed_transaction", "transaction_id", "original_transaction_id",
                "verification", "app_receipt", "reason", "error", "url_error",
            ]),
        structure(
            "SettledPurchase",
            [
                "result": words(["purchased", "declined"]), "signed_transaction": text,
                "transaction_id": text, "original_transaction_id": text,
            ], mayLack: ["signed_transaction", "transaction_id", "original_transaction_id"]),
        structure(
            "SignedTransactions",
            ["signed_transactions": list(text), "verifications": list(verdict)]),
        structure(
            "TransactionHistory",
            [
                "signed_transactions": list(text), "verifications": list(verdict),
                "finished_consumables": list(text),
            ]),
        structure(
            "RestoredPurchases",
            [
                "signed_transactions": list(text), "verifications": list(verdict),
                "signed_renewal_infos": list(text), "renewal_verifications": list(verdict),
                "app_receipt": text,
            ]),
        structure("Finished", ["result": words(["finished"])]),
        structure("SignedStatuses", ["statuses": list(reference("SignedStatus"))]),
        structure(
            "SignedStatus",
            [
                "original_transaction_id": text, "group_id": text, "status": whole,
                "signed_transaction": text, "verification": verdict, "signed_renewal_info": text,
                "renewal_verification": verdict,
            ]),
        structure(
            "SignedAppTransaction",
            [
                "signed_app_transaction": text, "verification": verdict,
                "device_verification_id": text,
            ]),
        structure("Storefront", ["country_code": text, "id": text, "currency": text]),
        structure("AppReceipt", ["app_receipt": text, "device_guid": text]),
        structure("TransactionReceipt", ["transaction_receipt": text]),
    ]

    static let shopSchemas: [OpenAPIValue.Member] = [
        structure(
            "Products",
            ["products": list(reference("Product")), "invalid_ids": list(text)]),
        structure(
            "Product",
            [
                "product_id": text, "type": text, "price": text, "price_milliunits": whole,
                "currency": text, "display_name": text, "description": text,
                "family_shareable": flag,
                "subscription": orNull(reference("SubscriptionTerms")),
            ]),
        structure(
            "SubscriptionTerms",
            [
                "group_id": text, "level": whole, "period": text,
                "introductory_offer": orNull(reference("Offer")),
                "introductory_offers": list(reference("Offer")),
                "promotional_offers": list(reference("Offer")),
                "code_offers": list(reference("Offer")),
                "win_back_offers": list(reference("Offer")),
                "billing_plans": list(
                    object([
                        "type": text, "price": text, "commitment_price": text, "enabled": flag,
                    ])),
            ]),
        structure(
            "Offer",
            [
                "id": orNull(text), "type": whole, "discount": text, "period": text,
                "period_count": whole, "price": text, "price_milliunits": whole,
                "billing_plan": orNull(text), "eligible": flag, "reason": orNull(text),
            ], mayLack: ["eligible", "reason"]),
    ]
}
