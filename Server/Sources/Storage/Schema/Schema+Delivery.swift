extension Schema {
    /// Notifications waiting to be forwarded to other addresses, and the progress of imports. Both
    /// are primary data: no document says where it was forwarded, or which line of a file was read
    /// last.
    static func forwardTables(_ type: Dialect) -> [String] {
        [
            // `due_at_ms` is null once the delivery has ended; `accepted_at_ms` says whether it
            // succeeded.
            """
            CREATE TABLE forwards (
                app \(type.text) NOT NULL,
                document \(type.bytes) NOT NULL CHECK (length(document) = 32),
                target \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                created_at_ms \(type.integer) NOT NULL,
                due_at_ms \(type.integer),
                attempts \(type.integer) NOT NULL,
                attempted_at_ms \(type.integer),
                status \(type.integer),
                trouble \(type.text),
                accepted_at_ms \(type.integer),
                lease_until_ms \(type.integer) NOT NULL,
                lease_holder \(type.text),
                PRIMARY KEY (app, document, target)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX forwards_by_due ON forwards (app, target, due_at_ms, created_at_ms) "
                + "WHERE due_at_ms IS NOT NULL",
            "CREATE INDEX forwards_by_time ON forwards (app, created_at_ms, document, target)",
            // The request body as received, byte for byte, while any delivery of it is pending.
            """
            CREATE TABLE forward_bodies (
                app \(type.text) NOT NULL,
                document \(type.bytes) NOT NULL CHECK (length(document) = 32),
                content_type \(type.text),
                body \(type.bytes) NOT NULL,
                PRIMARY KEY (app, document)
            ) \(type.strict)
            """,
        ] + importTables(type)
    }

    private static func importTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE imports (
                app \(type.text) NOT NULL,
                kind \(type.text) NOT NULL,
                file \(type.bytes) NOT NULL CHECK (length(file) = 32),
                bytes_read \(type.integer) NOT NULL,
                lines_read \(type.integer) NOT NULL,
                used \(type.integer) NOT NULL,
                refused \(type.integer) NOT NULL,
                report_bytes \(type.integer) NOT NULL,
                changed_at_ms \(type.integer) NOT NULL,
                ended_at_ms \(type.integer),
                PRIMARY KEY (app, kind, file)
            ) \(type.strict)
            """
        ]
    }
}
