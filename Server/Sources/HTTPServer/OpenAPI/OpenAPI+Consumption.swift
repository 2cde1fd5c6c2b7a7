/// Consumption information, which is sent to Apple if a customer asks for a refund.
extension OpenAPI {
    static let consumptionPaths = """
        "/v1/customers/{id}/consumption": {
        \(operation(
            "get", "consumption", "Consent, Apple's requests, and the responses", secret,
            parameters: ["customer", "environment"], answers: "ConsumptionOverview")),
        \(operation(
            "put", "putConsumption", "Report a customer's consent, and how purchases were used",
            "\(secret) Idempotent. Waiting requests of Apple are processed again.",
            parameters: ["customer", "environment"], takes: "ConsumptionRequest",
            answers: "ConsumptionOverview"))
        }
        """

    static let consumptionSchemas = """
              "ConsumptionRequest": {
                "type": "object",
                "required": ["consented"],
                "properties": {
                  "consented": { "type": "boolean" },
                  "sample_content_provided": { "type": "boolean" },
                  "purchases": {
                    "type": "array", "maxItems": 100,
                    "items": { "$ref": "#/components/schemas/PurchaseUse" }
                  }
                }
              },
              "PurchaseUse": {
                "type": "object",
                "required": ["transaction_id", "delivery"],
                "properties": {
                  "transaction_id": { "type": "string" },
                  "delivery": { "$ref": "#/components/schemas/Delivery" },
                  "used_percent": {
                    "type": ["number", "null"], "minimum": 0, "maximum": 100,
                    "description": "If absent or null, the server uses what it knows itself."
                  }
                }
              },
              "Delivery": {
                "enum": ["delivered", "quality_issue", "wrong_product", "server_outage", "other"]
              },
              "ConsumptionOverview": {
                "type": "object",
                "required": ["consented", "consented_at", "sample_content_provided", \
        "purchases", "requests"],
                "properties": {
                  "consented": { "type": ["boolean", "null"] },
                  "consented_at": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "sample_content_provided": { "type": ["boolean", "null"] },
                  "purchases": {
                    "type": "array", "items": { "$ref": "#/components/schemas/PurchaseUse" }
                  },
                  "requests": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/ConsumptionQuestion" }
                  }
                }
              },
              "ConsumptionQuestion": {
                "type": "object",
                "required": ["transaction_id", "product_id", "reason", "asked_at", \
        "answer_until", "state", "attempts", "ended_at", "trouble", "answer"],
                "properties": {
                  "transaction_id": { "type": "string" },
                  "product_id": { "type": "string" },
                  "reason": { "type": ["string", "null"], "description": "Apple's word." },
                  "asked_at": { "$ref": "#/components/schemas/Timestamp" },
                  "answer_until": { "$ref": "#/components/schemas/Timestamp" },
                  "state": { "examples": ["waiting", "answered", "withheld", "given_up"] },
                  "attempts": { "type": "integer" },
                  "ended_at": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "trouble": { "type": ["string", "null"] },
                  "answer": {
                    "anyOf": [
                      { "$ref": "#/components/schemas/ConsumptionAnswer" }, { "type": "null" }
                    ]
                  }
                }
              },
              "ConsumptionAnswer": {
                "type": "object",
                "required": ["delivery", "used_percent", "sample_content_provided", \
        "refund_preference"],
                "properties": {
                  "delivery": { "$ref": "#/components/schemas/Delivery" },
                  "used_percent": { "type": ["number", "null"] },
                  "sample_content_provided": { "type": "boolean" },
                  "refund_preference": {
                    "type": ["string", "null"],
                    "examples": ["decline", "grant_full", "grant_prorated"]
                  }
                }
              }
        """
}
