extension Schema {
    /// What the devices of a customer have shown of a purchase that they own or share: when the
    /// newest document was signed, and whether that was after the purchase became theirs. No time
    /// means that it does not matter, or that it was before this was remembered.
    static func presentedDocumentColumns(_ type: Dialect) -> [String] {
        ["links", "shares"].flatMap { table in
            [
                "ALTER TABLE \(table) ADD COLUMN document_signed_at_ms \(type.integer)",
                "ALTER TABLE \(table) "
                    + "ADD COLUMN is_confirmed \(type.integer) NOT NULL DEFAULT 1",
            ]
        }
    }
}
