extension OpenAPI {
    static let text = #"{ "type": "string" }"#
    static let textOrNull = #"{ "type": ["string", "null"] }"#
    static let flag = #"{ "type": "boolean" }"#
    private static let texts = #"{ "type": "array", "items": { "type": "string" } }"#
    static let time = ##"{ "$ref": "#/components/schemas/Timestamp" }"##
    private static let timeOrNull = #"{ "anyOf": [\#(time), { "type": "null" }] }"#
    private static let environment = ##"{ "$ref": "#/components/schemas/StoreEnvironment" }"##

    private static let advice = ##"{ "$ref": "#/components/schemas/Advice" }"##

    static func list(of schema: String) -> String {
        ##"{ "type": "array", "items": { "$ref": "#/components/schemas/\##(schema)" } }"##
    }

    /// The schema of an object. The first `required` members are always present.
    static func object(
        _ name: String, _ members: KeyValuePairs<String, String>, required: Int
    ) -> String {
        let properties = members.map { #""\#($0.key)": \#($0.value)"# }
        let always = members.prefix(required).map { #""\#($0.key)""# }
        return """
            "\(name)": {
              "type": "object",
              "required": [\(always.joined(separator: ", "))],
              "properties": { \(properties.joined(separator: ",\n")) }
            }
            """
    }

    static let identitySchemas = (ownershipSchemas + supportSchemas).joined(separator: ",\n")

    private static let ownershipSchemas: [String] = [
        object(
            "PreviewRequest",
            [
                "customer_id": text, "signed_transactions": texts, "signed_renewal_infos": texts,
                "app_receipt": text, "transaction_receipt": text, "device_guid": text,
                "product_id": text,
            ], required: 1),
        object(
            "PurchasePreview",
            [
                "customer_id": text, "environment": environment, "purchases": list(of: "Shown"),
                "product": #"{ "anyOf": [\#(advice), { "type": "null" }] }"#,
            ], required: 4),
        object(
            "Shown",
            [
                "purchase_id": text, "original_transaction_id": text, "product_id": textOrNull,
                "active": flag, "owner": #"{ "enum": ["customer", "another", "nobody"] }"#,
                "owner_id": textOrNull,
                "outcome": #"{ "enum": ["nothing", "link", "move", "share", "refuse"] }"#,
                "why": textOrNull,
            ], required: 8),
        object("Advice", ["product_id": text, "buy": flag, "why": textOrNull], required: 3),
        object(
            "OwnershipRequest", ["original_transaction_id": text, "reason": text], required: 2),
        object(
            "Transfer",
            [
                "transfer_id": textOrNull, "original_transaction_id": text,
                "environment": environment, "kind": #"{ "enum": ["moved", "shared", null] }"#,
                "from": textOrNull, "to": text, "evidence": textOrNull, "reason": textOrNull,
                "at": timeOrNull, "undone_at": timeOrNull,
            ], required: 10),
        object("TransferList", ["items": list(of: "Transfer")], required: 1),
        object("Block", ["original_transaction_id": text, "blocked": flag], required: 2),
    ]

    private static let supportSchemas: [String] = [
        object(
            "GrantRequest", ["entitlement": text, "reason": text, "until": time], required: 2),
        object(
            "Grant",
            [
                "grant_id": text, "entitlement": text, "from": time, "until": timeOrNull,
                "reason": text, "withdrawn_at": timeOrNull,
            ], required: 6),
        object("GrantList", ["items": list(of: "Grant")], required: 1),
        object(
            "History", ["items": list(of: "HistoryLine"), "next_cursor": textOrNull], required: 2),
        object(
            "HistoryLine",
            [
                "at": time, "kind": text, "sentence": text, "purchase_id": textOrNull,
                "document_id": textOrNull, "reference": textOrNull,
            ], required: 6),
        object("CustomerList", ["items": list(of: "FoundCustomer")], required: 1),
        object(
            "FoundCustomer",
            [
                "customer_id": textOrNull, "aliases": texts, "by": text,
                "purchase_id": textOrNull,
            ], required: 4),
        object("Erasure", ["unlinked_purchases": #"{ "type": "integer" }"#], required: 1),
    ]
}
