/// Whose purchases are, what is given by hand, and what support asks.
extension OpenAPI {
    /// One operation at a path that needs a key.
    static func operation(
        _ method: String, _ id: String, _ summary: String, _ description: String,
        parameters: [String] = [], takes: String? = nil, answers: String
    ) -> String {
        let references = parameters.map { ##"{ "$ref": "#/components/parameters/\##($0)" }"## }
        let body = takes.map {
            """
            "requestBody": { "required": true, "content": { "application/json": { \
            "schema": { "$ref": "#/components/schemas/\($0)" } } } },
            """
        }
        return """
            "\(method)": {
              "operationId": "\(id)",
              "summary": "\(summary)",
              "description": "\(description)",
              "security": [{ "key": [] }],
              "parameters": [\(references.joined(separator: ", "))],
              \(body ?? "")
              "responses": {
                "200": {
                  "description": "It is so.",
                  "content": {
                    "application/json": { "schema": { "$ref": "#/components/schemas/\(answers)" } }
                  }
                },
                "default": { "$ref": "#/components/responses/problem" }
              }
            }
            """
    }

    static let secret = "Only with a secret key."

    static let identityPaths = """
        "/v1/purchases/preview": {
        \(operation(
            "post", "preview", "Say what posting would do, and whether to buy",
            "Changes nothing. Of another customer's purchase owner_id is only told to secret keys.",
            parameters: ["environment", "proof"], takes: "PreviewRequest",
            answers: "PurchasePreview"))
        },
        "/v1/customers/{id}/aliases/{alias}": {
        \(operation(
            "delete", "partAlias", "Let an id mean the customer no more",
            "\(secret) What is the customer's stays theirs, under the id in the path.",
            parameters: ["customer", "alias", "environment"], answers: "Customer"))
        },
        "/v1/customers": {
        \(operation(
            "get", "findCustomers",
            "Find customers by an id, or the number of a transaction or order", secret,
            parameters: ["query"], answers: "CustomerList"))
        },
        "/v1/customers/{id}/transfers": {
        \(operation(
            "get", "transfers", "Purchases that came to the customer, or went to others",
            "\(secret) Also those that support said stay theirs, without transfer_id.",
            parameters: ["customer", "environment"], answers: "TransferList")),
        \(operation(
            "post", "transfer", "Move a purchase to the customer",
            "\(secret) Whatever the policy is; no policy moves it afterwards. Harmless to repeat. "
                + "Without transfer_id where it was theirs already.",
            parameters: ["customer", "environment"], takes: "OwnershipRequest",
            answers: "Transfer"))
        },
        "/v1/customers/{id}/transfers/{transfer_id}": {
        \(operation(
            "delete", "undoTransfer", "Take a transfer back", "\(secret) Harmless to repeat.",
            parameters: ["customer", "transfer"], answers: "Transfer"))
        },
        "/v1/customers/{id}/blocks": {
        \(operation(
            "post", "block", "Let nobody take a purchase from the customer",
            "\(secret) Harmless to repeat.", parameters: ["customer", "environment"],
            takes: "OwnershipRequest", answers: "Block"))
        },
        "/v1/customers/{id}/blocks/{original_transaction_id}": {
        \(operation(
            "delete", "unblock", "Let the policy decide again", "\(secret) Harmless to repeat.",
            parameters: ["customer", "purchase", "environment"], answers: "Block"))
        }
        """

    static let supportPaths = """
        "/v1/customers/{id}/grants": {
        \(operation(
            "get", "grants", "What was given to the customer by hand", secret,
            parameters: ["customer", "environment"], answers: "GrantList")),
        \(operation(
            "post", "grant", "Give the customer an entitlement",
            "\(secret) With the header Idempotency-Key harmless to repeat.",
            parameters: ["customer", "environment", "idempotencyKey"], takes: "GrantRequest",
            answers: "Grant"))
        },
        "/v1/customers/{id}/grants/{grant_id}": {
        \(operation(
            "delete", "withdrawGrant", "Take back what was given", "\(secret) Harmless to repeat.",
            parameters: ["customer", "grant"], answers: "Grant"))
        },
        "/v1/customers/{id}/history": {
        \(operation(
            "get", "history", "All that is known of the customer, in the order of time", secret,
            parameters: ["customer", "environment", "after", "limit"], answers: "History"))
        }
        """

    /// Of `/v1/customers/{id}`.
    static let erase = operation(
        "delete", "erase", "Forget a person",
        "\(secret) Their ids, links, grants and debits; their purchases become nobody's. "
            + "Harmless to repeat.", parameters: ["customer"], answers: "Erasure")

    static let identityParameters = (textParameters + [historyLimit]).joined(separator: ",\n")

    private static let textParameters = parameters.map { id, name, place, description in
        """
        "\(id)": {
          "name": "\(name)", "in": "\(place)", "required": \(place == "path" || name == "query"),
          "description": "\(description)", "schema": { "type": "string" }
        }
        """
    }

    private static let historyLimit = """
        "limit": {
          "name": "limit", "in": "query", "description": "How many at most.",
          "schema": {
            "type": "integer", "minimum": 1, "maximum": \(PerennialServer.historyLinesMax),
            "default": \(PerennialServer.historyLinesUsual)
          }
        }
        """

    private static let parameters: [(id: String, name: String, place: String, text: String)] = [
        (
            "proof", "Perennial-Customer-Proof", "header",
            "Where the app's configuration wants one; two have a comma between them."
        ),
        (
            "query", "query", "query",
            "An id of a customer, also as account token of a purchase; or the number of a "
                + "transaction, or of the order in their mail."
        ),
        ("alias", "alias", "path", "Another id of the customer."),
        ("transfer", "transfer_id", "path", "As GET …/transfers lists it."),
        ("purchase", "original_transaction_id", "path", "Of the purchase's first transaction."),
        ("grant", "grant_id", "path", "As GET …/grants lists it."),
        ("idempotencyKey", "Idempotency-Key", "header", "A name of your own for this request."),
        ("after", "after", "query", "What next_cursor said."),
    ]
}
