/// Consumables and their wallets: the routes and schemas.
extension OpenAPI {
    static let walletPaths = """
            "/v1/customers/{id}/wallets/{currency}": {
              "get": {
                "operationId": "wallet",
                "summary": "A wallet with its statement, latest first",
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
                    "name": "after", "in": "query", "description": "The previous next_cursor.",
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
                "summary": "Debit a wallet",
                "description": "Needs a secret key. Fails with wallet_has_too_little \
        below zero, unless configured otherwise. Idempotent with the header Idempotency-Key: \
        a repeat gets the first response again.",
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
                    "description": "The debit, and the new balance.",
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
                  "reason": { "type": "string", "description": "Shown on the statement." }
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
                  "balance": { "type": "integer", "description": "The wallet's balance after it." }
                }
              },
              "WalletStatement": {
                "type": "object",
                "required": ["currency", "balance", "items", "next_cursor"],
                "properties": {
                  "currency": { "type": "string" },
                  "balance": { "type": "integer" },
                  "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/WalletItem" }
                  },
                  "next_cursor": {
                    "type": ["string", "null"], "description": "Null at the end."
                  }
                }
              },
              "WalletItem": {
                "type": "object",
                "required": ["at", "kind", "amount", "balance", "transaction_id", \
        "product_id", "debit_id", "reason"],
                "properties": {
                  "at": { "$ref": "#/components/schemas/Timestamp" },
                  "kind": { "type": "string", "examples": ["purchase", "refund", "debit"] },
                  "amount": { "type": "integer", "description": "Negative if it was taken out." },
                  "balance": { "type": "integer", "description": "The balance after it." },
                  "transaction_id": { "type": ["string", "null"] },
                  "product_id": { "type": ["string", "null"] },
                  "debit_id": { "type": ["string", "null"] },
                  "reason": { "type": ["string", "null"] }
                }
              }
        """
}
