/// What is bought to be used up: its routes and structures.
extension OpenAPI {
    static let walletPaths = """
            "/v1/customers/{id}/wallets/{currency}": {
              "get": {
                "operationId": "wallet",
                "summary": "A wallet, with all that went in and out, the latest first",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/proof" },
                  { "$ref": "#/components/parameters/currency" },
                  { "$ref": "#/components/parameters/environment" },
                  {
                    "name": "limit", "in": "query",
                    "schema": {
                      "type": "integer", "minimum": 1, "maximum": 1000, "default": 100
                    }
                  },
                  {
                    "name": "after", "in": "query", "description": "What next_cursor said.",
                    "schema": { "type": "string" }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The statement.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/WalletStatement" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/v1/customers/{id}/wallets/{currency}/debits": {
              "post": {
                "operationId": "debit",
                "summary": "Take something out of a wallet",
                "description": "Needs a secret key. Never below zero, unless the currency is \
        configured so: wallet_has_too_little. With the header Idempotency-Key harmless to repeat: \
        the first answer is given again.",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/currency" },
                  { "$ref": "#/components/parameters/environment" },
                  {
                    "name": "Idempotency-Key", "in": "header",
                    "schema": { "type": "string", "maxLength": 255 }
                  }
                ],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/DebitRequest" }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "The debit, and what is left.",
                    "content": {
                      "application/json": { "schema": { "$ref": "#/components/schemas/Debit" } }
                    }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            }
        """

    static let walletSchemas = """
              "Wallet": {
                "type": "object",
                "required": ["balance"],
                "properties": { "balance": { "type": "integer" } }
              },
              "DebitRequest": {
                "type": "object",
                "required": ["amount", "reason"],
                "properties": {
                  "amount": { "type": "integer", "minimum": 1 },
                  "reason": { "type": "string", "description": "For the statement." }
                }
              },
              "Debit": {
                "type": "object",
                "required": ["debit_id", "currency", "amount", "reason", "at", "balance"],
                "properties": {
                  "debit_id": { "type": "string" },
                  "currency": { "type": "string" },
                  "amount": { "type": "integer" },
                  "reason": { "type": "string" },
                  "at": { "$ref": "#/components/schemas/Timestamp" },
                  "balance": { "type": "integer", "description": "Just after it." }
                }
              },
              "WalletStatement": {
                "type": "object",
                "required": ["currency", "balance", "items"],
                "properties": {
                  "currency": { "type": "string" },
                  "balance": { "type": "integer" },
                  "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/WalletItem" }
                  },
                  "next_cursor": { "type": "string", "description": "Absent at the end." }
                }
              },
              "WalletItem": {
                "type": "object",
                "required": ["at", "kind", "amount", "balance"],
                "properties": {
                  "at": { "$ref": "#/components/schemas/Timestamp" },
                  "kind": { "type": "string", "examples": ["purchase", "refund", "debit"] },
                  "amount": { "type": "integer", "description": "Signed." },
                  "balance": { "type": "integer", "description": "Just after it." },
                  "transaction_id": { "type": "string" },
                  "product_id": { "type": "string" },
                  "debit_id": { "type": "string" },
                  "reason": { "type": "string" }
                }
              }
        """
}
