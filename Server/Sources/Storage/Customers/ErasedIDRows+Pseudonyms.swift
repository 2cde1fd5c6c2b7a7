import Ledger

// Consumables that an erased customer used up must stay used up. Without this rule, a person could
// erase an account, post the same consumable again, and receive it twice. So these purchases stay
// linked to the pseudonym that replaced the customer's id in existing events. The debits and the
// manual credits stay with the purchases. A pseudonym is a row of `customers` without a row in
// `customer_ids`. A pseudonym cannot be queried or merged, cannot spend, and reveals nothing about
// the person. Refunds still change its wallets, so that the log stays consistent.
extension ErasedIDRows {
    /// Returns whether a customer is the pseudonym of an erased customer, whose consumables stay
    /// used up.
    package func isPseudonym(
        _ customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Bool {
        let owner: [Value] = [.text(app.rawValue), .text(customer.rawValue)]
        let ids = try connection.rows(
            "SELECT id FROM customer_ids WHERE app = $1 AND customer = $2 LIMIT 1", owner)
        guard ids.isEmpty else { return false }
        return try !connection.rows(
            "SELECT customer FROM customers WHERE app = $1 AND customer = $2", owner
        ).isEmpty
    }

    /// - Throws: ``StorageFailure`` of kind `erased` if the id is the pseudonym of an erased
    ///   customer.
    package func requireNoPseudonym(_ id: CustomerID, in app: AppID) throws(StorageFailure) {
        if try isPseudonym(id, in: app) { throw StorageFailure(id.rawValue, kind: .erased) }
    }
}
