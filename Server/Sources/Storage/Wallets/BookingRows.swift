import Ledger

/// A debit or a manual credit, as reported to the client.
package struct StoredBooking: Hashable, Sendable {
    package var booking: Booking
    package var customer: CustomerID
    package var environment: Environment
    /// The balance of the wallet after the booking.
    package var balance: Int64

    package init(
        _ booking: Booking, of customer: CustomerID, in environment: Environment, balance: Int64
    ) {
        self.booking = booking
        self.customer = customer
        self.environment = environment
        self.balance = balance
    }

    package var balanceBefore: Int64 { balance - booking.signedAmount }
}

/// The sum of a wallet's bookings.
package struct Spending: Hashable, Sendable {
    /// The sum of the debits minus the sum of the manual credits.
    package var amount: Int64
    package var lastAt: Instant
}

/// Debits of wallets, and manual credits.
package struct BookingRows: RowGroup {
    package let tx: DatabaseSession
}

/// The table `debits`, which also contains the manual credits.
extension BookingRows {
    /// All debits and manual credits of a customer in one currency, ordered by time.
    package func all(
        of customer: CustomerID, _ currency: CurrencyID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Booking] {
        let bookings = try connection.rows(
            "SELECT \(Self.bookingColumns) FROM debits "
                + "WHERE app = $1 AND customer = $2 AND environment = $3 AND currency = $4",
            [
                .text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue),
                .text(currency.rawValue),
            ],
            Self.booking)
        return bookings.sorted { ($0.at, $0.id) < ($1.at, $1.id) }
    }

    /// The sum of a customer's bookings in each currency. Runs one query, however many bookings
    /// there are.
    package func spendings(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [CurrencyID: Spending] {
        var spendings: [CurrencyID: Spending] = [:]
        try connection.eachRow(
            // The cast makes both engines return a 64-bit integer.
            "SELECT currency, "
                + "CAST(sum(CASE WHEN is_credit = 1 THEN -amount ELSE amount END) AS BIGINT), "
                + "max(at_ms) FROM debits "
                + "WHERE app = $1 AND customer = $2 AND environment = $3 GROUP BY currency",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)]
        ) { row throws(StorageFailure) in
            let currency = CurrencyID(rawValue: try row.text())
            spendings[currency] = Spending(
                amount: try row.integer(), lastAt: try row.instant())
        }
        return spendings
    }

    /// A stored debit or manual credit. Returns nil if no debit or credit has the id.
    package func find(
        _ id: BookingID, in app: AppID
    ) throws(StorageFailure) -> StoredBooking? {
        try connection.firstRow(
            "SELECT \(Self.bookingColumns), customer, environment, balance FROM debits "
                + "WHERE app = $1 AND debit = $2",
            [.text(app.rawValue), .text(id.rawValue)]
        ) { row throws(StorageFailure) in
            StoredBooking(
                try Self.booking(&row), of: try row.customer(), in: try row.environment(),
                balance: try row.integer())
        }
    }

    /// Inserts a debit or a manual credit. The id of the debit or credit must be new.
    package func insert(_ kept: StoredBooking, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO debits (app, debit, environment, customer, currency, amount, reason, "
                + "at_ms, balance, is_credit) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            [
                .text(app.rawValue), .text(kept.booking.id.rawValue),
                .text(kept.environment.rawValue), .text(kept.customer.rawValue),
                .text(kept.booking.currency.rawValue), .integer(kept.booking.amount),
                .text(kept.booking.reason), .integer(kept.booking.at.milliseconds),
                .integer(kept.balance), .integer(kept.booking.kind == .credit ? 1 : 0),
            ])
    }

    private static let bookingColumns = "is_credit, debit, currency, amount, reason, at_ms"

    /// Reads the `bookingColumns`.
    private static func booking(_ row: inout ColumnReader) throws(StorageFailure) -> Booking {
        Booking(
            try row.flag() ? .credit : .debit, id: BookingID(rawValue: try row.text()),
            currency: CurrencyID(rawValue: try row.text()), amount: try row.integer(),
            reason: try row.text(), at: try row.instant())
    }
}
