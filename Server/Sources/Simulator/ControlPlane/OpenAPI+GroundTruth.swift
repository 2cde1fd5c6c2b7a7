import HTTPBasics

/// The schemas of the ground truth and of sent notifications.
extension OpenAPI {
    static let groundTruthSchemas: [OpenAPIValue.Member] = [
        structure(
            "Books",
            [
                "account": text, "now": time, "purchases": list(reference("Purchase")),
                "pending": list(reference("PendingPurchase")),
                "family": orNull(object(["name": text, "members": list(text)])),
                "claimed_seats": list(claimedSeat),
            ], mayLack: ["claimed_seats"]),
        structure(
            "Purchase",
            [
                "original_transaction_id": text, "product_id": text, "environment": environment,
                "state": words(of: TruePurchase.State.self), "open": flag, "until": orNull(time),
                "will_renew": flag, "renews_to": orNull(text), "revoked": flag,
                "in_grace": flag, "in_retry": flag, "grace_until": orNull(time),
                "period": orNull(object(["from": time, "until": time])), "ownership": text,
                "commitment": orNull(reference("Commitment")),
                "price_rise": orNull(reference("PriceRise")),
                "next_price_milliunits": orNull(whole), "extensions": whole,
                "charges": list(reference("Charge")), "seats": seats,
            ], mayLack: ["seats"]),
        structure(
            "Charge",
            [
                "transaction_id": text, "web_order_line_item_id": orNull(text),
                "product_id": text, "at": time, "amount_milliunits": whole, "currency": text,
                "refunded_milliunits": whole, "refunded_at": orNull(time), "seats": whole,
                "refunded_seats": whole,
            ], mayLack: ["seats", "refunded_seats"]),
        structure("SeatSettings", ["invitations": invitations, "sold": foreign]),
        structure(
            "Commitment", ["month": whole, "months": whole, "until": time, "renews": flag]),
        structure(
            "PriceRise",
            ["price_milliunits": whole, "from": time, "needs_consent": flag, "agreed": flag]),
        structure(
            "PendingPurchase",
            [
                "id": text, "product_id": text, "reason": words(of: PendingPurchase.Reason.self),
                "since": time,
            ]),
        structure(
            "DailyBooks",
            [
                "days": list(
                    object([
                        "date": ["type": "string", "format": "date"], "money": list(dailyMoney),
                        "active": whole, "paid": whole, "offer": whole, "trial": whole,
                        "grace": whole, "retry": whole, "seats": whole,
                    ]))
            ]),
        structure(
            "VerbAnswer",
            [
                "now": time, "purchase": reference("Purchase"),
                "notifications": list(reference("ToldTurn")),
            ]),
        structure(
            "TransactionNumbers",
            [
                "transaction_id": text, "original_transaction_id": text,
                "app_transaction_id": text, "web_order_line_item_id": orNull(text),
                "order_id": text, "account": text, "environment": environment,
            ]),
    ]

    static let sentSchemas: [OpenAPIValue.Member] = [
        structure(
            "ToldTurn",
            ["type": text, "subtype": orNull(text), "uuid": text, "row": orNull(whole)]),
        structure(
            "SentNotifications",
            [
                "notifications": list(reference("SentNotification")),
                "strays": list(reference("SentNotification")),
            ]),
        structure(
            "SentNotification",
            [
                "uuid": text, "version": words(["1.0", "2.0"]), "type": text,
                "subtype": orNull(text), "account": orNull(text), "row": orNull(whole),
                "environment": environment, "at": time, "signed_payload": orNull(text),
                "body": orNull(foreign), "faults": list(words(of: NotificationFault.self)),
                "attempts": list(reference("Attempt")),
            ]),
        structure(
            "Attempt", ["at": time, "status": whole, "error": text],
            mayLack: ["status", "error"]),
        structure("ReceivedConsumption", ["received": list(reference("Consumption"))]),
        structure(
            "Consumption",
            ["transaction_id": text, "at": time, "body": foreign, "counts": flag]),
        structure("Log", ["entries": list(reference("LogEntry"))]),
        OpenAPIValue.Member("LogEntry", logEntry),
    ]

    private static let invitations = words(of: SeatInvitations.self)

    private static let seats = object([
        "count": whole, "at_renewal": orNull(whole), "invitations": invitations,
        "members": list(text), "claims": list(text),
    ])

    private static let claimedSeat = object([
        "original_transaction_id": text, "product_id": text, "claim_id": text, "open": flag,
        "rank": whole,
    ])

    private static let dailyMoney = object([
        "currency": text, "charged_milliunits": whole, "refunded_milliunits": whole,
        "reversed_milliunits": whole, "credited_milliunits": whole, "tax_milliunits": whole,
        "commission_milliunits": whole, "proceeds_milliunits": whole,
    ])

    /// The other members of an entry depend on `what`.
    private static let logEntry: OpenAPIValue = [
        "type": "object", "required": ["at", "what"],
        "properties": ["at": time, "what": words(of: LogEntryKind.self)],
        "additionalProperties": true,
    ]

    private static let environment = words(of: SimulatedEnvironment.self)
}
