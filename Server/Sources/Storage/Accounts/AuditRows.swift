import Foundation
import Ledger

/// One action of an operator: the operator, the action, its time, and its object.
package struct RecordedAct: Hashable, Sendable {
    /// The maximum number of entries of one page.
    package static let pageMax = 200

    /// The app that the action is about. Nil for actions that are about the server, such as an
    /// invitation.
    package var app: AppID?
    package var at: Instant
    /// The id of the entry, unique among all entries: 32 hexadecimal digits.
    package var id: String
    /// The name of the operator, or of another author.
    package var author: String
    /// The name of the action, for example `grant`.
    package var act: String
    package var environment: Environment?
    package var customer: CustomerID?
    /// The object of the action, such as the id of a webhook.
    package var subject: String?
    /// The changed values before and after the action, as JSON objects without secrets. Only the
    /// members ``customerMembers`` contain ids of customers. Nil if unknown.
    package var before: String?
    package var after: String?

    /// The members of ``before`` and ``after`` that are ids of customers. An erasure replaces these
    /// ids.
    package static let customerMembers = ["owner", "shared_with"]

    package init(
        app: AppID?, at: Instant, id: String, author: String, act: String,
        environment: Environment? = nil, customer: CustomerID? = nil, subject: String? = nil,
        before: String? = nil, after: String? = nil
    ) {
        self.app = app
        self.at = at
        self.id = id
        self.author = author
        self.act = act
        self.environment = environment
        self.customer = customer
        self.subject = subject
        self.before = before
        self.after = after
    }

    /// A place in the list of entries.
    package struct Position: Hashable, Sendable {
        package var at: Instant
        package var id: String

        package init(at: Instant, id: String) {
            self.at = at
            self.id = id
        }
    }

    package var position: Position { Position(at: at, id: id) }
}

/// The log of the actions of operators and keys.
package struct AuditRows: RowGroup {
    package let tx: DatabaseSession

    private static let auditColumns =
        "at_ms, entry, author, act, environment, customer, subject, state_before, state_after"

    /// Appends an entry. Idempotent.
    package func append(_ entry: RecordedAct) throws(StorageFailure) {
        try insert(entry, onConflict: "DO NOTHING")
    }

    /// Appends an entry, or adds the changed values to an entry that was appended before.
    /// Idempotent.
    package func complete(_ entry: RecordedAct) throws(StorageFailure) {
        try insert(
            entry,
            onConflict: "DO UPDATE SET subject = excluded.subject, "
                + "state_before = excluded.state_before, state_after = excluded.state_after")
    }

    private func insert(
        _ entry: RecordedAct, onConflict clause: String
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO audit_entries (app, \(Self.auditColumns)) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                + "ON CONFLICT (app, at_ms, entry) \(clause)",
            [
                .text(entry.app?.rawValue ?? ""), .integer(entry.at.milliseconds),
                .text(entry.id), .text(entry.author), .text(entry.act),
                .text(entry.environment?.rawValue), .text(entry.customer?.rawValue),
                .text(entry.subject), .text(entry.before), .text(entry.after),
            ])
    }

    /// The entries of an app, or the entries about the server, the newest first.
    ///
    /// - Parameter position: returns only entries that are older than this position. If nil,
    ///   returns the newest entries.
    package func entries(
        of app: AppID?, before position: RecordedAct.Position?, limit: Int
    ) throws(StorageFailure) -> [RecordedAct] {
        let start = position ?? RecordedAct.Position(at: Instant(milliseconds: .max), id: "~")
        return try connection.rows(
            "SELECT \(Self.auditColumns) FROM audit_entries WHERE app = $1 "
                + "AND (at_ms, entry) < ($2, $3) ORDER BY at_ms DESC, entry DESC LIMIT $4",
            [
                .text(app?.rawValue ?? ""), .integer(start.at.milliseconds), .text(start.id),
                .integer(Int64(limit)),
            ]
        ) { row throws(StorageFailure) in try Self.act(&row, of: app) }
    }

    /// The last entry with an act. Returns nil if there is none.
    package func last(_ act: String, of app: AppID?) throws(StorageFailure) -> RecordedAct? {
        try connection.firstRow(
            "SELECT \(Self.auditColumns) FROM audit_entries WHERE app = $1 AND act = $2 "
                + "ORDER BY at_ms DESC, entry DESC LIMIT 1",
            [.text(app?.rawValue ?? ""), .text(act)]
        ) { row throws(StorageFailure) in try Self.act(&row, of: app) }
    }

    private static func act(
        _ row: inout ColumnReader, of app: AppID?
    ) throws(StorageFailure) -> RecordedAct {
        RecordedAct(
            app: app, at: try row.instant(), id: try row.text(), author: try row.text(),
            act: try row.text(), environment: try row.optionalText().map(Environment.stored),
            customer: try row.optionalCustomer(), subject: try row.optionalText(),
            before: try row.optionalText(), after: try row.optionalText())
    }

    /// Whether an app, or the server, has entries from before a moment.
    package func hasAny(of app: AppID?, before moment: Instant) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM audit_entries WHERE app = $1 AND at_ms < $2 LIMIT 1",
            [.text(app?.rawValue ?? ""), .integer(moment.milliseconds)]
        ).isEmpty
    }

    /// Deletes the oldest entries of an app, or about the server. Returns how many it deleted.
    ///
    /// - Parameter moment: entries of this moment or later stay.
    package func delete(
        of app: AppID?, before moment: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM audit_entries WHERE app = $1 AND (at_ms, entry) IN "
                + "(SELECT at_ms, entry FROM audit_entries WHERE app = $1 AND at_ms < $2 "
                + "ORDER BY at_ms, entry LIMIT $3)",
            [
                .text(app?.rawValue ?? ""), .integer(moment.milliseconds),
                .integer(Int64(limit)),
            ])
    }

    /// Replaces ids of customers in the entries of an app.
    package func replaceIDs(
        _ names: [CustomerID: CustomerID], in app: AppID
    ) throws(StorageFailure) {
        try replaceStates(names, in: app)
        try connection.runEach(
            "UPDATE audit_entries SET customer = $1 WHERE app = $2 AND customer = $3",
            names.sorted { $0.key < $1.key }.map { id, pseudonym in
                [.text(pseudonym.rawValue), .text(app.rawValue), .text(id.rawValue)]
            })
    }

    /// Replaces ids of customers in the states of actions that moved purchases. Few actions move
    /// purchases.
    private func replaceStates(
        _ names: [CustomerID: CustomerID], in app: AppID
    ) throws(StorageFailure) {
        try connection.eachRow(
            "SELECT at_ms, entry, state_before, state_after FROM audit_entries WHERE app = $1 "
                + "AND act LIKE 'customers.transfers%'", [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            let (at, entry) = (try row.integer(), try row.text())
            let states = [try row.optionalText(), try row.optionalText()]
            let replaced = states.map { $0.map { Self.replacing(names, in: $0) } }
            guard replaced != states else { return }
            try connection.run(
                "UPDATE audit_entries SET state_before = $1, state_after = $2 "
                    + "WHERE app = $3 AND at_ms = $4 AND entry = $5",
                [
                    .text(replaced[0]), .text(replaced[1]), .text(app.rawValue), .integer(at),
                    .text(entry),
                ])
        }
    }

    private static func replacing(_ names: [CustomerID: CustomerID], in state: String) -> String {
        guard
            var members = try? JSONDecoder().decode(
                [String: String].self, from: Data(state.utf8))
        else { return state }
        var isChanged = false
        for member in RecordedAct.customerMembers {
            guard let id = members[member], let name = names[CustomerID(rawValue: id)] else {
                continue
            }
            members[member] = name.rawValue
            isChanged = true
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts can always be encoded.
        guard isChanged, let data = try? encoder.encode(members) else { return state }
        return String(decoding: data, as: UTF8.self)
    }
}
