import Ledger

/// The purchases and bookings from which a customer's wallets in one environment are computed.
package struct WalletContents: Sendable {
    /// The customer's purchases. A purchase that the customer has for two reasons occurs twice.
    package var timelines: [Timeline]
    package var bookings: [CurrencyID: [Booking]]
    package var reportedBalances: [CurrencyID: Int64]

    /// The payments of the purchases, each once.
    package var payments: [Payment] {
        var known: Set<PurchaseID> = []
        return timelines.filter { known.insert($0.purchase).inserted }
            .flatMap { $0.periods.map(\.payment) }
    }
}

/// The last reported balances of customers' wallets.
package struct WalletRows: RowGroup {
    package let tx: DatabaseSession

    /// The stored purchases and bookings of a customer, from which the wallets of some currencies
    /// are computed.
    package func contents(
        of customer: CustomerID, in app: AppID, _ environment: Environment,
        _ currencies: Set<CurrencyID>
    ) throws(StorageFailure) -> WalletContents {
        let known = try tx.customers.find(known: customer, in: app)
        var timelines = try tx.links.timelines(of: customer, in: app, environment: environment)
        timelines += try tx.accountTokens.timelines(
            known?.ids ?? [], in: app, environment: environment)
        var bookings: [CurrencyID: [Booking]] = [:]
        for currency in currencies {
            bookings[currency] = try tx.bookings.all(
                of: customer, currency, in: app, environment: environment)
        }
        return WalletContents(
            timelines: timelines, bookings: bookings,
            reportedBalances: try reportedBalances(of: customer, in: app, environment))
    }

    /// The last reported balances of a customer, by currency.
    package func reportedBalances(
        of customer: CustomerID, in app: AppID, _ environment: Environment
    ) throws(StorageFailure) -> [CurrencyID: Int64] {
        var told: [CurrencyID: Int64] = [:]
        try connection.eachRow(
            "SELECT currency, balance FROM wallets "
                + "WHERE app = $1 AND customer = $2 AND environment = $3",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)]
        ) { row throws(StorageFailure) in
            let currency = CurrencyID(rawValue: try row.text())
            told[currency] = try row.integer()
        }
        return told
    }

    /// Saves the last reported balances of some currencies.
    package func save(
        _ told: [CurrencyID: Int64], of customer: CustomerID, in app: AppID,
        _ environment: Environment
    ) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO wallets (app, customer, environment, currency, balance) "
                + "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (app, customer, environment, currency) "
                + "DO UPDATE SET balance = excluded.balance",
            told.sorted { $0.key < $1.key }.map { currency, balance in
                [
                    .text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue),
                    .text(currency.rawValue), .integer(balance),
                ]
            })
    }
}
