import Ledger

/// Somebody at whose terms it is time to look.
package struct TermWatch: Hashable, Sendable {
    /// A customer, or an account token that a purchase of nobody's names.
    package var subject: CustomerID
    package var environment: Environment
}

/// By which rules an app's customers are watched, and whether all of them are already.
package struct ReminderStanding: Hashable, Sendable {
    package var rules: String
    package var isSweeping: Bool
}

extension StoreTransaction {
    /// Customers, and account tokens, that are put on watch at a time where the rules have changed.
    private static let sweptAtOnce = 1_000

    // MARK: - Watching

    /// Lets those whom a purchase answers for be looked at, where it is a term's; but nobody by the
    /// account token of somebody who was erased.
    func watchTerms(of purchase: ToldPurchase) throws(StorageFailure) {
        let (app, id) = (purchase.app, purchase.timeline.purchase)
        guard rules.reminding.contains(app), purchase.timeline.hasTerms else { return }
        if let owner = purchase.customer {
            try watchTerms(of: owner, in: app, id.environment)
        } else if let token = purchase.timeline.accountToken, tokensNameCustomers(in: app),
            try !isErased(token: token, in: app)
        {
            try watchTerms(of: CustomerID(rawValue: token), in: app, id.environment)
        }
        let sharers = try connection.rows(
            "SELECT customer FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: id, in: app))
        for row in sharers {
            try watchTerms(of: CustomerID(rawValue: row.text(0)), in: app, id.environment)
        }
    }

    func watchTerms(
        of subject: CustomerID, in app: AppID, _ environment: Environment
    ) throws(StorageFailure) {
        guard rules.reminding.contains(app) else { return }
        try connection.run(
            "INSERT INTO term_watches (app, subject, environment, due_at_ms) "
                + "VALUES ($1, $2, $3, 0) ON CONFLICT (app, subject, environment) "
                + "DO UPDATE SET due_at_ms = 0",
            [.text(app.rawValue), .text(subject.rawValue), .text(environment.rawValue)])
    }

    /// Takes those who are to be looked at, the longest due first; passes over those that another
    /// server is looking at.
    package func dueTermWatches(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> [TermWatch] {
        let rows = try connection.rows(
            "SELECT subject, environment FROM term_watches WHERE app = $1 AND due_at_ms <= $2 "
                + "ORDER BY due_at_ms LIMIT $3 " + dialect.takingFreeRows,
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))])
        var watches: [TermWatch] = []
        for row in rows {
            watches.append(
                TermWatch(
                    subject: CustomerID(rawValue: try row.text(0)),
                    environment: try Environment.stored(try row.text(1))))
        }
        return watches
    }

    package func hasDueTermWatches(
        of app: AppID, dueBy now: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT subject FROM term_watches WHERE app = $1 AND due_at_ms <= $2 LIMIT 1",
            [.text(app.rawValue), .integer(now.milliseconds)]
        ).isEmpty
    }

    /// - Parameter next: when to look again; nil: not before something changes.
    package func looked(
        at watch: TermWatch, in app: AppID, next: Instant?
    ) throws(StorageFailure) {
        let key: [Value] = [
            .text(app.rawValue), .text(watch.subject.rawValue), .text(watch.environment.rawValue),
        ]
        guard let next else {
            try connection.run(
                "DELETE FROM term_watches WHERE app = $1 AND subject = $2 AND environment = $3",
                key)
            return
        }
        try connection.run(
            "UPDATE term_watches SET due_at_ms = $1 "
                + "WHERE app = $2 AND subject = $3 AND environment = $4",
            [.integer(next.milliseconds)] + key)
    }

    // MARK: - Telling

    /// What was told before the ends of terms, by any of these names, and when.
    package func toldReminders(
        of subjects: Set<CustomerID>, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [TermEnding.Name: Instant] {
        var told: [TermEnding.Name: Instant] = [:]
        for subject in subjects.sorted() {
            let rows = try connection.rows(
                "SELECT chain, until_ms, days_before, told_at_ms FROM reminders "
                    + "WHERE app = $1 AND subject = $2 AND environment = $3",
                [.text(app.rawValue), .text(subject.rawValue), .text(environment.rawValue)])
            for row in rows {
                let name = TermEnding.Name(
                    chain: try row.text(0), until: Instant(milliseconds: try row.integer(1)),
                    daysBefore: Int(try row.integer(2)))
                told[name] = Instant(milliseconds: try row.integer(3))
            }
        }
        return told
    }

    /// Tells that a term will be over. Not to be repeated: look whether it was told.
    ///
    /// - Parameter customer: nil while the purchase is nobody's.
    package func tell(
        _ reminder: TermReminder, to customer: CustomerID?, watch: TermWatch, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        let ending = reminder.ending
        try connection.run(
            "INSERT INTO reminders (app, subject, environment, chain, until_ms, days_before, "
                + "told_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            [
                .text(app.rawValue), .text((customer ?? watch.subject).rawValue),
                .text(watch.environment.rawValue), .text(ending.chain),
                .integer(ending.until.milliseconds), .integer(Int64(ending.daysBefore)),
                .integer(now.milliseconds),
            ])
        try tellEnding(reminder, to: customer, token: watch.subject, in: app, at: now)
    }

    // MARK: - People

    /// What either was told the one customer was told, who may have more terms than either had.
    func mergeReminders(
        of other: CustomerID, into customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO reminders (app, subject, environment, chain, until_ms, days_before, "
                + "told_at_ms) SELECT app, $1, environment, chain, until_ms, days_before, "
                + "told_at_ms FROM reminders WHERE app = $2 AND subject = $3 "
                + "ON CONFLICT (app, subject, environment, chain, until_ms, days_before) "
                + "DO NOTHING",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        try forgetReminders(of: [other], in: app)
        for environment in Environment.allCases {
            try watchTerms(of: customer, in: app, environment)
        }
    }

    func forgetReminders(
        of subjects: [CustomerID], in app: AppID
    ) throws(StorageFailure) {
        for table in ["reminders", "term_watches"] {
            try connection.runEach(
                "DELETE FROM \(table) WHERE app = $1 AND subject = $2",
                subjects.map { [.text(app.rawValue), .text($0.rawValue)] })
        }
    }

    // MARK: - Rules

    package func reminderStanding(
        of app: AppID
    ) throws(StorageFailure) -> ReminderStanding? {
        let rows = try connection.rows(
            "SELECT rules, swept_to FROM reminder_rules WHERE app = $1", [.text(app.rawValue)])
        guard let row = rows.first else { return nil }
        return ReminderStanding(
            rules: try row.text(0), isSweeping: try row.optionalText(1) != nil)
    }

    /// Lets everybody be looked at by other rules.
    package func beginReminders(by rules: String, of app: AppID) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO reminder_rules (app, rules, swept_to) VALUES ($1, $2, '') "
                + "ON CONFLICT (app) DO UPDATE SET rules = excluded.rules, swept_to = ''",
            [.text(app.rawValue), .text(rules)])
    }

    /// Puts some more of an app's customers on watch, and of the account tokens that its purchases
    /// carry, in the order of their names. Returns how many were passed; 0 at the end, or where
    /// another server is at it.
    package func sweepTerms(of app: AppID) throws(StorageFailure) -> Int {
        let rows = try connection.rows(
            "SELECT swept_to FROM reminder_rules WHERE app = $1 AND swept_to IS NOT NULL "
                + dialect.takingFreeRows, [.text(app.rawValue)])
        guard let sweptTo = try rows.first?.text(0) else { return 0 }
        let subjects = try subjects(of: app, after: CustomerID(rawValue: sweptTo))
        try connection.run(
            "UPDATE reminder_rules SET swept_to = $1 WHERE app = $2",
            [.text(subjects.last?.rawValue), .text(app.rawValue)])
        guard let last = subjects.last else { return 0 }
        let places = [
            ("links", "customer"), ("shares", "customer"), ("purchases", "account_token"),
        ]
        for (table, subject) in places {
            try connection.run(
                "INSERT INTO term_watches (app, subject, environment, due_at_ms) "
                    + "SELECT DISTINCT app, \(subject), environment, 0 FROM \(table) "
                    + "WHERE app = $1 AND \(subject) > $2 AND \(subject) <= $3 "
                    + "ON CONFLICT (app, subject, environment) DO UPDATE SET due_at_ms = 0",
                [.text(app.rawValue), .text(sweptTo), .text(last.rawValue)])
        }
        return subjects.count
    }

    /// The names that come next, of customers and as account tokens.
    private func subjects(
        of app: AppID, after name: CustomerID
    ) throws(StorageFailure) -> [CustomerID] {
        var subjects = Set(try customers(of: app, after: name, limit: Self.sweptAtOnce))
        let tokens = try connection.rows(
            "SELECT DISTINCT account_token FROM purchases WHERE app = $1 AND account_token > $2 "
                + "ORDER BY account_token LIMIT $3",
            [.text(app.rawValue), .text(name.rawValue), .integer(Int64(Self.sweptAtOnce))])
        for row in tokens { subjects.insert(CustomerID(rawValue: try row.text(0))) }
        return Array(subjects.sorted().prefix(Self.sweptAtOnce))
    }
}
