/// Tokens, with which anybody can verify a customer's entitlements, and offers.
extension OpenAPI {
    static let offerPaths = """
        "/v1/customers/{id}/offers": {
        \(operation(
            "get", "offers", "Which offers the customer is eligible for, and why",
            "As far as the server knows; the App Store decides.",
            parameters: ["customer", "environment", "proof"], answers: "OfferList"))
        },
        "/v1/offers/signatures": {
        \(operation(
            "post", "signOffer", "Sign an offer for StoreKit",
            "App keys can only sign offers the customer is eligible for. Valid for one day, once.",
            parameters: ["environment", "proof"], takes: "OfferSignatureRequest",
            answers: "OfferSignature"))
        },
        "/.well-known/jwks.json": {
          "get": {
            "operationId": "publishedKeys",
            "summary": "The keys for verifying customers' tokens (RFC 7517)",
            "responses": {
              "200": {
                "description": "Fetch them again if a token names another key.",
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
                "product_id": text, "kind": text, "offer_id": textOrNull, "eligible": flag,
                "why": text, "reason": text,
            ], required: 6),
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
                "key_id": text, "nonce": text, "at": time,
                "timestamp": #"{ "type": ["integer", "null"] }"#, "signature": textOrNull,
                "compact_jws": textOrNull,
                "allows_introductory": #"{ "type": ["boolean", "null"] }"#,
            ], required: 7),
        object("TokenKeySet", ["keys": list(of: "TokenKey")], required: 1),
        object(
            "TokenKey",
            [
                "kid": text, "kty": text, "crv": text, "alg": text, "use": text, "x": text,
                "y": text,
            ], required: 7),
    ]
}
