extension OpenAPI {
    static let paths = """
            "/apple/notifications": {
              "post": {
                "operationId": "takeNotification",
                "summary": "Take a version 2 notification of the App Store",
                "description": "Answers 200 once it is kept durably; also to a repeat, which is \
        harmless. 4xx only for what can never be accepted; 5xx for this server's own troubles, so \
        that the App Store sends it again.",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/Notification" }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Kept.",
                    "content": { "application/json": { "schema": { "type": "object" } } }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/v1/purchases": {
              "post": {
                "operationId": "postPurchases",
                "summary": "Say what a device holds, and whose it is",
                "description": "Answers with the customer, in the environment of the documents. \
        Harmless to repeat: a document that is known already changes nothing.",
                "security": [{ "key": [] }],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/PurchasesRequest" }
                    }
                  }
                },
                "responses": {
                  "200": { "$ref": "#/components/responses/customer" },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/v1/customers/{id}": {
              "get": {
                "operationId": "customer",
                "summary": "What a customer may use now, and why",
                "description": "An id that was never seen is a customer with nothing, not a 404; \
        nothing is written.",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/environment" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/customer" },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/v1/customers/{id}/aliases": {
              "post": {
                "operationId": "addAlias",
                "summary": "Say that another id is the same customer",
                "description": "Both ids are one customer from now on, with the purchases of \
        both. Harmless to repeat.",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/environment" }
                ],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/AliasRequest" }
                    }
                  }
                },
                "responses": {
                  "200": { "$ref": "#/components/responses/customer" },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/v1/customers/{id}/wallets/{currency}": {
              "get": {
                "operationId": "wallet",
                "summary": "A wallet, with all that went in and out, the latest first",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/currency" },
                  { "$ref": "#/components/parameters/environment" },
                  {
                    "name": "limit", "in": "query",
                    "schema": { "type": "integer", "default": 100, "maximum": 1000 }
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
            },
            "/health": {
              "get": {
                "operationId": "health",
                "summary": "Whether the process lives",
                "responses": { "200": { "$ref": "#/components/responses/status" } }
              }
            },
            "/ready": {
              "get": {
                "operationId": "ready",
                "summary": "Whether requests can be done: the database answers",
                "responses": {
                  "200": { "$ref": "#/components/responses/status" },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/metrics": {
              "get": {
                "operationId": "metrics",
                "summary": "Counts, as Prometheus reads them",
                "responses": {
                  "200": {
                    "description": "Text exposition format 0.0.4.",
                    "content": { "text/plain": { "schema": { "type": "string" } } }
                  }
                }
              }
            },
            "/openapi.json": {
              "get": {
                "operationId": "openAPI",
                "summary": "This description",
                "responses": {
                  "200": {
                    "description": "OpenAPI 3.1.",
                    "content": { "application/json": { "schema": { "type": "object" } } }
                  }
                }
              }
            }
        """
}
