/// What one statement of a migration step does, read from its SQL.
package struct SchemaChange: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case createsTable
        case createsIndex(isUnique: Bool)
        /// A new view, or one that gets more columns at its end, which PostgreSQL checks.
        case createsView
        case dropsView
        /// Adds a column that is null, or has one constant value, in the rows that exist.
        case addsColumn
        /// Anything else: the statement may read and rewrite all rows of its table.
        case rewrites
    }

    package var kind: Kind
    /// The name of the new table, index, view or column; of a rewrite, the verb of the statement.
    package var name: String
    /// The table of the index, of the column or of the rewrite; the new table or view itself.
    package var table: String
    /// The tables that a new table or column refers to. A statement that creates a reference locks
    /// them for a moment.
    package var references: [String] = []
    /// The references that let rows of the other table be deleted, together with the new rows.
    package var cascades: Int = 0
    /// The tables that the statement reads, apart from ``table``.
    package var sources: [String] = []

    /// - Parameter sql: one statement of a step, as ``Schema`` writes it.
    init(_ sql: String) {
        let text = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if let found = text.firstMatch(of: #/^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/#) {
            self.init(.createsTable, String(found.1), of: String(found.1), in: text)
        } else if let found = text.firstMatch(
            of: #/^CREATE (UNIQUE )?INDEX (?:IF NOT EXISTS )?(\w+) ON (\w+)/#)
        {
            self.init(
                .createsIndex(isUnique: found.1 != nil), String(found.2), of: String(found.3),
                in: text)
        } else if let found = text.firstMatch(of: #/^CREATE (?:OR REPLACE )?VIEW (\w+)/#) {
            self.init(.createsView, String(found.1), of: String(found.1), in: text)
        } else if let found = text.firstMatch(of: #/^DROP VIEW (?:IF EXISTS )?(\w+)/#) {
            self.init(.dropsView, String(found.1), of: String(found.1), in: text)
        } else if let found = text.firstMatch(of: #/^ALTER TABLE (\w+) ADD COLUMN (\w+) (.*)$/#),
            Self.isSimple(found.3)
        {
            self.init(.addsColumn, String(found.2), of: String(found.1), in: text)
        } else {
            let found = text.firstMatch(
                of: #/^([A-Z ]+?) (?:IF EXISTS |ONLY )?([a-z_]\w*)/#)
            self.init(
                .rewrites, String(found?.1 ?? "runs"), of: String(found?.2 ?? ""), in: text)
            sources = text.matches(of: #/\b(?:FROM|JOIN) (\w+)/#).map { String($0.1) }
                .filter { $0 != table }
        }
    }

    private init(_ kind: Kind, _ name: String, of table: String, in text: String) {
        (self.kind, self.name, self.table) = (kind, name, table)
        let found = text.matches(of: #/\bREFERENCES (\w+)/#).map { String($0.1) }
        references = found.filter { $0 != table }
        cascades = text.matches(of: #/\bON DELETE CASCADE\b/#).count
    }

    /// Whether rows that exist get null or one constant, and an older program may insert rows
    /// without the column.
    private static func isSimple(_ declaration: Substring) -> Bool {
        if declaration.contains(#/\b(UNIQUE|PRIMARY KEY|GENERATED|IDENTITY)\b/#) { return false }
        let hasConstant = declaration.contains(#/\bDEFAULT (-?\d+|'[^']*'|NULL)/#)
        let hasDefault = declaration.contains(#/\bDEFAULT\b/#)
        return hasConstant || !hasDefault && !declaration.contains(#/\bNOT NULL\b/#)
    }

    /// Says what the statement does: a verb and its objects.
    package var text: String {
        switch kind {
        case .createsTable: "creates the table \(name)"
        case .createsIndex: "creates the index \(name)"
        case .createsView: "creates the view \(name)"
        case .dropsView: "drops the view \(name)"
        case .addsColumn: "adds the column \(name) to \(table)"
        case .rewrites: "runs \(name) on \(table)"
        }
    }
}

extension SchemaChange {
    /// Says why an older program could not go on after the statement. Returns nil if it can.
    ///
    /// - Parameter created: the tables that the same step has created, which no older program uses.
    /// - Parameter views: the views that the same step creates.
    func objection(
        created: Set<String>, views: Set<String>, _ dialect: Dialect
    ) -> String? {
        switch kind {
        case .createsTable, .addsColumn:
            let foreign = references.filter { !created.contains($0) }
            guard foreign.count > cascades else { return nil }
            return "An older program cannot delete rows of \(foreign.joined(separator: ", ")): "
                + "add ON DELETE CASCADE."
        case .createsIndex(isUnique: true) where !created.contains(table):
            return "An older program may insert rows of \(table) that \(name) does not allow."
        case .createsIndex, .createsView: return nil
        case .dropsView:
            // SQLite cannot replace a view, and no other server uses the file meanwhile.
            guard dialect == .postgres || !views.contains(name) else { return nil }
            return "An older program or an operator's query may use the view \(name)."
        case .rewrites: return "The statement “\(self.name) \(table)” does more than add."
        }
    }
}

extension Schema.Step {
    /// Says why an older program could not go on after the statements of the step. Empty if it can,
    /// by what the statements show.
    func objections(_ dialect: Dialect) -> [String] {
        let changes = statements(dialect).map { SchemaChange($0) }
        let created = Set(changes.filter { $0.kind == .createsTable }.map(\.name))
        let views = Set(changes.filter { $0.kind == .createsView }.map(\.name))
        return changes.compactMap { $0.objection(created: created, views: views, dialect) }
    }
}
