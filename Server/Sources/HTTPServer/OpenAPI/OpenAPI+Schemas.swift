import PerennialContract

extension OpenAPI {
    static let schemas = [
        requestSchemas, customerSchemas, purchaseSchemas, eventSchemas, walletSchemas,
        contentSchemas, forwardSchemas, identitySchemas, offerSchemas.joined(separator: ",\n"),
        consumptionSchemas,
        smallSchemas,
    ]
    .joined(separator: ",\n")

    private static let requestSchemas = """
              "Notification": {
                "type": "object",
                "description": "Version 2 has signedPayload. Version 1 has notification_type and \
        the other members that Apple documents.",
                "properties": {
                  "signedPayload": { "type": "string", "description": "A compact JWS." },
                  "notification_type": { "type": "string", "examples": ["DID_RENEW"] },
                  "password": {
                    "type": "string",
                    "description": "The app's shared secret, the only proof in version 1."
                  }
                }
              },
              "VerifyReceiptRequest": {
                "type": "object",
                "required": ["receipt-data"],
                "properties": {
                  "receipt-data": { "type": "string", "description": "Base64." },
                  "password": { "type": "string", "description": "The app's shared secret." },
                  "exclude-old-transactions": { "type": "boolean", "default": false }
                }
              },
              "PurchasesRequest": {
                "type": "object",
                "required": ["customer_id"],
                "properties": {
                  "customer_id": { "type": "string" },
                  "signed_transactions": {
                    "type": "array",
                    "description": "StoreKit 2's jwsRepresentation of each transaction.",
                    "items": { "type": "string" }
                  },
                  "signed_renewal_infos": {
                    "type": "array",
                    "description": "StoreKit 2's jwsRepresentation of renewal infos. Each \
        needs a transaction of the same purchase in the request.",
                    "items": { "type": "string" }
                  },
                  "app_receipt": {
                    "type": "string",
                    "description": "The file at Bundle.main.appStoreReceiptURL, in Base64."
                  },
                  "transaction_receipt": {
                    "type": "string",
                    "description": "The transactionReceipt of an app before iOS 7, in Base64."
                  },
                  "device_guid": {
                    "type": "string",
                    "description": "identifierForVendor, or a Mac's network address in \
        hexadecimal. If set, the app receipt must be for that device."
                  }
                }
              },
              "AliasRequest": {
                "type": "object",
                "required": ["customer_id"],
                "properties": {
                  "customer_id": { "type": "string", "description": "The other id." }
                }
              }
        """

    private static let customerSchemas = """
              "Customer": {
                "type": "object",
                "required": ["customer_id", "aliases", "environment", "as_of", "entitlements", \
        "subscriptions", "non_renewing", "one_time", "wallets", "token"],
                "properties": {
                  "customer_id": { "type": "string" },
                  "aliases": { "type": "array", "items": { "type": "string" } },
                  "environment": { "$ref": "#/components/schemas/StoreEnvironment" },
                  "as_of": { "$ref": "#/components/schemas/Timestamp" },
                  "entitlements": {
                    "type": "object",
                    "description": "By name. One never had is absent; one that ended is \
        present, and not active.",
                    "additionalProperties": { "$ref": "#/components/schemas/Entitlement" }
                  },
                  "subscriptions": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/Subscription" }
                  },
                  "non_renewing": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/NonRenewing" }
                  },
                  "one_time": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/OneTimePurchase" }
                  },
                  "wallets": {
                    "type": "object",
                    "additionalProperties": { "$ref": "#/components/schemas/Wallet" }
                  },
                  "token": {
                    "type": ["string", "null"],
                    "description": "A JWT (ES256) of what is open, to be checked with the keys of \
        /.well-known/jwks.json. Null where the app wants none."
                  }
                }
              },
              "Entitlement": {
                "type": "object",
                "required": ["active", "until", "state", "reason", "will_renew", "product_id", \
        "purchase_id", "grant_id"],
                "properties": {
                  "active": { "type": "boolean" },
                  "until": {
                    "description": "If active: when it ends unless something happens, or null for \
        never. Otherwise: when it ended.",
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "state": { "$ref": "#/components/schemas/AccessState" },
                  "reason": { "type": "string", "description": "One sentence for a person." },
                  "will_renew": {
                    "type": ["boolean", "null"],
                    "description": "Null if the App Store has not said."
                  },
                  "product_id": {
                    "type": ["string", "null"],
                    "description": "Null if it was granted by hand, like purchase_id."
                  },
                  "purchase_id": { "type": ["string", "null"] },
                  "grant_id": {
                    "type": ["string", "null"],
                    "description": "Null if a purchase gives it."
                  }
                }
              }
        """

    private static let purchaseSchemas = """
              "Subscription": {
                "type": "object",
                "required": ["purchase_id", "product_id", "original_transaction_id", "state", \
        "period", "will_renew", "renews_to", "grace_until", "price", "commitment", "ownership", \
        "store", "environment"],
                "properties": {
                  "purchase_id": { "type": "string" },
                  "product_id": { "type": "string" },
                  "original_transaction_id": { "type": "string" },
                  "state": { "$ref": "#/components/schemas/AccessState" },
                  "period": { "$ref": "#/components/schemas/Period" },
                  "will_renew": { "type": ["boolean", "null"] },
                  "renews_to": { "type": ["string", "null"] },
                  "grace_until": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "price": {
                    "anyOf": [{ "$ref": "#/components/schemas/Money" }, { "type": "null" }]
                  },
                  "commitment": {
                    "anyOf": [{ "$ref": "#/components/schemas/Commitment" }, { "type": "null" }]
                  },
                  "ownership": { "type": "string", "examples": ["purchased", "family_shared"] },
                  "store": { "type": "string", "examples": ["app_store"] },
                  "environment": { "$ref": "#/components/schemas/StoreEnvironment" }
                }
              },
              "Commitment": {
                "type": "object",
                "description": "The current month within the months of the commitment.",
                "required": ["month", "months", "until", "renews"],
                "properties": {
                  "month": { "type": "integer", "description": "From 1." },
                  "months": { "type": "integer" },
                  "until": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "renews": { "type": ["boolean", "null"] }
                }
              },
              "Period": {
                "type": "object",
                "required": ["from", "until"],
                "properties": {
                  "from": { "$ref": "#/components/schemas/Timestamp" },
                  "until": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  }
                }
              },
              "NonRenewing": {
                "type": "object",
                "required": ["product_id", "from", "until", "days_remaining"],
                "properties": {
                  "product_id": { "type": "string" },
                  "from": { "$ref": "#/components/schemas/Timestamp" },
                  "until": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "days_remaining": { "type": ["integer", "null"] }
                }
              },
              "OneTimePurchase": {
                "type": "object",
                "required": ["product_id", "purchased_at", "revoked_at"],
                "properties": {
                  "product_id": { "type": "string" },
                  "purchased_at": { "$ref": "#/components/schemas/Timestamp" },
                  "revoked_at": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  }
                }
              }
        """

    private static let smallSchemas = """
              "Money": {
                "type": "object",
                "required": ["amount", "currency"],
                "properties": {
                  "amount": { "type": "string", "examples": ["9.99"] },
                  "currency": { "type": "string", "description": "ISO 4217." }
                }
              },
              "Timestamp": {
                "type": "string",
                "format": "date-time",
                "examples": ["2026-11-21T08:30:00.000Z"]
              },
              "StoreEnvironment": { "type": "string", "examples": ["production", "sandbox"] },
              "AccessState": {
                "type": "string",
                "examples": ["paid", "trial", "offer", "grace", "unconfirmed", "granted", "owned", \
        "retry", "expired", "refunded", "revoked"]
              },
              "Problem": {
                "type": "object",
                "required": ["type", "title", "status", "code", "remedy", "request_id"],
                "properties": {
                  "type": { "type": "string", "format": "uri" },
                  "title": { "type": "string", "description": "What happened, in one sentence." },
                  "status": { "type": "integer" },
                  "detail": { "type": "string", "description": "What exactly was found." },
                  "code": { "type": "string", "examples": [\(codes)] },
                  "remedy": { "type": "string", "description": "What to do." },
                  "request_id": { "type": "string" }
                }
              }
        """

    private static let codes = ProblemCode.known.map { "\"\($0.rawValue)\"" }
        .joined(separator: ", ")
}
