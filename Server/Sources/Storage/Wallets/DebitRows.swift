import Ledger

/// A debit, as reported to the client.
package struct StoredDebit: Hashable, Sendable {
    package var debit: Debit
    package var customer: CustomerID
    package var environment: Environment
    /// The balance of the wallet after the debit.
    package var balance: Int64

    package init(
        _ debit: Debit, of customer: CustomerID, in environment: Environment, balance: Int64
    ) {
        self.debit = debit
        self.customer = customer
        self.environment = environment
        self.balance = balance
    }
}

/// The total amount that was debited in one currency.
package struct Spending: Hashable, Sendable {
    package var amount: Int64
    package var lastAt: Instant
}

extension DatabaseSession {
    /// All debits of a customer in one currency, ordered by time.
    package func debits(
        of customer: CustomerID, _ currency: CurrencyID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Debit] {
        let rows = try connection.rows(
            "SELECT \(Self.debitColumns) FROM debits "
                + "WHERE app = $1 AND customer = $2 AND environment = $3 AND currency = $4",
            [
                .text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue),
                .text(currency.rawValue),
            ])
        var debits: [Debit] = []
        for row in rows { debits.append(try Self.debit(row)) }
        return debits.sorted { ($0.at, $0.id) < ($1.at, $1.id) }
    }

    /// The total debits of a customer in each currency. One query, however many debits there are.
    package func spendings(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [CurrencyID: Spending] {
        let rows = try connection.rows(
            // The cast makes both engines return a 64-bit integer.
            "SELECT currency, CAST(sum(amount) AS BIGINT), max(at_ms) FROM debits "
                + "WHERE app = $1 AND customer = $2 AND environment = $3 GROUP BY currency",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)])
        var spendings: [CurrencyID: Spending] = [:]
        for row in rows {
            spendings[CurrencyID(rawValue: try row.text(0))] = Spending(
                amount: try row.integer(1), lastAt: Instant(milliseconds: try row.integer(2)))
        }
        return spendings
    }

    /// A stored debit. Returns nil if there is none.
    package func debit(_ id: DebitID, in app: AppID) throws(StorageFailure) -> StoredDebit? {
        let rows = try connection.rows(
            "SELECT \(Self.debitColumns), customer, environment, balance FROM debits "
                + "WHERE app = $1 AND debit = $2",
            [.text(app.rawValue), .text(id.rawValue)])
        guard let row = rows.first else { return nil }
        return StoredDebit(
            try Self.debit(row), of: CustomerID(rawValue: try row.text(5)),
            in: try Environment.stored(try row.text(6)), balance: try row.integer(7))
    }

    func insertDebit(_ kept: StoredDebit, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO debits (app, debit, environment, customer, currency, amount, reason, "
                + "at_ms, balance) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                .text(app.rawValue), .text(kept.debit.id.rawValue),
                .text(kept.environment.rawValue), .text(kept.customer.rawValue),
                .text(kept.debit.currency.rawValue), .integer(kept.debit.amount),
                .text(kept.debit.reason), .integer(kept.debit.at.milliseconds),
                .integer(kept.balance),
            ])
    }

    private static let debitColumns = "debit, currency, amount, reason, at_ms"

    /// Reads a debit from a row that begins with the columns above.
    private static func debit(_ row: Row) throws(StorageFailure) -> Debit {
        Debit(
            id: DebitID(rawValue: try row.text(0)), currency: CurrencyID(rawValue: try row.text(1)),
            amount: try row.integer(2), reason: try row.text(3),
            at: Instant(milliseconds: try row.integer(4)))
    }
}
