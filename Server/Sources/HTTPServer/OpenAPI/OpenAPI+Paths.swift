extension OpenAPI {
    private static func verifyReceipt(_ id: String, _ summary: String) -> String {
        """
        {
              "post": {
                "operationId": "\(id)",
                "summary": "\(summary)",
                "description": "For users of Apple's deprecated verifyReceipt. Responds 200 \
        in any case, with the error in `status`, as Apple does; 5xx only for problems of \
        this server.",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/VerifyReceiptRequest" }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Apple's responseBody.",
                    "content": {
                      "application/json": {
                        "schema": {
                          "type": "object",
                          "required": ["status"],
                          "properties": { "status": { "type": "integer" } }
                        }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            }
        """
    }

    static let paths = """
            "/apple/notifications": {
              "post": {
                "operationId": "takeNotification",
                "summary": "Receive an App Store notification of version 2 or 1",
                "description": "Responds 200 once it is recorded durably, also for a repeat. \
        Idempotent. 4xx only for what can never be accepted; 5xx for problems of this server, so \
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
                    "description": "Recorded.",
                    "content": { "application/json": { "schema": { "type": "object" } } }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/verifyReceipt": \(verifyReceipt("verifyReceipt", "Like Apple's verifyReceipt")),
            "/sandbox/verifyReceipt": \(verifyReceipt(
                "sandboxVerifyReceipt", "A replacement for verifyReceipt of the sandbox")),
            "/v1/purchases": {
              "post": {
                "operationId": "postPurchases",
                "summary": "Post a device's purchases for a customer",
                "description": "Responds with the customer, in the environment of the documents. \
        Idempotent: a document that is known already changes nothing.",
                "security": [{ "key": [] }],
                "parameters": [{ "$ref": "#/components/parameters/proof" }],
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
        \(erase),
              "get": {
                "operationId": "customer",
                "summary": "What a customer has access to now, and why",
                "description": "An unknown id gives a customer without purchases, not a 404; \
        nothing is written.",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/proof" },
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
                "summary": "Add another id of the same customer",
                "description": "Both ids mean one customer from now on, with the purchases of \
        both. Idempotent.",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/proof" },
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
        \(walletPaths),
        \(consumptionPaths),
        \(contentPaths),
        \(forwardPaths),
        \(identityPaths),
        \(supportPaths),
        \(offerPaths),
            "/v1/events": {
              "get": {
                "operationId": "events",
                "summary": "Changes, in order",
                "description": "Only with a secret key. With next_cursor no event is missed, \
        and none comes twice. docs/events.md says when each type is emitted.",
                "security": [{ "key": [] }],
                "parameters": [
                  {
                    "name": "after",
                    "in": "query",
                    "description": "next_cursor of an earlier response. Default: from the first.",
                    "schema": { "type": "string" }
                  },
                  {
                    "name": "limit",
                    "in": "query",
                    "schema": {
                      "type": "integer", "minimum": 1, "maximum": 500, "default": 100
                    }
                  },
                  {
                    "name": "customer_id",
                    "in": "query",
                    "description": "Only events of this customer, by any of their ids, even \
        if that is only the account token of a purchase.",
                    "schema": { "type": "string" }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "Events, and the cursor of the next page.",
                    "content": {
                      "application/json": { "schema": { "$ref": "#/components/schemas/EventList" } }
                    }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/health": {
              "get": {
                "operationId": "health",
                "summary": "Whether the process is alive",
                "responses": { "200": { "$ref": "#/components/responses/status" } }
              }
            },
            "/ready": {
              "get": {
                "operationId": "ready",
                "summary": "Whether the database can be read and written",
                "responses": {
                  "200": { "$ref": "#/components/responses/status" },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/metrics": {
              "get": {
                "operationId": "metrics",
                "summary": "Metrics for Prometheus",
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
