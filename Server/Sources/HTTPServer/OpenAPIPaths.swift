extension OpenAPI {
    private static func verifyReceipt(_ id: String, _ summary: String) -> String {
        """
        {
              "post": {
                "operationId": "\(id)",
                "summary": "\(summary)",
                "description": "For programs that ask Apple's deprecated verifyReceipt. Says 200 \
        in any case, and in `status` what is wrong, as Apple does; 5xx only for this server's own \
        troubles.",
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
                "summary": "Take a notification of the App Store, of version 2 or 1",
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
            "/verifyReceipt": \(verifyReceipt("verifyReceipt", "Answer as Apple's verifyReceipt")),
            "/sandbox/verifyReceipt": \(verifyReceipt(
                "sandboxVerifyReceipt", "The same for receipts of the sandbox")),
            "/v1/purchases": {
              "post": {
                "operationId": "postPurchases",
                "summary": "Say what a device holds, and whose it is",
                "description": "Answers with the customer, in the environment of the documents. \
        Harmless to repeat: a document that is known already changes nothing.",
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
                "summary": "What a customer may use now, and why",
                "description": "An id that was never seen is a customer with nothing, not a 404; \
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
                "summary": "Say that another id is the same customer",
                "description": "Both ids are one customer from now on, with the purchases of \
        both. Harmless to repeat.",
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
                "summary": "What changed, in its order",
                "description": "Only with a secret key. Go on from next_cursor: nothing is missed, \
        and nothing is told twice. docs/events.md says when each type is told.",
                "security": [{ "key": [] }],
                "parameters": [
                  {
                    "name": "after",
                    "in": "query",
                    "description": "next_cursor of an earlier answer; without it, from the first.",
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
                    "description": "Only events of this customer, by any of their ids, also \
        where that is but the account token of a purchase.",
                    "schema": { "type": "string" }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "Events, and where to go on.",
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
                "summary": "Whether the process lives",
                "responses": { "200": { "$ref": "#/components/responses/status" } }
              }
            },
            "/ready": {
              "get": {
                "operationId": "ready",
                "summary": "Whether requests can be done: the database answers and writes",
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
