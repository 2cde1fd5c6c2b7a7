import Ledger
import Storage

/// Emits the reminders of terms that will end soon.
package struct TermService: Sendable {
    let context: Context
    let ruleChecks = RuleChecks()

    /// The number of customers of one app examined in one transaction.
    private static let watchesMax = 100

    /// Emits the reminders of an app that are due before terms end, and examines all customers
    /// again if the configuration has changed. Returns how many customers were examined.
    ///
    /// A reminder is written together with its event, under a unique key. So the reminder is
    /// emitted once, even if several servers are running, or if a server stops at any moment. A
    /// reminder that could not be emitted on time is emitted late, but never after the term has
    /// ended.
    func emitReminders(of app: AppSettings) async throws(EngineFailure) -> Int {
        let isNew = !ruleChecks.isDone(app.id)
        // Without reminders, one pass is enough to delete the examinations that the previous
        // configuration scheduled.
        guard isNew || app.terms.hasReminders else { return 0 }
        let now = context.now()
        let rules = app.reminderRules
        let (isDue, begins) = try await context.read { tx -> (Bool, Bool) in
            let standing = try tx.reminders.progress(of: app.id)
            guard (standing?.rules ?? "") == rules else { return (isNew, isNew) }
            guard let standing else { return (false, false) }
            let isDue =
                try standing.isSweeping || tx.queues.hasDue(.termWatches, of: app.id, by: now)
            return (isDue, false)
        }
        guard isDue else {
            ruleChecks.markDone(app.id)
            return 0
        }
        let count = try await context.transaction { tx in
            if begins {
                try tx.reminders.beginSweep(by: rules, of: app.id)
                return 1
            }
            // Another server has begun with another configuration in the meantime.
            guard try tx.reminders.progress(of: app.id)?.rules == rules else { return 0 }
            let swept = try tx.reminders.continueSweep(of: app.id)
            let watches = try tx.reminders.dueWatches(
                of: app.id, dueBy: now, limit: Self.watchesMax)
            for watch in watches {
                try ReminderDecisions(tx).checkReminders(at: watch, in: app, at: now)
            }
            return swept + watches.count
        }
        // The check is marked as done only after the rules are written, because otherwise a failed
        // attempt would not be repeated.
        ruleChecks.markDone(app.id)
        return count
    }
}

extension AppSettings {
    /// The settings that determine when a customer gets reminders, as text. Empty if there are no
    /// reminders.
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
