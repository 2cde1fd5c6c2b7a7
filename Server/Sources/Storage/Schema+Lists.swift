extension Schema {
    /// By which lists are read in their own order, and old rows are found without those beside
    /// them. Harmless to repeat.
    ///
    /// Each forward is in the index of the state that it is in, and in no other of these: so a
    /// statement about one state can use no other state's.
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
        // The numbers within one customer are counted in the customer's own row. Last, as nobody
        // reads the log from here to the end of the step.
        "DROP INDEX IF EXISTS events_by_customer",
    ]

    /// By which it is found what was told of a purchase while it was nobody's: a customer may be
    /// known by nothing but the account token in it. Harmless to repeat.
    static let nobodysIndexes: [String] = [
        "CREATE INDEX IF NOT EXISTS events_of_nobody "
            + "ON events (app, environment, purchase, sequence) WHERE customer IS NULL"
    ]
}
