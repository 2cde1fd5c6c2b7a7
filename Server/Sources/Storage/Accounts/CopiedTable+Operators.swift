extension CopiedTable {
    /// Tables about the server as a whole: operators, the audit, and alerts.
    static let operators = [
        CopiedTable(
            name: "operators", key: ["app", "operator"],
            others: ["password", "created_at_ms", "signed_in_at_ms", "blocked_at_ms"]),
        CopiedTable(name: "operator_roles", key: ["app", "operator"], others: ["role"]),
        CopiedTable(
            name: "operator_sessions", key: ["app", "session"],
            others: ["operator", "created_at_ms", "used_at_ms", "until_ms", "address", "agent"]),
        CopiedTable(
            name: "operator_links", key: ["app", "link"],
            others: ["kind", "operator", "roles", "author", "created_at_ms", "until_ms"]),
        CopiedTable(
            name: "operator_identities", key: ["app", "issuer", "subject"],
            others: ["operator", "full_name", "created_at_ms"]),
        CopiedTable(
            name: "operator_passkeys", key: ["app", "passkey"],
            others: ["operator", "name", "public_key", "counter", "created_at_ms", "used_at_ms"]),
        CopiedTable(
            name: "operator_recovery_codes", key: ["app", "operator", "code"],
            others: ["created_at_ms", "used_at_ms"]),
        CopiedTable(name: "used_sign_ins", key: ["app", "sign_in"], others: ["until_ms"]),
        CopiedTable(
            name: "sign_in_failures", key: ["app", "subject"],
            others: ["failures", "last_at_ms", "shut_until_ms"]),
        CopiedTable(
            name: "sign_in_places", key: ["app", "operator", "network"], others: ["used_at_ms"]),
        CopiedTable(
            name: "audit_entries", key: ["app", "at_ms", "entry"],
            others: [
                "author", "act", "environment", "customer", "subject", "state_before",
                "state_after",
            ]),
        CopiedTable(
            name: "alerts", key: ["app", "subject"], others: ["since_ms", "seen_at_ms"]),
        CopiedTable(
            name: "alert_channels", key: ["app", "channel"],
            others: ["due_at_ms", "attempts", "trouble", "lease_until_ms", "lease_holder"]),
        CopiedTable(
            name: "alert_messages", key: ["app", "channel", "created_at_ms", "message"],
            others: ["content"]),
    ]
}
