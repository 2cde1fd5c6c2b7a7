import Ledger

/// All that a customer's wallets of one environment follow from, and what was told of them.
struct Purse {
    var customer: CustomerID
    var environment: Environment
    private(set) var told: [CurrencyID: Int64]
    private let app: AppID
    private let rules: WalletRules
    private let debits: [CurrencyID: [Debit]]
    private var timelines: [PurchaseID: Timeline]

    fileprivate init(
        of customer: CustomerID, in app: AppID, _ environment: Environment, _ rules: WalletRules,
        _ timelines: [Timeline], _ debits: [CurrencyID: [Debit]], told: [CurrencyID: Int64]
    ) {
        (self.customer, self.app, self.environment) = (customer, app, environment)
        (self.rules, self.debits, self.told) = (rules, debits, told)
        self.timelines = Dictionary(
            timelines.map { ($0.purchase, $0) }, uniquingKeysWith: { one, _ in one })
    }

    /// What is told with each event.
    struct Telling {
        var cause: EventEntry.Cause
        var at: Instant
        /// Of the purchase that is news, as it was told.
        var condition: Condition? = nil
        var other: CustomerID? = nil
    }

    func balance(of currency: CurrencyID) -> Int64 { wallet(currency).balance }

    /// Takes a purchase out without a word: it is put in again later.
    mutating func leaveOut(_ purchase: PurchaseID) { timelines[purchase] = nil }

    /// Puts a purchase in without a word.
    mutating func putBack(_ timeline: Timeline) { timelines[timeline.purchase] = timeline }

    /// Puts in what has become of a purchase, and returns what is to be told of it.
    ///
    /// - Parameter later: nil: it is theirs no more.
    mutating func put(
        _ later: Timeline?, of purchase: PurchaseID, _ telling: Telling
    ) -> [EventEntry] {
        let former = timelines[purchase]
        let currencies = [former, later].compactMap(\.self)
            .reduce(into: Set<CurrencyID>()) { $0.formUnion(rules.currencies(of: $1)) }.sorted()
        let before = currencies.map(wallet)
        timelines[purchase] = later
        let news = later ?? former
        return zip(currencies, before).flatMap { currency, before in
            tell(currency, from: before, about: news, telling)
        }
    }

    /// Tells what is another than was told, whatever made it so.
    mutating func adjust(_ telling: Telling) -> [EventEntry] {
        rules.all.sorted().flatMap { tell($0, from: wallet($0), about: nil, telling) }
    }

    private func wallet(_ currency: CurrencyID) -> Wallet {
        Wallet(
            of: currency, timelines.values.flatMap { $0.periods.map(\.payment) },
            debits[currency] ?? [], rules: rules)
    }

    /// Each event begins with the balance that was told last, and the last one ends with what is in
    /// the wallet. Where the balance is not the one that was told, as after another configuration,
    /// one event leads there.
    private mutating func tell(
        _ currency: CurrencyID, from before: Wallet, about timeline: Timeline?, _ telling: Telling
    ) -> [EventEntry] {
        let after = wallet(currency)
        var balance = told[currency] ?? 0
        guard balance == before.balance else {
            guard balance != after.balance else { return [] }
            told[currency] = after.balance
            let change = WalletChange(
                currency, in: environment, before: balance, after: after.balance)
            return [entry(.walletAdjusted, at: telling.at, change, nil, nil, telling)]
        }
        return before.steps(to: after).map { step in
            let change = WalletChange(
                currency, in: environment, before: balance, after: balance + step.amount)
            balance += step.amount
            told[currency] = balance
            // The line has the refund's date, and no document says when that was reversed.
            let moment = step.kind == .walletRestored ? telling.at : step.at
            return entry(step.kind, at: moment, change, step.cause, timeline, telling)
        }
    }

    private func entry(
        _ kind: Change.Kind, at moment: Instant, _ wallet: WalletChange, _ cause: Wallet.Cause?,
        _ timeline: Timeline?, _ telling: Telling
    ) -> EventEntry {
        var change = Change(kind, at: moment)
        change.wallet = wallet
        var purchase: PurchaseID?
        if case .purchase(let transaction, let product)? = cause {
            (change.transaction, change.product) = (transaction, product)
        } else if case .refund(let transaction, let product)? = cause {
            (change.transaction, change.product) = (transaction, product)
        }
        // What it does to the refund of another purchase is not about that one.
        if let timeline, let transaction = change.transaction,
            timeline.periods.contains(where: { $0.payment.transaction == transaction })
        {
            purchase = timeline.purchase
            (change.before, change.after) = (telling.condition, telling.condition)
        }
        return EventEntry(
            app: app, customer: customer, purchase: purchase, change: change,
            toldAt: telling.at, cause: telling.cause, other: telling.other)
    }
}

extension StoreTransaction {
    /// Whose wallets a purchase counts in, as the rows are now. Nil where the app has none.
    func walletHolder(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard rules.wallets[app] != nil, let known = try toldPurchase(purchase, in: app) else {
            return nil
        }
        return try holder(known.customer, token: known.timeline.accountToken, in: app)
    }

    // MARK: - Rows

    /// As the rows are now. Nil where the app has no wallets.
    func purse(
        of customer: CustomerID, in app: AppID, _ environment: Environment
    ) throws(StorageFailure) -> Purse? {
        guard let rules = rules.wallets[app] else { return nil }
        let known = try self.customer(known: customer, in: app)
        var timelines = try timelines(of: customer, in: app, environment: environment)
        timelines += try namedTimelines(known?.ids ?? [], in: app, environment: environment)
        var debits: [CurrencyID: [Debit]] = [:]
        for currency in rules.all {
            debits[currency] = try self.debits(
                of: customer, currency, in: app, environment: environment)
        }
        return Purse(
            of: customer, in: app, environment, rules, timelines, debits,
            told: try toldWallets(of: customer, in: app, environment))
    }

    /// The balances that were told last.
    package func toldWallets(
        of customer: CustomerID, in app: AppID, _ environment: Environment
    ) throws(StorageFailure) -> [CurrencyID: Int64] {
        let rows = try connection.rows(
            "SELECT currency, balance FROM wallets "
                + "WHERE app = $1 AND customer = $2 AND environment = $3",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)])
        var told: [CurrencyID: Int64] = [:]
        for row in rows { told[CurrencyID(rawValue: try row.text(0))] = try row.integer(1) }
        return told
    }

    private func keep(
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

    func keep(_ purse: Purse, in app: AppID) throws(StorageFailure) {
        try keep(purse.told, of: purse.customer, in: app, purse.environment)
    }

    // MARK: - Telling

    /// Keeps a debit of a known customer, and tells it. Not to be repeated: look for it before.
    ///
    /// - Parameter key: by which the asker names it.
    package func spend(
        _ kept: KeptDebit, key: String?, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try add(kept, in: app)
        let debit = kept.debit
        let before = kept.balance + debit.amount
        let told = try toldWallets(of: kept.customer, in: app, kept.environment)[debit.currency]
        var entries: [EventEntry] = []
        if (told ?? 0) != before {
            var change = Change(.walletAdjusted, at: now)
            change.wallet = WalletChange(
                debit.currency, in: kept.environment, before: told ?? 0, after: before)
            entries.append(
                EventEntry(
                    app: app, customer: kept.customer, purchase: nil, change: change, toldAt: now,
                    cause: .request))
        }
        var change = Change(.walletDebited, at: debit.at)
        change.wallet = WalletChange(
            debit.currency, in: kept.environment, before: before, after: kept.balance,
            debit: debit.id, reason: debit.reason, key: key)
        entries.append(
            EventEntry(
                app: app, customer: kept.customer, purchase: nil, change: change, toldAt: now,
                cause: .request))
        try keep(
            [debit.currency: kept.balance], of: kept.customer, in: app, kept.environment)
        try append(entries)
    }

    /// Tells what it does to wallets that purchases, which named nobody who was known, count in a
    /// customer's from now on.
    ///
    /// - Parameter purchases: none of them is told of yet.
    func tellWallets(
        receiving purchases: [PurchaseID], by customer: CustomerID, in app: AppID,
        _ environment: Environment, other: CustomerID? = nil, at now: Instant
    ) throws(StorageFailure) {
        guard !purchases.isEmpty, var purse = try purse(of: customer, in: app, environment) else {
            return
        }
        for purchase in purchases { purse.leaveOut(purchase) }
        var entries: [EventEntry] = []
        for purchase in purchases {
            guard let known = try toldPurchase(purchase, in: app) else { continue }
            // It is the document that was paid with, unless somebody has had it before.
            let document = other == nil ? try self.document(attesting: purchase, in: app) : nil
            entries += purse.put(
                known.timeline, of: purchase,
                Purse.Telling(
                    cause: document.map { .document($0) } ?? .request, at: now,
                    condition: known.told?.condition, other: other))
        }
        try keep(purse, in: app)
        try append(entries)
    }

    /// Tells what it does to wallets that a purchase has gone from one customer to another, or to
    /// nobody. To be called when the rows say so.
    func tellWallets(
        of purchase: PurchaseID, from former: CustomerID?, to customer: CustomerID?,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let rules = rules.wallets[app], former != customer,
            let known = try toldPurchase(purchase, in: app),
            !rules.currencies(of: known.timeline).isEmpty
        else { return }
        if let former, var purse = try purse(of: former, in: app, purchase.environment) {
            purse.putBack(known.timeline)
            let entries = purse.put(
                nil, of: purchase,
                Purse.Telling(
                    cause: .request, at: now, condition: known.told?.condition, other: customer))
            try keep(purse, in: app)
            try append(entries)
        }
        if let customer {
            try tellWallets(
                receiving: [purchase], by: customer, in: app, purchase.environment, other: former,
                at: now)
        }
    }

    /// Tells what purchases that name an id are to its customer from now on.
    func tellWallets(
        named id: CustomerID, by customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let rules = rules.wallets[app], id.accountToken != nil else { return }
        for environment in Environment.allCases {
            let named = try namedTimelines([id], in: app, environment: environment)
                .filter { !rules.currencies(of: $0).isEmpty }
            try tellWallets(
                receiving: named.map(\.purchase), by: customer, in: app, environment, at: now)
        }
    }

    /// Tells what is another in a customer's wallets than was told.
    func adjustWallets(
        of customer: CustomerID, in app: AppID, from cause: EventEntry.Cause,
        other: CustomerID? = nil, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            guard var purse = try purse(of: customer, in: app, environment) else { return }
            let entries = purse.adjust(Purse.Telling(cause: cause, at: now, other: other))
            guard !entries.isEmpty else { continue }
            try keep(purse, in: app)
            try append(entries)
        }
    }

    private func toldPurchase(
        _ purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> ToldPurchase? {
        let rows = try connection.rows(
            "SELECT \(Self.toldColumns) FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
        return try rows.first.map { (row) throws(StorageFailure) in
            try Self.toldPurchase(purchase, in: app, row, at: 0)
        }
    }

    private func document(
        attesting purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [UInt8]? {
        try connection.rows(
            "SELECT document FROM facts WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "ORDER BY attested_at_ms, subject, document LIMIT 1",
            Self.key(of: purchase, in: app)
        ).first?.bytes(0)
    }
}
