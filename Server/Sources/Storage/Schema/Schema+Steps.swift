extension Schema.Step {
    /// Adds the attributes of customers, with their view.
    static let customerAttributes = Schema.Step(
        name: "attributes of customers",
        effect: .excludes(
            before: 101,
            because: "an older server cannot erase a customer who has attributes")
    ) { dialect in
        let (text, integer) = (dialect.text, dialect.integer)
        let ending = dialect == .sqlite ? ") STRICT, WITHOUT ROWID" : ")"
        let updatedAt =
            dialect == .sqlite
            ? "strftime('%Y-%m-%dT%H:%M:%fZ', updated_at_ms / 1000.0, 'unixepoch')"
            : "to_char(to_timestamp(updated_at_ms / 1000.0) AT TIME ZONE 'UTC', "
                + "'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        return [
            """
            CREATE TABLE customer_attributes (
                app \(text) NOT NULL,
                customer \(text) NOT NULL,
                name \(text) NOT NULL,
                value \(text),
                updated_at_ms \(integer) NOT NULL,
                author \(text) NOT NULL CHECK (author IN ('app', 'server')),
                mail_address \(text),
                PRIMARY KEY (app, customer, name),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            \(ending)
            """,
            """
            CREATE INDEX customer_attributes_by_mail_address
                ON customer_attributes (app, mail_address, customer) WHERE mail_address IS NOT NULL
            """,
            """
            CREATE VIEW attributes AS SELECT
                app, customer AS customer_id, name, value, \(updatedAt) AS updated_at, author
            FROM customer_attributes WHERE value IS NOT NULL
            """,
        ]
    }

    /// Adds the numbers of cohorts. The numbers are computed together with the sums, whose layout
    /// changes in this step.
    static let cohorts = Schema.Step(
        name: "numbers of cohorts",
        effect: .excludes(
            before: 102,
            because: "older and newer servers would delete each other's sums of money, again and "
                + "again")
    ) { dialect in
        let (text, number) = (dialect.text, dialect.integer)
        return [
            """
            CREATE TABLE money_cohorts (
                app \(text) NOT NULL,
                environment \(text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                cohort \(text) NOT NULL,
                span \(text) NOT NULL CHECK (span IN ('day', 'month')),
                first_day \(number) NOT NULL,
                began_day \(number) NOT NULL,
                currency \(text) NOT NULL,
                place \(number) NOT NULL,
                number \(number) NOT NULL,
                PRIMARY KEY (app, environment, cohort, span, first_day, began_day, currency, place)
            )\(dialect == .sqlite ? " STRICT, WITHOUT ROWID" : "")
            """
        ]
    }

    /// Adds the results of rehearsals of the move from RevenueCat.
    static let rehearsals = Schema.Step(
        name: "results of rehearsals",
        effect: .excludes(
            before: 103,
            because: "an older server that erases a customer would not delete the customer's id in "
                + "the results of rehearsals")
    ) { dialect in
        let (text, integer) = (dialect.text, dialect.integer)
        let ending = dialect == .sqlite ? ") STRICT, WITHOUT ROWID" : ")"
        let words = [
            "cause", "customer", "entitlement", "aspect", "effect", "ours", "theirs",
            "evidence_here", "evidence_there",
        ]
        return [
            """
            CREATE TABLE rehearsals (
                app \(text) NOT NULL,
                environment \(text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                ended_at_ms \(integer) NOT NULL,
                signed \(text) NOT NULL,
                PRIMARY KEY (app, environment, ended_at_ms)
            \(ending)
            """,
            """
            CREATE TABLE rehearsal_differences (
                app \(text) NOT NULL,
                environment \(text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                number \(integer) NOT NULL,
                \(words.map { "\($0) \(text) NOT NULL,\n" }.joined(separator: "    "))\
                PRIMARY KEY (app, environment, number)
            \(ending)
            """,
        ]
    }

    /// Adds the operators' accounts at providers of OpenID Connect, and the completed sign-ins.
    static let operatorIdentities = Schema.Step(
        name: "operators of OpenID Connect",
        effect: .excludes(
            before: 104,
            because: "an older server that removes an operator would not delete the operator's "
                + "account at the provider")
    ) { dialect in
        let (text, integer) = (dialect.text, dialect.integer)
        let ending = dialect == .sqlite ? ") STRICT, WITHOUT ROWID" : ")"
        return [
            """
            CREATE TABLE operator_identities (
                app \(text) NOT NULL CHECK (app = ''),
                issuer \(text) NOT NULL,
                subject \(text) NOT NULL,
                operator \(text) NOT NULL,
                full_name \(text) NOT NULL,
                created_at_ms \(integer) NOT NULL,
                PRIMARY KEY (app, issuer, subject)
            \(ending)
            """,
            """
            CREATE TABLE used_sign_ins (
                app \(text) NOT NULL CHECK (app = ''),
                sign_in \(dialect.bytes) NOT NULL CHECK (length(sign_in) = 32),
                until_ms \(integer) NOT NULL,
                PRIMARY KEY (app, sign_in)
            \(ending)
            """,
        ]
    }

    /// Adds what alerts have reported, and the alerts that wait to be sent.
    static let alerts = Schema.Step(name: "alerts") { dialect in
        let (text, number) = (dialect.text, dialect.integer)
        let ending = dialect == .sqlite ? ") STRICT, WITHOUT ROWID" : ")"
        return [
            """
            CREATE TABLE alerts (
                app \(text) NOT NULL,
                subject \(text) NOT NULL,
                since_ms \(number) NOT NULL,
                seen_at_ms \(number) NOT NULL,
                PRIMARY KEY (app, subject)
            \(ending)
            """,
            """
            CREATE TABLE alert_channels (
                app \(text) NOT NULL CHECK (app = ''),
                channel \(text) NOT NULL CHECK (channel IN ('mail', 'webhook')),
                due_at_ms \(number),
                attempts \(number) NOT NULL,
                trouble \(text),
                lease_until_ms \(number) NOT NULL,
                lease_holder \(text),
                PRIMARY KEY (app, channel)
            \(ending)
            """,
            """
            CREATE TABLE alert_messages (
                app \(text) NOT NULL CHECK (app = ''),
                channel \(text) NOT NULL,
                created_at_ms \(number) NOT NULL,
                message \(text) NOT NULL,
                content \(text) NOT NULL,
                PRIMARY KEY (app, channel, created_at_ms, message)
            \(ending)
            """,
        ]
    }

    /// Adds the passkeys of operators and their recovery codes.
    /// Also stands for the event `purchase_forgotten`, a new word in a column that exists. Programs
    /// before this step refuse every later version: they do not know `oldest_version`.
    static let passkeys = Schema.Step(
        name: "passkeys",
        effect: .excludes(
            before: 106,
            because:
                "an older server would let operators with a passkey sign in by password alone, "
                + "and cannot read the event purchase_forgotten")
    ) { dialect in
        let (text, number, bytes) = (dialect.text, dialect.integer, dialect.bytes)
        let ending = dialect == .sqlite ? ") STRICT, WITHOUT ROWID" : ")"
        return [
            """
            CREATE TABLE operator_passkeys (
                app \(text) NOT NULL CHECK (app = ''),
                passkey \(bytes) NOT NULL CHECK (length(passkey) BETWEEN 1 AND 1023),
                operator \(text) NOT NULL,
                name \(text) NOT NULL,
                public_key \(bytes) NOT NULL,
                counter \(number) NOT NULL,
                created_at_ms \(number) NOT NULL,
                used_at_ms \(number),
                PRIMARY KEY (app, passkey)
            \(ending)
            """,
            """
            CREATE TABLE operator_recovery_codes (
                app \(text) NOT NULL CHECK (app = ''),
                operator \(text) NOT NULL,
                code \(bytes) NOT NULL CHECK (length(code) = 32),
                created_at_ms \(number) NOT NULL,
                used_at_ms \(number),
                PRIMARY KEY (app, operator, code)
            \(ending)
            """,
        ]
    }
}
