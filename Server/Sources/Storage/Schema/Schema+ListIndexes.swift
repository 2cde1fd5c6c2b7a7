extension Schema {
    /// Indexes for listing rows in their natural order, and for finding old rows without scanning
    /// the recent ones. Idempotent.
    ///
    /// Each forward is in the index of its present state, and in no other of these, so that a
    /// statement about one state cannot use the index of another.
    static let listIndexes: [String] = [
        "CREATE INDEX IF NOT EXISTS forwards_accepted ON forwards (app, accepted_at_ms) "
            + "WHERE accepted_at_ms IS NOT NULL",
        "CREATE INDEX IF NOT EXISTS forwards_waiting "
            + "ON forwards (app, created_at_ms, document, target) WHERE due_at_ms IS NOT NULL",
        "CREATE INDEX IF NOT EXISTS forwards_given_up "
            + "ON forwards (app, created_at_ms, document, target) "
            + "WHERE accepted_at_ms IS NULL AND due_at_ms IS NULL AND attempts > 0",
        "CREATE INDEX IF NOT EXISTS forwards_left_out "
            + "ON forwards (app, created_at_ms, document, target) "
            + "WHERE accepted_at_ms IS NULL AND due_at_ms IS NULL AND attempts = 0",
        "CREATE INDEX IF NOT EXISTS events_of_customer ON events (app, customer, sequence) "
            + "WHERE customer IS NOT NULL",
        // Only one transaction at a time numbers the events of an app, so this index is redundant.
        // It is dropped last: nobody can read the log from here to the end of the step.
        "DROP INDEX IF EXISTS events_by_customer",
    ]

    /// Finds customers by the beginning of an id. Idempotent.
    static let customerPrefixIndexes: [String] = [
        "CREATE INDEX IF NOT EXISTS customer_ids_by_beginning ON customer_ids (app, lower(id))"
    ]

    /// Finds the events of a purchase from the time when it had no owner: a customer may be known
    /// only by the account token in it. Idempotent.
    static let unownedEventIndexes: [String] = [
        "CREATE INDEX IF NOT EXISTS events_of_nobody "
            + "ON events (app, environment, purchase, sequence) WHERE customer IS NULL"
    ]
}
