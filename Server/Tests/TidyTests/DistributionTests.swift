import Testing

/// Each rule finds a bad sample and accepts a good one.
@Suite struct DistributionTests {
    @Test
    func `statements about one app are accepted, but statements about several are violations`() {
        let rows: [(sql: String, isGood: Bool)] = [
            ("SELECT a FROM purchases WHERE app = $1 AND purchase = $2", true),
            ("SELECT a FROM purchases WHERE purchase = $1", false),
            (
                "SELECT a FROM facts JOIN documents ON documents.app = facts.app WHERE "
                    + "facts.app = $1",
                true
            ),
            (
                "SELECT a FROM facts JOIN documents ON documents.id = facts.id WHERE facts.app "
                    + "= $1",
                false
            ),
            ("SELECT a FROM keys WHERE hash = $1", true),
            ("UPDATE purchases SET reported_state = $1 WHERE app = $2", true),
            ("UPDATE purchases SET reported_state = $1 WHERE purchase = $2", false),
            ("UPDATE purchases SET app = $1 WHERE app = $2", false),
            (
                "DELETE FROM purchases WHERE app = $1 AND EXISTS (SELECT 1 FROM links WHERE "
                    + "links.app = purchases.app)",
                true
            ),
            (
                "DELETE FROM purchases WHERE app = $1 AND EXISTS (SELECT 1 FROM links WHERE a "
                    + "= b)",
                false
            ),
        ]
        check(rows)
    }

    @Test
    func `keys, references and locks of one app are accepted, but those of several are not`() {
        let rows: [(sql: String, isGood: Bool)] = [
            (
                "INSERT INTO links (app, purchase) VALUES ($1, $2) ON CONFLICT (app, purchase) "
                    + "DO NOTHING",
                true
            ),
            ("INSERT INTO links (purchase) VALUES ($1)", false),
            (
                "INSERT INTO links (app, purchase) VALUES ($1, $2) ON CONFLICT (purchase) DO "
                    + "NOTHING",
                false
            ),
            ("TRUNCATE facts", false), ("LOCK TABLE facts IN EXCLUSIVE MODE", false),
            ("SELECT pg_advisory_lock(1)", false),
            ("CREATE TABLE a (app TEXT NOT NULL, b TEXT, PRIMARY KEY (app, b))", true),
            ("CREATE TABLE a (app TEXT NOT NULL PRIMARY KEY)", true),
            ("CREATE TABLE a (b TEXT, PRIMARY KEY (b))", false),
            (
                "CREATE TABLE a (app TEXT, PRIMARY KEY (app), FOREIGN KEY (app, b) REFERENCES "
                    + "c (app, b))",
                true
            ),
            (
                "CREATE TABLE a (app TEXT, PRIMARY KEY (app), FOREIGN KEY (b) REFERENCES c "
                    + "(b))",
                false
            ),
            (
                "CREATE TABLE a (app TEXT, b BIGINT GENERATED ALWAYS AS IDENTITY, PRIMARY KEY "
                    + "(app, b))",
                false
            ),
            ("CREATE TABLE a (app TEXT, b TEXT UNIQUE, PRIMARY KEY (app))", false),
            ("CREATE UNIQUE INDEX a ON b (app, c)", true),
            ("CREATE UNIQUE INDEX a ON b (c)", false),
        ]
        check(rows)
    }

    private func check(_ rows: [(sql: String, isGood: Bool)]) {
        for (sql, isGood) in rows {
            #expect(Distribution.complaints(about: sql).isEmpty == isGood, "\(sql)")
        }
    }

    @Test func `an SQL statement is read in full, and comments and other texts are ignored`() {
        let file = SourceFile(
            path: "Server/Sources/Storage/A.swift",
            text: #"""
                // "SELECT 1 FROM comment"
                let a = "SELECT a, \(columns.map { "b" }.joined(separator: ", ")) "
                    + "FROM c WHERE app = $1"
                let b = "no statement"
                let c = """
                    SELECT d
                        FROM e
                    """
                let d = "SELECT f"; let e = "FROM g"
                """#)
        #expect(
            Statements.statements(in: file) == [
                .init(
                    line: 2,
                    text: #"SELECT a, \(columns.map { "b" }.joined(separator: ", ")) "#
                        + "FROM c WHERE app = $1"),
                .init(line: 5, text: "SELECT d FROM e"), .init(line: 9, text: "SELECT f"),
            ])
    }

    @Test func `a table whose key lacks the app is reported with its line`() {
        let file = SourceFile(
            path: "Server/Sources/Storage/Schema/postgres.sql",
            text: """
                -- CREATE TABLE a (b TEXT PRIMARY KEY);

                CREATE TABLE b (app TEXT NOT NULL PRIMARY KEY);
                CREATE TABLE c (
                    d TEXT NOT NULL PRIMARY KEY
                );

                """)
        let found = Distribution.violations(among: [file]).filter { $0.path == file.path }
        #expect(found.map(\.line) == [4])
    }

    @Test func `a statement that names no app is reported with its line`() {
        let file = SourceFile(
            path: "Server/Sources/Storage/A.swift",
            text: "let a = \"SELECT b FROM links WHERE purchase = $1\"\n")
        let found = Distribution.violations(among: [file]).filter { $0.path == file.path }
        #expect(found.map(\.line) == [1])
    }
}
