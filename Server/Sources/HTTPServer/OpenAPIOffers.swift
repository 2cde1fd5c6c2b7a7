/// Tokens, by which anybody can check what a customer may use; and offers.
extension OpenAPI {
    static let offerPaths = """
        "/v1/customers/{id}/offers": {
        \(operation(
            "get", "offers", "Which offers the customer may take, and why",
            "By what we know of the customer; the store has the last word.",
            parameters: ["customer", "environment", "proof"], answers: "OfferList"))
        },
        "/v1/offers/signatures": {
        \(operation(
            "post", "signOffer", "Sign an offer for StoreKit",
            "With an app's key only what the customer may take. Each counts for a day, and once.",
            parameters: ["environment", "proof"], takes: "OfferSignatureRequest",
            answers: "OfferSignature"))
        },
        "/.well-known/jwks.json": {
          "get": {
            "operationId": "publishedKeys",
            "summary": "The keys by which tokens of customers are checked (RFC 7517)",
            "responses": {
              "200": {
                "description": "Ask again where a token names a key that is not among them.",
                "content": {
                  "application/json": { "schema": { "$ref": "#/components/schemas/TokenKeySet" } }
                }
              },
              "default": { "$ref": "#/components/responses/problem" }
            }
          }
        }
        """

    static let offerSchemas = [
        object("OfferList", ["items": list(of: "CustomerOffer")], required: 1),
        object(
            "CustomerOffer",
            [
                "product_id": text, "kind": text, "eligible": flag, "why": text, "reason": text,
                "offer_id": text,
            ], required: 5),
        object(
            "OfferSignatureRequest",
            [
                "customer_id": text, "product_id": text,
                "kind": #"{ "enum": ["promotional", "promotional_v1", "introductory"] }"#,
                "offer_id": text, "app_account_token": text, "transaction_id": text,
            ], required: 3),
        object(
            "OfferSignature",
            [
                "key_id": text, "nonce": text, "at": time, "timestamp": #"{ "type": "integer" }"#,
                "signature": text, "compact_jws": text, "allows_introductory": flag,
            ], required: 3),
        object("TokenKeySet", ["keys": list(of: "TokenKey")], required: 1),
        object(
            "TokenKey",
            [
                "kid": text, "kty": text, "crv": text, "alg": text, "use": text, "x": text,
                "y": text,
            ], required: 7),
    ]
}
