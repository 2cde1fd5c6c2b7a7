/// What is published and read: its routes and structures.
extension OpenAPI {
    static let contentPaths = """
            "/v1/customers/{id}/content": {
              "get": {
                "operationId": "content",
                "summary": "What a customer may read, the newest first",
                "description": "With a link to each file, which holds for some minutes and needs \
        no key.",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/proof" },
                  { "$ref": "#/components/parameters/environment" },
                  {
                    "name": "all", "in": "query", "description": "Also what they may not read.",
                    "schema": { "type": "boolean", "default": false }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "What has come out.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/ContentList" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            },
            "/v1/content/{content_id}/file": {
              "get": {
                "operationId": "contentFile",
                "summary": "The file of what a customer may read",
                "description": "With a key and customer_id; or without, by a url that the list of \
        content gave. Purchases of the sandbox open files where the configuration says so, or with \
        a secret key. Ranges are honoured. Where files lie elsewhere the answer leads there.",
                "security": [{ "key": [] }, {}],
                "parameters": [
                  {
                    "name": "content_id", "in": "path", "required": true,
                    "schema": { "type": "string" }
                  },
                  { "name": "customer_id", "in": "query", "schema": { "type": "string" } },
                  { "$ref": "#/components/parameters/proof" },
                  { "$ref": "#/components/parameters/environment" },
                  { "name": "app", "in": "query", "schema": { "type": "string" } },
                  { "name": "for", "in": "query", "schema": { "type": "string" } },
                  { "name": "until", "in": "query", "schema": { "type": "integer" } },
                  { "name": "signature", "in": "query", "schema": { "type": "string" } }
                ],
                "responses": {
                  "200": { "description": "The file." },
                  "206": { "description": "The part that was asked for." },
                  "302": { "description": "Where the file is." },
                  "304": { "description": "It is as the asker has it." },
                  "default": { "$ref": "#/components/responses/problem" }
                }
              }
            }
        """

    static let contentSchemas = """
              "ContentList": {
                "type": "object",
                "required": ["items"],
                "properties": {
                  "items": { "type": "array", "items": { "$ref": "#/components/schemas/Content" } }
                }
              },
              "Content": {
                "type": "object",
                "required": [
                  "content_id", "title", "published_at", "readable", "reason", "product_ids"
                ],
                "properties": {
                  "content_id": { "type": "string" },
                  "title": { "type": "string" },
                  "published_at": { "$ref": "#/components/schemas/Timestamp" },
                  "readable": { "type": "boolean" },
                  "reason": { "type": "string", "description": "One sentence." },
                  "product_ids": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Products that open it by themselves."
                  },
                  "url": {
                    "type": "string",
                    "description": "A path of this server that needs no key; absent where it may \
        not be read, has no file, or the sandbox opens no files."
                  },
                  "url_until": { "$ref": "#/components/schemas/Timestamp" }
                }
              }
        """
}
