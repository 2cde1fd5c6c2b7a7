extension Schema {
    /// Apple's requests for consumption information about purchases with a refund request, our
    /// responses, and what the app's server reports about its customers. Primary data: no document
    /// contains it.
    static func consumptionTables(_ type: Dialect) -> [String] {
        [
            // `due_at_ms` is null once the request is closed; `state` says how it was closed.
            """
            CREATE TABLE consumption_questions (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                transaction_id \(type.text) NOT NULL,
                document \(type.bytes) NOT NULL CHECK (length(document) = 32),
                product \(type.text) NOT NULL,
                reason \(type.text),
                asked_at_ms \(type.integer) NOT NULL,
                due_at_ms \(type.integer),
                attempts \(type.integer) NOT NULL,
                ended_at_ms \(type.integer),
                state \(type.text) NOT NULL
                    CHECK (state IN ('waiting', 'answered', 'withheld', 'given_up')),
                trouble \(type.text),
                delivery \(type.text),
                used \(type.integer),
                had_sample \(type.integer),
                preference \(type.text),
                lease_until_ms \(type.integer) NOT NULL,
                lease_holder \(type.text),
                PRIMARY KEY (app, environment, purchase, document)
            ) \(type.strict)
            """,
            "CREATE INDEX consumption_questions_by_due ON consumption_questions "
                + "(app, due_at_ms) WHERE due_at_ms IS NOT NULL",
            """
            CREATE TABLE consumption_consents (
                app \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                is_given \(type.integer) NOT NULL,
                had_sample \(type.integer),
                at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, customer),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strictWithoutRowID)
            """,
            """
            CREATE TABLE consumption_uses (
                app \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                transaction_id \(type.text) NOT NULL,
                delivery \(type.text) NOT NULL,
                used \(type.integer),
                PRIMARY KEY (app, customer, environment, transaction_id),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strictWithoutRowID)
            """,
        ]
    }
}
