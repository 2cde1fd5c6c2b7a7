import Ledger

/// Reads a log from its beginning and checks its consistency.
private struct EventLogAudit {
    /// The state of one purchase according to the events so far.
    struct Trace {
        var after: PurchaseStatus?
        var money: [String: Int64] = [:]
    }

    /// The key of a customer's wallet.
    struct WalletKey: Hashable {
        var customer: CustomerID
        var environment: Environment
        var currency: CurrencyID
    }

    var traces: [PurchaseID: Trace] = [:]
    var balances: [WalletKey: Int64] = [:]
    /// The pseudonyms of erased customers.
    var erased: Set<CustomerID> = []
    private var numbers: [CustomerID: Int64] = [:]
    private var last: Int64 = 0

    /// Gives an entry the numbers that it will get as the next event.
    func numbered(_ entry: EventEntry) -> LoggedEvent {
        LoggedEvent(
            sequence: last + 1,
            customerSequence: entry.customer.map { numbers[$0, default: 0] + 1 }, entry: entry)
    }

    /// Checks the next event. Returns the problems found.
    mutating func check(_ event: LoggedEvent) -> [String] {
        var wrong: [String] = []
        let name = "event \(event.sequence) of \(event.entry.app)"
        if event.sequence != last + 1 { wrong.append("\(name) follows event \(last)") }
        last = event.sequence
        if let customer = event.entry.customer {
            let number = numbers[customer, default: 0] + 1
            if event.customerSequence != number {
                wrong.append("\(name) should be number \(number) of its customer")
            }
            numbers[customer] = number
        }
        if let what = check(wallet: event.entry) { wrong.append("\(name) \(what)") }
        guard let purchase = event.entry.purchase else { return wrong }
        let change = event.entry.change
        if traces[purchase, default: Trace()].after != change.before {
            wrong.append("\(name) does not start from the last status of its purchase")
        }
        traces[purchase, default: Trace()].after = change.after
        if change.kind == .purchaseForgotten { traces[purchase] = nil }
        if let money = change.money {
            traces[purchase, default: Trace()].money[money.currency, default: 0] +=
                money.milliunits
        }
        return wrong
    }

    private mutating func check(wallet entry: EventEntry) -> String? {
        if let other = entry.other, entry.change.kind == .customerErased { erased.insert(other) }
        if let gone = entry.other, entry.change.kind == .customerMerged {
            // The wallets of the merged customer belong to another customer from now on.
            balances = balances.filter { $0.key.customer != gone }
        }
        guard let wallet = entry.change.wallet else { return nil }
        guard let customer = entry.customer else { return "changes a wallet but has no customer" }
        let name = WalletKey(
            customer: customer, environment: wallet.environment, currency: wallet.currency)
        let last = balances.updateValue(wallet.after, forKey: name) ?? 0
        return last == wallet.before ? nil : "does not start from its wallet's last balance"
    }
}

/// Checks that the log, the wallets and the money agree with the stored rows.
package struct Consistency: RowGroup {
    package let tx: DatabaseSession

    private static let walkBatch = 500

    /// Checks the logs for inconsistencies. Events must be numbered without gaps. Each event must
    /// start from the status with which the previous event of its purchase ended. The last event of
    /// a purchase must end with the purchase's present status. The money of all events must add up
    /// to the money of the timeline. If a purchase was forgotten, its events begin anew. Events
    /// without numbers come after the numbered events, in the order of their positions. Uses a few
    /// bytes of memory per purchase.
    package func logDifferences() throws(StorageFailure) -> Differences {
        var differences = Differences()
        for app in try appsWithPurchases() {
            var walk = EventLogAudit()
            var last: Int64 = 0
            while true {
                let events = try tx.events.all(of: app, after: last, limit: Self.walkBatch)
                guard let end = events.last else { break }
                for event in events { differences.add(walk.check(event)) }
                last = end.sequence
            }
            if try tx.events.lastSequence(of: app) != last {
                differences.add(["the log of \(app) ends with event \(last)"])
            }
            try eachPending(of: app) { (entry) throws(StorageFailure) in
                differences.add(walk.check(walk.numbered(entry)))
            }
            try eachPurchase(of: app) { (id, row) throws(StorageFailure) in
                let trace = walk.traces.removeValue(forKey: id)
                do {
                    differences.add(
                        problems(
                            of: trace, beside: try PurchaseRows.reportedPurchase(id, in: app, &row))
                    )
                } catch {
                    _ = row.rest()
                    differences.add(["\(app) \(id) cannot be read: \(error)"])
                }
            }
            differences.add(
                try walletProblems(in: app, toldAs: walk.balances, erased: walk.erased))
            differences.add(
                walk.traces.filter { $0.value.after != nil }.map { purchase, _ in
                    "\(app) \(purchase) has events but is not stored"
                })
        }
        return differences
    }

    /// Finds wallets whose last event ends with a balance that differs from the stored balance or
    /// from the computed balance.
    private func walletProblems(
        in app: AppID, toldAs balances: [EventLogAudit.WalletKey: Int64], erased: Set<CustomerID>
    ) throws(StorageFailure) -> [String] {
        var wrong: [String] = []
        var rest = balances.filter { $0.value != 0 }
        var gone = erased
        try tx.customers.each(of: app) { (customer) throws(StorageFailure) in
            gone.remove(customer)
            for environment in Environment.allCases {
                let told = try tx.wallets.reportedBalances(of: customer, in: app, environment)
                for (currency, balance) in told {
                    let name = EventLogAudit.WalletKey(
                        customer: customer, environment: environment, currency: currency)
                    rest[name] = nil
                    if (balances[name] ?? 0) != balance {
                        wrong.append(
                            "the events of \(currency) of \(customer) end with another balance")
                    }
                }
                wrong += walletProblems(of: customer, in: app, environment, otherThan: told)
            }
        }
        // If an erased customer had no consumables, none of the customer's wallets remain.
        rest = rest.filter { !gone.contains($0.key.customer) }
        return wrong
            + rest.map {
                "the wallet \($0.key.currency) of \($0.key.customer) is not stored"
            }
    }

    private func walletProblems(
        of customer: CustomerID, in app: AppID, _ environment: Environment,
        otherThan told: [CurrencyID: Int64]
    ) -> [String] {
        do {
            guard let rules = rules.wallets[app] else { return [] }
            let contents = try tx.wallets.contents(
                of: customer, in: app, environment, rules.allCurrencies)
            let payments = contents.payments
            return rules.allCurrencies.sorted().filter { currency in
                let bookings = contents.bookings[currency] ?? []
                return Wallet(of: currency, payments, bookings, rules: rules).balance
                    != told[currency] ?? 0
            }.map { "the last reported balance of wallet \($0) of \(customer) is wrong" }
        } catch {
            return ["the wallets of \(customer) cannot be read: \(error)"]
        }
    }

    private func problems(
        of trace: EventLogAudit.Trace?, beside purchase: ReportedPurchase
    ) -> [String] {
        let name = "\(purchase.app) \(purchase.timeline.purchase)"
        guard let trace, let told = purchase.reportedState else { return ["\(name) has no events"] }
        var wrong: [String] = []
        if told.status != trace.after {
            wrong.append("the log of \(name) ends with another status than was reported")
        }
        if purchase.timeline.status(
            at: told.until, rules: rules.access(of: purchase.app))
            != told.status
        {
            wrong.append("\(name) has another status than was reported")
        }
        let money = trace.money.filter { $0.value != 0 }
        if money != purchase.timeline.netAmounts.filter({ $0.value != 0 }) {
            wrong.append("the money of \(name) differs from its events")
        }
        return wrong
    }

    private func appsWithPurchases() throws(StorageFailure) -> [AppID] {
        let known = try connection.rows(
            "SELECT DISTINCT app FROM purchases UNION SELECT app FROM logs ORDER BY app", []
        ) { row throws(StorageFailure) in try row.app() }
        return Set(known + (try tx.pendingEvents.apps())).sorted()
    }

    private func eachPending(
        of app: AppID, _ body: (EventEntry) throws(StorageFailure) -> Void
    ) throws(StorageFailure) {
        var last: Int64 = 0
        while true {
            let batch = try tx.pendingEvents.all(of: app, after: last, limit: Self.walkBatch)
            guard let end = batch.last else { return }
            for pending in batch { try body(try pending.event.entry) }
            last = end.position
        }
    }

    private func eachPurchase(
        of app: AppID, _ body: (PurchaseID, inout ColumnReader) throws(StorageFailure) -> Void
    ) throws(StorageFailure) {
        var last: [Value] = [.text(""), .text("")]
        while true {
            let rows = try connection.rows(
                "SELECT purchases.environment, purchases.purchase, \(PurchaseRows.reportedColumns) "
                    + "FROM \(PurchaseRows.purchasesWithOwners) WHERE purchases.app = $1 "
                    + "AND (purchases.environment, purchases.purchase) > ($2, $3) "
                    + "ORDER BY purchases.environment, purchases.purchase LIMIT $4",
                [.text(app.rawValue)] + last + [.integer(Int64(Self.walkBatch))])
            guard let end = rows.last else { return }
            for row in rows {
                try row.read { row throws(StorageFailure) in try body(try row.purchase(), &row) }
            }
            last = Array(end.values.prefix(2))
        }
    }
}
