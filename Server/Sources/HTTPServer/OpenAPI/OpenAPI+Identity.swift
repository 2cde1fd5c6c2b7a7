/// Ownership of purchases, grants, and support: their routes.
extension OpenAPI {
    /// The description of one operation at a path that needs a key.
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
                  "description": "Success.",
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
            "post", "preview", "Show what posting would do, and whether to buy",
            "Changes nothing. The owner_id of another customer is shown to secret keys only.",
            parameters: ["environment", "proof"], takes: "PreviewRequest",
            answers: "PurchasePreview"))
        },
        "/v1/customers/{id}/aliases/{alias}": {
        \(operation(
            "delete", "partAlias", "Remove an alias from a customer",
            "\(secret) Everything stays with the customer under the id in the path.",
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
            "get", "transfers", "Purchases that moved to the customer or away from them",
            "\(secret) Also those that support confirmed as theirs, without transfer_id.",
            parameters: ["customer", "environment"], answers: "TransferList")),
        \(operation(
            "post", "transfer", "Move a purchase to the customer",
            "\(secret) Overrides the restore policy, now and later. Idempotent. "
                + "The response has no transfer_id if it was theirs already.",
            parameters: ["customer", "environment"], takes: "OwnershipRequest",
            answers: "Transfer"))
        },
        "/v1/customers/{id}/transfers/{transfer_id}": {
        \(operation(
            "delete", "undoTransfer", "Undo a transfer", "\(secret) Idempotent.",
            parameters: ["customer", "transfer"], answers: "Transfer"))
        },
        "/v1/customers/{id}/blocks": {
        \(operation(
            "post", "block", "Protect a purchase against being moved away",
            "\(secret) Idempotent.", parameters: ["customer", "environment"],
            takes: "OwnershipRequest", answers: "Block"))
        },
        "/v1/customers/{id}/blocks/{original_transaction_id}": {
        \(operation(
            "delete", "unblock", "Let the restore policy apply again", "\(secret) Idempotent.",
            parameters: ["customer", "purchase", "environment"], answers: "Block"))
        }
        """

    static let supportPaths = """
        "/v1/customers/{id}/grants": {
        \(operation(
            "get", "grants", "Entitlements granted to the customer by hand", secret,
            parameters: ["customer", "environment"], answers: "GrantList")),
        \(operation(
            "post", "grant", "Grant the customer an entitlement",
            "\(secret) Idempotent with the header Idempotency-Key.",
            parameters: ["customer", "environment", "idempotencyKey"], takes: "GrantRequest",
            answers: "Grant"))
        },
        "/v1/customers/{id}/grants/{grant_id}": {
        \(operation(
            "delete", "withdrawGrant", "Withdraw a grant", "\(secret) Idempotent.",
            parameters: ["customer", "grant"], answers: "Grant"))
        },
        "/v1/customers/{id}/history": {
        \(operation(
            "get", "history", "Everything known about the customer, oldest first", secret,
            parameters: ["customer", "environment", "after", "limit"], answers: "History"))
        }
        """

    /// The DELETE operation of `/v1/customers/{id}`.
    static let erase = operation(
        "delete", "erase", "Erase a customer",
        "\(secret) Erases ids, links, grants, and debits. The purchases then belong to nobody. "
            + "Idempotent.", parameters: ["customer"], answers: "Erasure")

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
          "name": "limit", "in": "query", "description": "The maximum number of lines.",
          "schema": {
            "type": "integer", "minimum": 1, "maximum": \(PerennialServer.historyLinesMax),
            "default": \(PerennialServer.historyLinesDefault)
          }
        }
        """

    private static let parameters: [(id: String, name: String, place: String, text: String)] = [
        (
            "proof", "Perennial-Customer-Proof", "header",
            "If the app's configuration requires it. Separate two with a comma."
        ),
        (
            "query", "query", "query",
            "An id of a customer, or the account token of a purchase, or the id of a "
                + "transaction, or the order id in the customer's mail."
        ),
        ("alias", "alias", "path", "Another id of the customer."),
        ("transfer", "transfer_id", "path", "From GET …/transfers."),
        ("purchase", "original_transaction_id", "path", "The id of its first transaction."),
        ("grant", "grant_id", "path", "From GET …/grants."),
        ("idempotencyKey", "Idempotency-Key", "header", "A key you choose for this request."),
        ("after", "after", "query", "next_cursor of an earlier response."),
    ]
}
