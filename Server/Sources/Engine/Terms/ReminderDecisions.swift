import Ledger
import Storage

/// Decides which reminders of a term are due.
struct ReminderDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    func checkReminders(at watch: TermWatch, in app: AppSettings, at now: Instant)
        throws
    {
        let known =
            try tx.customers.find(known: watch.subject, in: app.id)
            ?? tx.accountTokens.customer(named: watch.subject.rawValue, in: app.id)
            .flatMap { try tx.customers.find(known: $0, in: app.id) }
        let ids = known?.ids ?? [watch.subject]
        let timelines = try CustomerReader(tx).timelines(
            of: known, ids, in: app, environment: watch.environment)
        let reminders = app.terms.reminders(of: app.terms.terms(of: timelines))
        // Includes the subject of the watch, because an earlier reminder may have been emitted
        // while the purchase had no owner. That reminder was for the same person.
        let names =
            ids + [watch.subject]
            + timelines.compactMap(\.accountToken).map(CustomerID.init(rawValue:))
        let told = try tx.reminders.times(
            of: Set(names + (known.map { [$0.customer] } ?? [])), in: app.id,
            environment: watch.environment)
        var next: Instant?
        for reminder in reminders where told[reminder.ending.key] == nil {
            if now < reminder.dueAt {
                next = next ?? reminder.dueAt
            } else if now < reminder.ending.until {
                try tx.reminders.insert(
                    reminder, to: known?.customer, watch: watch, in: app.id, at: now)
                try PurchaseEvents(tx).emitTermEnding(
                    reminder, to: known?.customer, token: watch.subject, in: app.id, at: now)
            }
        }
        try tx.reminders.recordExamination(at: watch, in: app.id, next: next)
    }
}
