import Ledger
import Storage

extension Engine {
    /// The number of customers of one app examined in one transaction.
    private static let watchesMax = 100

    /// Emits the reminders of an app that are due before terms end, and examines all customers
    /// again if the configuration has changed. Returns how many customers were examined.
    ///
    /// A reminder is written together with its event, under a unique key: so it is emitted once,
    /// however many servers are running and whenever they stop. A reminder that could not be
    /// emitted on time is emitted late, but never after the term has ended.
    func emitReminders(of app: AppSettings) async throws(EngineFailure) -> Int {
        let isNew = !reminderRuleChecks.isDone(app.id)
        // Without reminders, one pass is enough, to clear what the previous configuration left.
        guard isNew || app.terms.hasReminders else { return 0 }
        let now = now()
        let rules = app.reminderRules
        let (isDue, begins) = try await read { tx -> (Bool, Bool) in
            let standing = try tx.reminderProgress(of: app.id)
            guard (standing?.rules ?? "") == rules else { return (isNew, isNew) }
            guard let standing else { return (false, false) }
            let isDue = try standing.isSweeping || tx.hasDue(.termWatches, of: app.id, by: now)
            return (isDue, false)
        }
        guard isDue else {
            reminderRuleChecks.markDone(app.id)
            return 0
        }
        let count = try await transaction { tx in
            if begins {
                try tx.beginReminderSweep(by: rules, of: app.id)
                return 1
            }
            // A server with another configuration has begun meanwhile.
            guard try tx.reminderProgress(of: app.id)?.rules == rules else { return 0 }
            let swept = try tx.continueReminderSweep(of: app.id)
            let watches = try tx.dueTermWatches(
                of: app.id, dueBy: now, limit: Self.watchesMax)
            for watch in watches { try tx.checkReminders(at: watch, in: app, at: now) }
            return swept + watches.count
        }
        // Only after the rules are written; otherwise no other attempt would be made.
        reminderRuleChecks.markDone(app.id)
        return count
    }
}

extension DatabaseSession {
    fileprivate func checkReminders(at watch: TermWatch, in app: AppSettings, at now: Instant)
        throws
    {
        let known =
            try customer(known: watch.subject, in: app.id)
            ?? customer(named: watch.subject.rawValue, in: app.id)
            .flatMap { try customer(known: $0, in: app.id) }
        let ids = known?.ids ?? [watch.subject]
        let timelines = try timelines(
            of: known, ids, in: app, environment: watch.environment)
        let reminders = app.terms.reminders(of: app.terms.terms(of: timelines))
        // What was emitted while a purchase had no owner reached the same person.
        let names =
            ids + [watch.subject]
            + timelines.compactMap(\.accountToken).map(CustomerID.init(rawValue:))
        let told = try emittedReminders(
            of: Set(names + (known.map { [$0.customer] } ?? [])), in: app.id,
            environment: watch.environment)
        var next: Instant?
        for reminder in reminders where told[reminder.ending.key] == nil {
            if now < reminder.dueAt {
                next = next ?? reminder.dueAt
            } else if now < reminder.ending.until {
                try emitReminder(reminder, to: known?.customer, watch: watch, in: app.id, at: now)
            }
        }
        try recordExamination(at: watch, in: app.id, next: next)
    }
}

extension AppSettings {
    /// Everything that determines when a customer gets reminders; empty if there are none.
    fileprivate var reminderRules: String {
        guard terms.hasReminders else { return "" }
        let products = terms.products.sorted { $0.key < $1.key }.map { product, rules in
            "\(product) \(rules.length.months) \(rules.length.days) \(rules.chain) "
                + rules.reminders.map(String.init).joined(separator: ",")
        }
        let sharing = Environment.allCases.map {
            restorePolicy(in: $0) == .share ? "shared" : "own"
        }
        return (products + [terms.clock.name, terms.overlap.rawValue] + sharing)
            .joined(separator: "\n")
    }
}
