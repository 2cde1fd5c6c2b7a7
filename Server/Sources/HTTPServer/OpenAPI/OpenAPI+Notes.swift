import HTTPBasics

// Notes in the description that the types do not contain: see the types' own documentation for
// more.

extension OpenAPI {
    static let pathNotes = [
        "id": "The customer's id, percent-encoded.",
        "alias": "Another id of the customer.",
        "transfer_id": "From GET …/transfers.",
        "original_transaction_id": "The id of its first transaction.",
        "invitation_id": "From GET …/invitations.",
        "claim_id": "From GET …/seats, or the seat of a member's subscription.",
        "grant_id": "From GET …/grants.",
        "currency": "The currency's name in perennial.yaml.",
        "document_id": "The document_id of a forward, a notification, an event, or a list.",
        "webhook_id": "Its name in perennial.yaml, or the id that it got.",
        "delivery_id": "The value of webhook-id.",
    ]

    static let typeNotes = [
        "NotificationBody":
            "Version 2 has signedPayload. Version 1 has notification_type and the other members "
            + "that Apple documents.",
        "Commitment": "The current month within the months of the commitment.",
        "Event": "Skip types that you do not know, and continue with the next event.",
    ]

    /// The members that an answer leaves out if they are nil. Other members that are nil are
    /// written as null.
    static let omittedMembers: Set = ["Subscription.seat", "Subscription.seats", "Event.seat"]

    /// The members that a request must have although they may be null.
    static let requiredMembers: Set = ["AttributeSetting.value"]

    static let memberNotes: [String: OpenAPIValue] = requestNotes.merging(answerNotes) { $1 }

    private static let requestNotes: [String: OpenAPIValue] = [
        "NotificationBody.signedPayload": ["description": "A compact JWS."],
        "NotificationBody.notification_type": ["examples": ["DID_RENEW"]],
        "NotificationBody.password": [
            "description": "The app's shared secret, the only proof in version 1."
        ],
        "VerifyReceiptBody.receipt-data": ["description": "Base64."],
        "VerifyReceiptBody.password": ["description": "The app's shared secret."],
        "PurchasesRequest.signed_transactions": [
            "description": "StoreKit 2's jwsRepresentation of each transaction."
        ],
        "PurchasesRequest.signed_renewal_infos": [
            "description": """
            StoreKit 2's jwsRepresentation of renewal infos. Each needs a transaction of the same \
            purchase in the request.
            """
        ],
        "PurchasesRequest.app_receipt": [
            "description": "The file at Bundle.main.appStoreReceiptURL, in Base64."
        ],
        "PurchasesRequest.transaction_receipt": [
            "description": "The transactionReceipt of an app before iOS 7, in Base64."
        ],
        "PurchasesRequest.device_guid": [
            "description": """
            identifierForVendor, or a Mac's network address in hexadecimal. If set, the app \
            receipt must be for that device.
            """
        ],
        "PurchasesRequest.signed_app_transaction": [
            "description": "StoreKit 2's jwsRepresentation of AppTransaction.shared."
        ],
        "AliasRequest.customer_id": ["description": "The other id."],
        "AttributeSetting.value": ["description": "Null or an empty text deletes the attribute."],
        "AttributeSetting.at": [
            "description": """
            When the value was set. An older value never replaces a newer one. If absent, the \
            value replaces whatever is known.
            """
        ],
        "DebitRequest.amount": ["minimum": 1],
        "DebitRequest.reason": ["description": "Shown on the statement."],
        "CreditRequest.amount": ["minimum": 1],
        "CreditRequest.reason": ["description": "Shown on the statement."],
        "OfferSignatureRequest.kind": [
            "enum": ["promotional", "promotional_v1", "introductory"]
        ],
        "PurchaseUse.used_percent": [
            "minimum": 0, "maximum": 100,
            "description": "If absent or null, the server computes the percentage if it can.",
        ],
    ]

    private static let answerNotes: [String: OpenAPIValue] = [
        "Customer.entitlements": [
            "description":
                "By name. Contains each entitlement that the customer has, or had earlier."
        ],
        "Explanation.lines": [
            "description": "For a person. The form is not fixed."
        ],
        "Ping.key_kind": ["enum": ["app", "secret"]],
        "Ping.unknown_product_ids": [
            "description": "Null if no .storekit file is configured."
        ],
        "CustomerOffer.apple_decides": [
            "description": "Whether only the App Store knows if the customer is eligible."
        ],
        "Shown.owner_hint": ["description": "A masked mail address of the other customer."],
        "Customer.token": [
            "description": """
            A JWT (ES256) with the active entitlements, to be verified with the keys of \
            /.well-known/jwks.json. Null if the configuration of the app switches tokens off.
            """
        ],
        "Offerings.products": [
            "description": "The products that give something, sorted by id."
        ],
        "Offerings.placements": [
            "description": "In the order of the configuration. The first one is the default."
        ],
        "Offerings.wallets": ["description": "The permissions for each currency, by its name."],
        "Offerings.overlap": ["examples": ["stack", "extend", "refuse"]],
        "Offerings.jws": [
            "description": """
            A compact JWS (ES256) of the same content with iss, aud and iat, to be verified with \
            the keys of /.well-known/jwks.json. Its typ is perennial-offerings+jwt. Null if the \
            configuration of the app switches tokens off.
            """
        ],
        "OfferedProduct.term": ["description": "Null unless it is a term that does not renew."],
        "OfferedProduct.family_shareable": [
            "description": "Null if no .storekit file with the product is configured."
        ],
        "OfferedTerm.days": ["description": "In addition to the months, without bonus_days."],
        "WalletPermission.spend": ["examples": ["server", "app"]],
        "WalletPermission.max_offline": [
            "description": "How much the app may spend before the server has confirmed it."
        ],
        "Entitlement.until": [
            "description": """
            If active: when the entitlement will end, as far as is known now; null if it never \
            ends. Otherwise: when it ended.
            """
        ],
        "Entitlement.reason": ["description": "One sentence for a person."],
        "Entitlement.will_renew": ["description": "Null if the App Store has not said."],
        "Entitlement.product_id": [
            "description": "Null if the entitlement was granted by hand."
        ],
        "Entitlement.grant_id": ["description": "Null if a purchase gives it."],
        "Commitment.month": ["description": "From 1."],
        "EventList.next_cursor": [
            "description": """
            Send it in the parameter `after` to continue, now or later. Never null. A cursor that \
            is older than a restore from a backup is refused with cursor_outdated.
            """
        ],
        "Event.id": ["description": "Stays the same on every read, and is never reused."],
        "Event.sequence": [
            "description": """
            In the app's log, from 1, without gaps. After a restore from a backup, numbering \
            continues from where the backup ended.
            """
        ],
        "Event.customer_id": [
            "description": "Null while the purchase belongs to no customer."
        ],
        "Event.customer_sequence": [
            "description": "Position among the customer's events: from 1, without gaps."
        ],
        "Event.other_customer_id": [
            "description": """
            The previous owner of the purchase, the customer that was merged into this one, or the \
            new alias.
            """
        ],
        "Event.purchase_id": [
            "description": "Null if the event is about the customer alone."
        ],
        "Event.environment": [
            "description": "Null if the event is about the customer's ids alone."
        ],
        "Event.money": [
            "description": """
            The amount that was paid. A negative amount was refunded. The sum over all events of \
            a purchase is the revenue from it, before Apple's commission and taxes.
            """
        ],
        "Event.why": [
            "examples": [
                "cancelled", "billing", "price_not_agreed", "product_unavailable",
                "never_confirmed", "other",
            ]
        ],
        "Event.grant": ["description": "The grant that was made by hand, or ended."],
        "Event.term": ["description": "The non-renewing term that ends soon."],
        "Event.wallet": ["description": "What was added to a wallet or taken out of it."],
        "WalletMovement.amount": ["description": "Negative if it was taken out."],
        "WalletMovement.before": [
            "description": "The balance reported last; 0 if there was none."
        ],
        "RedeemedOffer.kind": [
            "examples": ["introductory", "promotional", "code", "win_back", "retention"]
        ],
        "Cause.kind": ["examples": ["document", "time", "request", "rebuild"]],
        "Cause.document_id": [
            "description": "Identifies the signed document: a SHA-256 in hexadecimal."
        ],
        "Debit.balance": ["description": "The wallet's balance after the debit."],
        "Credit.balance": ["description": "The wallet's balance after the credit."],
        "WalletStatement.next_cursor": ["description": "Null at the end."],
        "WalletItem.amount": ["description": "Negative if it was taken out."],
        "WalletItem.balance": ["description": "The balance after this line."],
        "Content.reason": ["description": "Why, in one sentence."],
        "Content.product_ids": [
            "description": "Products that each give access to this content."
        ],
        "Content.url": [
            "description": """
            A path on this server that needs no key. Null if the customer may not read the \
            content, if it has no file, or if sandbox purchases open no files.
            """
        ],
        "ForwardList.next_cursor": ["description": "The next page's cursor, or null."],
        "Attribute.author": ["examples": ["app", "server"]],
        "AuditList.next_cursor": ["description": "The next page's cursor, or null."],
        "AuditEntry.author": ["description": "The name of the operator."],
        "AuditEntry.act": ["description": "What was done: docs/dashboard.md lists the acts."],
        "AuditEntry.customer_id": [
            "description":
                "The customer whom the act is about, or null. A pseudonym after an erasure."
        ],
        "AuditEntry.subject": [
            "description": "What it was done to, such as the id of a webhook, or null."
        ],
        "AuditEntry.before": ["description": "The values before the act, or null."],
        "AuditEntry.after": ["description": "The values after the act, or null."],
        "Forward.document_id": [
            "description": "Identifies the signed document: a SHA-256 in hexadecimal."
        ],
        "Forward.url": ["description": "The address without its query."],
        "Forward.last_status": ["description": "Null if there was no response."],
        "Forward.last_trouble": ["description": "Why there was no response."],
        "Shown.owner": ["enum": ["customer", "another", "nobody"]],
        "Shown.outcome": ["enum": ["nothing", "link", "move", "share", "refuse"]],
        "Transfer.kind": ["enum": ["moved", "shared", nil]],
        "ConsumptionQuestion.reason": ["description": "Apple's word."],
        "ConsumptionQuestion.state": [
            "examples": ["waiting", "answered", "withheld", "given_up"]
        ],
        "ConsumptionAnswer.refund_preference": [
            "examples": ["decline", "grant_full", "grant_prorated"]
        ],
        "Money.amount": ["examples": ["9.99"]],
        "Money.currency": ["description": "ISO 4217."],
        "Problem.type": ["format": "uri"],
        "Problem.title": ["description": "What happened, in one sentence."],
        "Problem.detail": ["description": "What exactly was found."],
        "Problem.remedy": ["description": "What to do."],
    ]
}
