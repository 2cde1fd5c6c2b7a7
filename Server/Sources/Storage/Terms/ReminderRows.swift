import Ledger

/// A subject whose terms need to be examined for reminders.
package struct TermWatch: Hashable, Sendable {
    /// A customer, or the account token of a purchase without an owner.
    package var subject: CustomerID
    package var environment: Environment
}

/// The rules by which an app's customers are examined, and the state of the sweep. A sweep examines
/// all customers once.
package struct ReminderProgress: Hashable, Sendable {
    package var rules: String
    package var isSweeping: Bool
}

/// Terms that end soon, and the reminders that were emitted.
package struct ReminderRows: RowGroup {
    package let tx: DatabaseSession

    /// The number of customers and account tokens that one step of the sweep handles.
    private static let sweepBatch = 1_000

    // MARK: - Watches

    /// Schedules an examination of everyone who benefits from a purchase, if the purchase contains
    /// terms. Skips account tokens of erased customers.
    package func watchTerms(of purchase: ReportedPurchase) throws(StorageFailure) {
        let (app, id) = (purchase.app, purchase.timeline.purchase)
        guard rules.appsWithReminders.contains(app), purchase.timeline.hasTerms else { return }
        if let owner = purchase.customer {
            try watchTerms(of: owner, in: app, id.environment)
        } else if let token = purchase.timeline.accountToken,
            tx.accountTokens.identifyCustomers(in: app),
            try !tx.erasedIDs.contains(token: token, in: app)
        {
            try watchTerms(of: CustomerID(rawValue: token), in: app, id.environment)
        }
        try connection.eachRow(
            "SELECT customer FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: id, in: app)
        ) { row throws(StorageFailure) in
            try watchTerms(of: try row.customer(), in: app, id.environment)
        }
    }

    /// Schedules an examination of a customer, or of an account token.
    package func watchTerms(
        of subject: CustomerID, in app: AppID, _ environment: Environment
    ) throws(StorageFailure) {
        guard rules.appsWithReminders.contains(app) else { return }
        try connection.run(
            "INSERT INTO term_watches (app, subject, environment, due_at_ms) "
                + "VALUES ($1, $2, $3, 0) ON CONFLICT (app, subject, environment) "
                + "DO UPDATE SET due_at_ms = 0",
            [.text(app.rawValue), .text(subject.rawValue), .text(environment.rawValue)])
    }

    /// Selects the subjects that are due for an examination, the longest overdue first. Skips
    /// subjects that another server has locked.
    package func dueWatches(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> [TermWatch] {
        try connection.rows(
            "SELECT subject, environment FROM term_watches WHERE app = $1 AND due_at_ms <= $2 "
                + "ORDER BY due_at_ms LIMIT $3 " + dialect.skippingLockedRows,
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            TermWatch(
                subject: try row.customer(), environment: try row.environment())
        }
    }

    /// Records that a subject was examined.
    ///
    /// - Parameter next: the time of the next examination; nil if only a change makes one
    ///   necessary.
    package func recordExamination(
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

    // MARK: - Reminders

    /// The reminders that were emitted for any of these subjects, and when.
    package func times(
        of subjects: Set<CustomerID>, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [TermEnding.Key: Instant] {
        var told: [TermEnding.Key: Instant] = [:]
        for subject in subjects.sorted() {
            try connection.eachRow(
                "SELECT chain, until_ms, days_before, emitted_at_ms FROM reminders "
                    + "WHERE app = $1 AND subject = $2 AND environment = $3",
                [.text(app.rawValue), .text(subject.rawValue), .text(environment.rawValue)]
            ) { row throws(StorageFailure) in
                let name = TermEnding.Key(
                    chain: try row.text(), until: try row.instant(), daysBefore: try row.count())
                told[name] = try row.instant()
            }
        }
        return told
    }

    /// Records that a reminder is emitted. The reminder must not have been emitted before.
    ///
    /// - Parameter customer: the owner of the purchase; nil if the purchase has no owner.
    package func insert(
        _ reminder: TermReminder, to customer: CustomerID?, watch: TermWatch, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        let ending = reminder.ending
        try connection.run(
            "INSERT INTO reminders (app, subject, environment, chain, until_ms, days_before, "
                + "emitted_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            [
                .text(app.rawValue), .text((customer ?? watch.subject).rawValue),
                .text(watch.environment.rawValue), .text(ending.chain),
                .integer(ending.until.milliseconds), .integer(Int64(ending.daysBefore)),
                .integer(now.milliseconds),
            ])
    }

    // MARK: - Merging and erasing customers

    /// Copies the reminders of a merged customer to the remaining customer, so that no reminder is
    /// emitted again. Schedules an examination, because the remaining customer may have more terms
    /// now.
    package func merge(
        of other: CustomerID, into customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO reminders (app, subject, environment, chain, until_ms, days_before, "
                + "emitted_at_ms) SELECT app, $1, environment, chain, until_ms, days_before, "
                + "emitted_at_ms FROM reminders WHERE app = $2 AND subject = $3 "
                + "ON CONFLICT (app, subject, environment, chain, until_ms, days_before) "
                + "DO NOTHING",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        try delete(of: [other], in: app)
        for environment in Environment.allCases {
            try watchTerms(of: customer, in: app, environment)
        }
    }

    /// Deletes the reminders and examinations of customers and account tokens.
    package func delete(
        of subjects: [CustomerID], in app: AppID
    ) throws(StorageFailure) {
        for table in ["reminders", "term_watches"] {
            try connection.runEach(
                "DELETE FROM \(table) WHERE app = $1 AND subject = $2",
                subjects.map { [.text(app.rawValue), .text($0.rawValue)] })
        }
    }

    // MARK: - Sweeps

    package func progress(
        of app: AppID
    ) throws(StorageFailure) -> ReminderProgress? {
        try connection.firstRow(
            "SELECT rules, swept_to FROM reminder_rules WHERE app = $1", [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            ReminderProgress(
                rules: try row.text(), isSweeping: try row.optionalText() != nil)
        }
    }

    /// Starts a sweep that examines every customer by new rules.
    package func beginSweep(by rules: String, of app: AppID) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO reminder_rules (app, rules, swept_to) VALUES ($1, $2, '') "
                + "ON CONFLICT (app) DO UPDATE SET rules = excluded.rules, swept_to = ''",
            [.text(app.rawValue), .text(rules)])
    }

    /// Schedules an examination of the next batch of customers and account tokens, ordered by id.
    /// Returns the size of the batch; 0 if the sweep is finished, or another server is running it.
    package func continueSweep(of app: AppID) throws(StorageFailure) -> Int {
        let sweptTo = try connection.firstText(
            "SELECT swept_to FROM reminder_rules WHERE app = $1 AND swept_to IS NOT NULL "
                + dialect.skippingLockedRows, [.text(app.rawValue)])
        guard let sweptTo else { return 0 }
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

    /// The next customer ids and account tokens in order.
    private func subjects(
        of app: AppID, after name: CustomerID
    ) throws(StorageFailure) -> [CustomerID] {
        var subjects = Set(try tx.customers.all(of: app, after: name, limit: Self.sweepBatch))
        try connection.eachRow(
            "SELECT DISTINCT account_token FROM purchases WHERE app = $1 AND account_token > $2 "
                + "ORDER BY account_token LIMIT $3",
            [.text(app.rawValue), .text(name.rawValue), .integer(Int64(Self.sweepBatch))]
        ) { row throws(StorageFailure) in subjects.insert(try row.customer()) }
        return Array(subjects.sorted().prefix(Self.sweepBatch))
    }
}
