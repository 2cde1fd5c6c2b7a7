/// A reminder to emit before a customer's term ends.
package struct TermReminder: Hashable, Sendable {
    package var ending: TermEnding
    /// When to emit the reminder. It is not emitted at or after the end of the term.
    package var dueAt: Instant
    /// The purchase of the term that ends last.
    package var purchase: PurchaseID
    package var payment: Payment

    package init(ending: TermEnding, dueAt: Instant, purchase: PurchaseID, payment: Payment) {
        self.ending = ending
        self.dueAt = dueAt
        self.purchase = purchase
        self.payment = payment
    }
}

/// The end of terms that follow each other without a gap, and how many days before that end the
/// reminder is due.
package struct TermEnding: Hashable, Sendable {
    package var chain: String
    /// The start of the first of these terms.
    package var from: Instant
    package var until: Instant
    package var daysBefore: Int

    package init(chain: String, from: Instant, until: Instant, daysBefore: Int) {
        self.chain = chain
        self.from = from
        self.until = until
        self.daysBefore = daysBefore
    }

    /// Identifies a reminder, which is reported only once.
    package struct Key: Hashable, Sendable {
        package var chain: String
        package var until: Instant
        package var daysBefore: Int

        package init(chain: String, until: Instant, daysBefore: Int) {
            self.chain = chain
            self.until = until
            self.daysBefore = daysBefore
        }
    }

    package var key: Key { Key(chain: chain, until: until, daysBefore: daysBefore) }
}

extension TermRules {
    /// The reminders for a customer's terms, sorted by due time. Each run of terms without a gap
    /// has one reminder for each of the reminder days of its last product.
    ///
    /// Days are counted in local time. A reminder is omitted if it would have been due before the
    /// last term was bought. The reason is that a customer who has just bought a short term knows
    /// its end.
    ///
    /// - Parameter terms: all terms of a customer, the result of ``terms(of:)``.
    package func reminders(of terms: [Term]) -> [TermReminder] {
        var runs: [String: [(from: Instant, last: Term)]] = [:]
        for term in terms {
            var known = runs[term.chain, default: []]
            if term.continues, let end = known.indices.last {
                known[end].last = term
            } else {
                known.append((from: term.from, last: term))
            }
            runs[term.chain] = known
        }
        return runs.values.joined().flatMap { run in reminders(of: run.last, since: run.from) }
            .sorted {
                ($0.dueAt, $0.payment.transaction, $1.ending.daysBefore)
                    < ($1.dueAt, $1.payment.transaction, $0.ending.daysBefore)
            }
    }

    private func reminders(of term: Term, since from: Instant) -> [TermReminder] {
        (products[term.product]?.reminders ?? []).compactMap { days in
            let dueAt = clock.moment(months: 0, days: -days, after: term.until)
            guard dueAt >= term.payment.from else { return nil }
            return TermReminder(
                ending: TermEnding(
                    chain: term.chain, from: from, until: term.until, daysBefore: days),
                dueAt: dueAt, purchase: term.purchase, payment: term.payment)
        }
    }

    /// Whether any product has reminders.
    package var hasReminders: Bool { products.values.contains { !$0.reminders.isEmpty } }
}

extension Timeline {
    /// Whether anything was bought as a non-renewing term.
    package var hasTerms: Bool { periods.contains { $0.payment.kind == .nonRenewing } }
}
