import PerennialContract

/// What is sent on to other addresses: its route and structures.
extension OpenAPI {
    static let forwardPaths = """
            "/v1/forwards": {
              "get": {
                "operationId": "forwards",
                "summary": "Notifications sent on to other addresses, the newest first",
                "description": "Only with a secret key. docs/forwarding.md says what is sent on, \
        and how often it is tried.",
                "security": [{ "key": [] }],
                "parameters": [
                  {
                    "name": "state",
                    "in": "query",
                    "description": "Only those that stand so.",
                    "schema": { "type": "string", "enum": [\(states)] }
                  },
                  {
                    "name": "after",
                    "in": "query",
                    "description": "next_cursor of an earlier answer; without it, from the newest.",
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
                    "description": "Forwards, and where to go on.",
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
                "summary": "Lets a notification that was given up be sent on again",
                "description": "Only with a secret key. Harmless to repeat: what waits or is \
        accepted stays as it is. docs/forwarding.md says more.",
                "security": [{ "key": [] }],
                "parameters": [
                  {
                    "name": "document_id",
                    "in": "path",
                    "required": true,
                    "description": "Of a forward.",
                    "schema": { "type": "string" }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "How all addresses of the document stand now.",
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
                    "type": ["string", "null"], "description": "Of what is older; null at the end."
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
                    "description": "Names the signed document: a SHA-256 in hexadecimal."
                  },
                  "url": { "type": "string", "description": "Without its query." },
                  "environment": { "$ref": "#/components/schemas/StoreEnvironment" },
                  "state": { "type": "string", "examples": [\(states)] },
                  "created_at": { "$ref": "#/components/schemas/Timestamp" },
                  "attempts": { "type": "integer" },
                  "last_attempt_at": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  },
                  "last_status": {
                    "type": ["integer", "null"], "description": "Null where nobody answered."
                  },
                  "last_trouble": {
                    "type": ["string", "null"], "description": "Why nobody answered."
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
