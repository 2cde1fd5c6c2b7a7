/// The OpenAPI description that `/openapi.json` serves. A test compares it with the routes, with
/// the contract's types, and with the responses of the running server.
enum OpenAPI {
    static let document = """
        {
          "openapi": "3.1.0",
          "info": {
            "title": "Perennial",
            "version": "1",
            "summary": "What may this customer use right now, and why?",
            "description": "Times are RFC 3339 UTC with milliseconds; ids are strings. All errors \
        are problems (RFC 9457) with a code that never changes its meaning. Members and \
        words may be added: ignore those you do not know. A request id may be sent as X-Request-Id \
        (at most 64 of A-Z a-z 0-9 - _ .); the response repeats it. With ?pretty every route \
        indents its JSON.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" }
          },
          "paths": {
        \(paths)
          },
          "components": {
            "securitySchemes": {
              "key": {
                "type": "http",
                "scheme": "bearer",
                "description": "An app key (pk_…) or a secret key (sk_…); each belongs to one app."
              }
            },
            "parameters": {
              "customer": {
                "name": "id",
                "in": "path",
                "required": true,
                "description": "The customer's id, percent-encoded.",
                "schema": { "type": "string" }
              },
              \(identityParameters),
              "currency": {
                "name": "currency",
                "in": "path",
                "required": true,
                "description": "The currency's name in perennial.yaml.",
                "schema": { "type": "string" }
              },
              "environment": {
                "name": "environment",
                "in": "query",
                "description": "Which purchases count: real ones, or those of the sandbox.",
                "schema": { "enum": ["production", "sandbox"], "default": "production" }
              }
            },
            "responses": {
              "customer": {
                "description": "The customer's current state.",
                "content": {
                  "application/json": { "schema": { "$ref": "#/components/schemas/Customer" } }
                }
              },
              "problem": {
                "description": "Why the request failed, and what to do.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "status": {
                "description": "Success.",
                "content": {
                  "application/json": {
                    "schema": {
                      "type": "object",
                      "required": ["status"],
                      "properties": { "status": { "type": "string" } }
                    }
                  }
                }
              }
            },
            "schemas": {
        \(schemas)
            }
          }
        }

        """
}
