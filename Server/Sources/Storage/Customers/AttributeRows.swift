import Ledger

/// What apps say about customers.
package struct AttributeRows: RowGroup {
    package let tx: DatabaseSession

    /// All attributes of a customer, ordered by name. Includes deleted attributes that are still
    /// stored.
    package func all(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [CustomerAttribute] {
        try connection.rows(
            "SELECT name, value, updated_at_ms, author FROM customer_attributes "
                + "WHERE app = $1 AND customer = $2 ORDER BY name",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in
            CustomerAttribute(
                name: try row.text(), value: try row.optionalText(), updatedAt: try row.instant(),
                author: try Self.author(try row.text()))
        }
    }

    /// The attributes of several customers, by the customer.
    package func all(
        of customers: Set<CustomerID>, in app: AppID
    ) throws(StorageFailure) -> [CustomerID: [CustomerAttribute]] {
        var found: [CustomerID: [CustomerAttribute]] = [:]
        for customer in customers { found[customer] = try all(of: customer, in: app) }
        return found
    }

    private static func author(
        _ text: String
    ) throws(StorageFailure) -> CustomerAttribute.Author {
        guard let author = CustomerAttribute.Author(rawValue: text) else {
            throw StorageFailure(
                "unknown author of an attribute \(text): use a newer version of Perennial")
        }
        return author
    }

    /// The customers who have a mail address, ignoring the case of ASCII letters.
    package func customers(
        withMailAddress text: String, in app: AppID, limit: Int
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rows(
            Self.selectByMailAddress,
            [
                .text(app.rawValue), .text(CustomerAttribute.comparable(mailAddress: text)),
                .integer(Int64(limit)),
            ]
        ) { row throws(StorageFailure) in try row.customer() }
    }

    static let selectByMailAddress =
        "SELECT customer FROM customer_attributes WHERE app = $1 AND mail_address = $2 "
        + "AND mail_address IS NOT NULL ORDER BY customer LIMIT $3"

    /// Replaces all attributes of a known customer. Idempotent.
    package func replace(
        _ attributes: [CustomerAttribute], of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try delete(of: customer, in: app)
        try connection.runEach(
            "INSERT INTO customer_attributes (app, customer, name, value, updated_at_ms, author, "
                + "mail_address) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            attributes.map { attribute in
                [
                    .text(app.rawValue), .text(customer.rawValue), .text(attribute.name),
                    .text(attribute.value), .integer(attribute.updatedAt.milliseconds),
                    .text(attribute.author.rawValue), .text(attribute.comparableMailAddress),
                ]
            })
    }

    /// Gives the attributes of a customer to another customer, by
    /// ``CustomerAttribute/merged(_:with:keepsOwn:)``.
    package func merge(
        of other: CustomerID, into customer: CustomerID, in app: AppID, keepsOwn: Bool
    ) throws(StorageFailure) {
        let theirs = try all(of: other, in: app)
        guard !theirs.isEmpty else { return }
        let own = try all(of: customer, in: app)
        try delete(of: other, in: app)
        try replace(
            CustomerAttribute.merged(own, with: theirs, keepsOwn: keepsOwn), of: customer, in: app)
    }

    /// Deletes all attributes of a customer.
    package func delete(of customer: CustomerID, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM customer_attributes WHERE app = $1 AND customer = $2",
            [.text(app.rawValue), .text(customer.rawValue)])
    }
}

extension CustomerAttribute {
    fileprivate var comparableMailAddress: String? {
        name == Self.mailAddress ? value.map(Self.comparable) : nil
    }
}
