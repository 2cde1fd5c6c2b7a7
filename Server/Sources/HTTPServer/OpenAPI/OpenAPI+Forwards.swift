import PerennialContract

/// Forwarding to other addresses: its routes and schemas.
extension OpenAPI {
    static let forwardPaths = """
            "/v1/forwards": {
              "get": {
                "operationId": "forwards",
                "summary": "Notifications forwarded to other addresses, newest first",
                "description": "Only with a secret key. docs/forwarding.md says what is forwarded, \
        and how often it is tried.",
                "security": [{ "key": [] }],
                "parameters": [
                  {
                    "name": "state",
                    "in": "query",
                    "description": "Only those in this state.",
                    "schema": { "type": "string", "enum": [\(states)] }
                  },
                  {
                    "name": "after",
                    "in": "query",
                    "description": "next_cursor of an earlier response. Default: from the newest.",
                    "schema": { "type": "string" }
                  },
                  {
                    "name": "limit",
                    "in": "query",
                    "schema": {
                      "type": "integer", "minimum": 1, "maximum": 500, "default": 100
                    }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "Forwards, and the cursor of the next page.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/ForwardList" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/v1/forwards/{document_id}/retry": {
              "post": {
                "operationId": "retryForwards",
                "summary": "Retry a notification whose forwarding was given up",
                "description": "Only with a secret key. Idempotent: what is waiting or \
        accepted does not change. See docs/forwarding.md.",
                "security": [{ "key": [] }],
                "parameters": [
                  {
                    "name": "document_id",
                    "in": "path",
                    "required": true,
                    "description": "The document_id of a forward.",
                    "schema": { "type": "string" }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The document's forwards to all addresses.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/ForwardList" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            }
        """

    static let forwardSchemas = """
              "ForwardList": {
                "type": "object",
                "required": ["items", "next_cursor"],
                "properties": {
                  "items": { "type": "array", "items": { "$ref": "#/components/schemas/Forward" } },
                  "next_cursor": {
                    "type": ["string", "null"], "description": "The next page's cursor, or null."
                  }
                }
              },
              "Forward": {
                "type": "object",
                "required": ["document_id", "url", "environment", "state", "created_at", \
        "attempts", "last_attempt_at", "last_status", "last_trouble", "next_attempt_at", \
        "accepted_at"],
                "properties": {
                  "document_id": {
                    "type": "string",
                    "description": "Identifies the signed document: a SHA-256 in hexadecimal."
                  },
                  "url": { "type": "string", "description": "The address without its query." },
                  "environment": { "$ref": "#/components/schemas/StoreEnvironment" },
                  "state": { "type": "string", "examples": [\(states)] },
                  "created_at": { "$ref": "#/components/schemas/Timestamp" },
                  "attempts": { "type": "integer" },
                  "last_attempt_at": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "last_status": {
                    "type": ["integer", "null"], "description": "Null if there was no response."
                  },
                  "last_trouble": {
                    "type": ["string", "null"], "description": "Why there was no response."
                  },
                  "next_attempt_at": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "accepted_at": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  }
                }
              }
        """

    private static let states = Forward.State.known.map { "\"\($0.rawValue)\"" }
        .joined(separator: ", ")
}
