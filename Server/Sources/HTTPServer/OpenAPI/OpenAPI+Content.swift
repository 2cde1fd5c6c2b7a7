/// Published content: its routes and schemas.
extension OpenAPI {
    static let contentPaths = """
            "/v1/customers/{id}/content": {
              "get": {
                "operationId": "content",
                "summary": "Content a customer may read, newest first",
                "description": "Has a link to each file, which is valid for some minutes and needs \
        no key.",
                "security": [{ "key": [] }],
                "parameters": [
                  { "$ref": "#/components/parameters/customer" },
                  { "$ref": "#/components/parameters/proof" },
                  { "$ref": "#/components/parameters/environment" },
                  {
                    "name": "all", "in": "query", "description": "Also list what may not be read.",
                    "schema": { "type": "boolean", "default": false }
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The published content.",
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
                "summary": "The file of one content",
                "description": "Needs a key and customer_id, or no key with a url from the list of \
        content. Sandbox purchases open files if the configuration allows it, or with \
        a secret key. Supports ranges. If the files are elsewhere, the response is a redirect.",
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
                  "206": { "description": "The requested range." },
                  "302": { "description": "A redirect to the file." },
                  "304": { "description": "The client's copy is up to date." },
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
                  "content_id", "title", "published_at", "readable", "reason", "product_ids", \
        "url", "url_until"
                ],
                "properties": {
                  "content_id": { "type": "string" },
                  "title": { "type": "string" },
                  "published_at": { "$ref": "#/components/schemas/Timestamp" },
                  "readable": { "type": "boolean" },
                  "reason": { "type": "string", "description": "Why, in one sentence." },
                  "product_ids": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Products that give access to it by themselves."
                  },
                  "url": {
                    "type": ["string", "null"],
                    "description": "A path on this server that needs no key. Null if it may \
        not be read, has no file, or if sandbox purchases open no files."
                  },
                  "url_until": {
                    "anyOf": [{ "$ref": "#/components/schemas/Timestamp" }, { "type": "null" }]
                  }
                }
              }
        """
}
