import Ledger

/// Wallets of customers, and their last reported balances.
package struct WalletRows: RowGroup {
    package let tx: DatabaseSession

    /// The customer in whose wallets a purchase counts, according to the stored rows. Returns nil
    /// if the app has no wallets.
    func customer(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard rules.wallets[app] != nil, let known = try tx.purchases.reported(purchase, in: app)
        else {
            return nil
        }
        return try tx.ownership.beneficiary(
            known.customer, token: known.timeline.accountToken, in: app)
    }

    // MARK: - Rows

    /// Computes a customer's wallets from the stored rows. Returns nil if the app has no wallets.
    func projection(
        of customer: CustomerID, in app: AppID, _ environment: Environment
    ) throws(StorageFailure) -> WalletProjection? {
        guard let rules = rules.wallets[app] else { return nil }
        let known = try tx.customers.find(known: customer, in: app)
        var timelines = try tx.links.timelines(of: customer, in: app, environment: environment)
        timelines += try tx.accountTokens.timelines(
            known?.ids ?? [], in: app, environment: environment)
        var bookings: [CurrencyID: [Booking]] = [:]
        for currency in rules.allCurrencies {
            bookings[currency] = try tx.bookings.all(
                of: customer, currency, in: app, environment: environment)
        }
        return WalletProjection(
            of: customer, in: app, environment, rules, timelines, bookings,
            told: try reportedBalances(of: customer, in: app, environment))
    }

    /// The last reported balances.
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

    func save(
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

    func save(_ wallet: WalletProjection, in app: AppID) throws(StorageFailure) {
        try save(wallet.reportedBalances, of: wallet.customer, in: app, wallet.environment)
    }
}
