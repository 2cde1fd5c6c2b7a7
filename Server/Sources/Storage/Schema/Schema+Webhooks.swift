extension Schema {
    /// Webhook endpoints, their deliveries, and each attempt. All of it is primary data.
    ///
    /// A webhook reads the event log from `cursor` on: an event is to be delivered as soon as it is
    /// committed, without any other row. A webhook of the configuration has no settings here: they
    /// are in the file.
    static func webhookTables(_ type: Dialect) -> [String] {
        [webhookTable(type), deliveryTable(type), attemptTable(type)] + deliveryIndexes
    }

    private static func webhookTable(_ type: Dialect) -> String {
        """
        CREATE TABLE webhooks (
            app \(type.text) NOT NULL,
            webhook \(type.text) NOT NULL,
            origin \(type.text) NOT NULL CHECK (origin IN ('configuration', 'api')),
            url \(type.text),
            types \(type.text),
            products \(type.text),
            environments \(type.text),
            format \(type.text),
            authorization_value \(type.text),
            secret \(type.text),
            former_secret \(type.text),
            former_until_ms \(type.integer),
            created_at_ms \(type.integer) NOT NULL,
            cursor \(type.integer) NOT NULL,
            paused_at_ms \(type.integer),
            pause_reason \(type.text),
            held_until_ms \(type.integer),
            failing_since_ms \(type.integer),
            is_reported \(type.integer) NOT NULL,
            deleted_at_ms \(type.integer),
            lease_until_ms \(type.integer) NOT NULL,
            lease_holder \(type.text),
            PRIMARY KEY (app, webhook)
        ) \(type.strict)
        """
    }

    /// `stream` is what is delivered in order: a customer, or a purchase without an owner. Of a
    /// stream one delivery is due at a time; the others wait with `due_at_ms` null and `state`
    /// `waiting`. `body` is null until it is rendered, and again after a person in it was erased.
    private static func deliveryTable(_ type: Dialect) -> String {
        """
        CREATE TABLE webhook_deliveries (
            app \(type.text) NOT NULL,
            webhook \(type.text) NOT NULL,
            message \(type.text) NOT NULL,
            sequence \(type.integer) NOT NULL,
            kind \(type.text) NOT NULL,
            stream \(type.text) NOT NULL,
            state \(type.text) NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
            created_at_ms \(type.integer) NOT NULL,
            due_at_ms \(type.integer),
            tries \(type.integer) NOT NULL,
            attempts \(type.integer) NOT NULL,
            attempted_at_ms \(type.integer),
            status \(type.integer),
            trouble \(type.text),
            ended_at_ms \(type.integer),
            body \(type.bytes),
            lease_until_ms \(type.integer) NOT NULL,
            lease_holder \(type.text),
            PRIMARY KEY (app, webhook, message)
        ) \(type.strict)
        """
    }

    private static func attemptTable(_ type: Dialect) -> String {
        """
        CREATE TABLE webhook_attempts (
            app \(type.text) NOT NULL,
            webhook \(type.text) NOT NULL,
            message \(type.text) NOT NULL,
            attempt \(type.integer) NOT NULL,
            at_ms \(type.integer) NOT NULL,
            milliseconds \(type.integer) NOT NULL,
            status \(type.integer),
            trouble \(type.text),
            answer \(type.text),
            PRIMARY KEY (app, webhook, message, attempt)
        ) \(type.strictWithoutRowID)
        """
    }

    private static let deliveryIndexes = [
        "CREATE INDEX webhook_deliveries_by_due ON webhook_deliveries "
            + "(app, webhook, due_at_ms, created_at_ms) WHERE due_at_ms IS NOT NULL",
        "CREATE INDEX webhook_deliveries_by_order ON webhook_deliveries "
            + "(app, webhook, stream, sequence, message) WHERE ended_at_ms IS NULL",
        "CREATE INDEX webhook_deliveries_by_stream ON webhook_deliveries "
            + "(app, stream, created_at_ms, message)",
        "CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries "
            + "(app, webhook, created_at_ms, message)",
        "CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries "
            + "(app, webhook, created_at_ms) WHERE ended_at_ms IS NULL",
        "CREATE INDEX webhook_deliveries_by_end ON webhook_deliveries "
            + "(app, state, ended_at_ms) WHERE ended_at_ms IS NOT NULL",
    ]
}
