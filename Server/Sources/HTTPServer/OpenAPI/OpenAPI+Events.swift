import PerennialContract

extension OpenAPI {
    static let eventSchemas = """
              "EventList": {
                "type": "object",
                "required": ["items", "next_cursor"],
                "properties": {
                  "items": { "type": "array", "items": { "$ref": "#/components/schemas/Event" } },
                  "next_cursor": {
                    "type": "string",
                    "description": "Send it as after, now or later. Always set. One from before \
        a restore from a backup is refused with cursor_outdated."
                  }
                }
              },
              "Event": {
                "type": "object",
                "description": "Tolerate types that you do not know, and read after.",
                "required": ["id", "sequence", "type", "at", "known_at", "customer_id", \
        "customer_sequence", "other_customer_id", "account_token", "purchase_id", \
        "original_transaction_id", "environment", "product_id", "transaction_id", "ownership", \
        "before", "after", "money", "why", "offer", "next_product_id", "next_price", \
        "grant", "term", "wallet", "cause"],
                "properties": {
                  "id": {
                    "type": "string",
                    "description": "Stays the same on every read, and is never reused."
                  },
                  "sequence": {
                    "type": "integer",
                    "description": "In the app's log, from 1, without gaps. After a restore from a \
        backup, numbering continues from where the backup ended."
                  },
                  "type": { "type": "string", "examples": [\(types)] },
                  "at": { "$ref": "#/components/schemas/Timestamp" },
                  "known_at": { "$ref": "#/components/schemas/Timestamp" },
                  "customer_id": {
                    "type": ["string", "null"],
                    "description": "Null while the purchase belongs to no customer."
                  },
                  "customer_sequence": {
                    "type": ["integer", "null"],
                    "description": "Position among the customer's events: from 1, without gaps."
                  },
                  "other_customer_id": {
                    "type": ["string", "null"],
                    "description": "The previous owner of the purchase, the customer that was \
        merged into this one, or the new alias."
                  },
                  "account_token": { "type": ["string", "null"] },
                  "purchase_id": {
                    "type": ["string", "null"],
                    "description": "Null if the event is about the customer alone."
                  },
                  "original_transaction_id": { "type": ["string", "null"] },
                  "environment": {
                    "anyOf": [
                      { "$ref": "#/components/schemas/StoreEnvironment" }, { "type": "null" }
                    ],
                    "description": "Null if the event is about the customer's ids alone."
                  },
                  "product_id": { "type": ["string", "null"] },
                  "transaction_id": { "type": ["string", "null"] },
                  "ownership": { "type": ["string", "null"] },
                  "before": {
                    "anyOf": [
                      { "$ref": "#/components/schemas/PurchaseCondition" }, { "type": "null" }
                    ]
                  },
                  "after": {
                    "anyOf": [
                      { "$ref": "#/components/schemas/PurchaseCondition" }, { "type": "null" }
                    ]
                  },
                  "money": {
                    "description": "The amount paid, or, if negative, refunded. The sum over all \
        events of a purchase is the revenue from it, before Apple's commission and taxes.",
                    "anyOf": [{ "$ref": "#/components/schemas/Money" }, { "type": "null" }]
                  },
                  "why": {
                    "type": ["string", "null"],
                    "examples": ["cancelled", "billing", "price_not_agreed", \
        "product_unavailable", "never_confirmed", "other"]
                  },
                  "offer": {
                    "anyOf": [
                      { "$ref": "#/components/schemas/RedeemedOffer" }, { "type": "null" }
                    ]
                  },
                  "next_product_id": { "type": ["string", "null"] },
                  "next_price": {
                    "anyOf": [{ "$ref": "#/components/schemas/Money" }, { "type": "null" }]
                  },
                  "grant": {
                    "description": "The grant that was made by hand, or ended.",
                    "anyOf": [{ "$ref": "#/components/schemas/Grant" }, { "type": "null" }]
                  },
                  "term": {
                    "description": "The non-renewing term that ends soon.",
                    "anyOf": [{ "$ref": "#/components/schemas/TermEnding" }, { "type": "null" }]
                  },
                  "wallet": {
                    "description": "What was added to a wallet or taken out of it.",
                    "anyOf": [
                      { "$ref": "#/components/schemas/WalletMovement" }, { "type": "null" }
                    ]
                  },
                  "cause": { "$ref": "#/components/schemas/Cause" }
                }
              },
              "WalletMovement": {
                "type": "object",
                "required": ["currency", "amount", "before", "after", "debit_id", "reason", \
        "idempotency_key"],
                "properties": {
                  "currency": { "type": "string" },
                  "amount": { "type": "integer", "description": "Negative if it was taken out." },
                  "before": {
                    "type": "integer",
                    "description": "The balance reported last; 0 if there was none."
                  },
                  "after": { "type": "integer" },
                  "debit_id": { "type": ["string", "null"] },
                  "reason": { "type": ["string", "null"] },
                  "idempotency_key": { "type": ["string", "null"] }
                }
              },
              "TermEnding": {
                "type": "object",
                "required": ["chain", "from", "until", "days_before"],
                "properties": {
                  "chain": { "type": "string" },
                  "from": { "$ref": "#/components/schemas/Timestamp" },
                  "until": { "$ref": "#/components/schemas/Timestamp" },
                  "days_before": { "type": "integer" }
                }
              },
              "PurchaseCondition": {
                "type": "object",
                "required": ["product_id", "active", "state", "until", "will_renew"],
                "properties": {
                  "product_id": { "type": "string" },
                  "active": { "type": "boolean" },
                  "state": {
                    "anyOf": [{ "$ref": "#/components/schemas/AccessState" }, { "type": "null" }]
                  },
                  "until": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "will_renew": { "type": ["boolean", "null"] }
                }
              },
              "RedeemedOffer": {
                "type": "object",
                "required": ["kind", "id"],
                "properties": {
                  "kind": {
                    "type": "string",
                    "examples": ["introductory", "promotional", "code", "win_back", "retention"]
                  },
                  "id": { "type": ["string", "null"] }
                }
              },
              "Cause": {
                "type": "object",
                "required": ["kind", "document_id"],
                "properties": {
                  "kind": {
                    "type": "string", "examples": ["document", "time", "request", "rebuild"]
                  },
                  "document_id": {
                    "type": ["string", "null"],
                    "description": "Identifies the signed document: a SHA-256 in hexadecimal."
                  }
                }
              }
        """

    private static let types = EventType.known.map { "\"\($0.rawValue)\"" }
        .joined(separator: ", ")
}
