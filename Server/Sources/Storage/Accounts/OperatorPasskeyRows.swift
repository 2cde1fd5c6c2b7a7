import Ledger

/// A passkey (Web Authentication) with which an operator signs in.
package struct OperatorPasskey: Hashable, Sendable {
    /// The id that the authenticator chose: 1 to 1,023 bytes.
    package var id: [UInt8]
    package var operatorName: String
    /// The name that the operator gave it.
    package var name: String
    /// The public key in the form of COSE.
    package var publicKey: [UInt8]
    /// How often the authenticator had signed when it was last used. 0 if it does not count.
    package var counter: UInt32
    package var createdAt: Instant
    /// The last time the operator signed in with it. Nil if never.
    package var usedAt: Instant?

    package init(
        id: [UInt8], operatorName: String, name: String, publicKey: [UInt8], counter: UInt32,
        createdAt: Instant, usedAt: Instant? = nil
    ) {
        self.id = id
        self.operatorName = operatorName
        self.name = name
        self.publicKey = publicKey
        self.counter = counter
        self.createdAt = createdAt
        self.usedAt = usedAt
    }
}

/// The passkeys of operators.
package struct OperatorPasskeyRows: RowGroup {
    package let tx: DatabaseSession

    private static let columns =
        "passkey, operator, name, public_key, counter, created_at_ms, used_at_ms"

    /// Adds a passkey. Returns false if a passkey with this id exists.
    package func add(_ passkey: OperatorPasskey) throws(StorageFailure) -> Bool {
        try connection.run(
            "INSERT INTO operator_passkeys (app, \(Self.columns)) "
                + "VALUES ('', $1, $2, $3, $4, $5, $6, $7) ON CONFLICT (app, passkey) DO NOTHING",
            [
                .bytes(passkey.id), .text(passkey.operatorName), .text(passkey.name),
                .bytes(passkey.publicKey), .integer(Int64(passkey.counter)),
                .integer(passkey.createdAt.milliseconds),
                .integer(passkey.usedAt?.milliseconds),
            ]) == 1
    }

    /// The passkey with an id. Nil if no operator has it.
    package func find(id: [UInt8]) throws(StorageFailure) -> OperatorPasskey? {
        try connection.firstRow(
            "SELECT \(Self.columns) FROM operator_passkeys WHERE app = '' AND passkey = $1",
            [.bytes(id)], Self.passkey)
    }

    /// The passkeys of an operator, the oldest first.
    package func all(of name: String) throws(StorageFailure) -> [OperatorPasskey] {
        try connection.rows(
            "SELECT \(Self.columns) FROM operator_passkeys WHERE app = '' AND operator = $1 "
                + "ORDER BY created_at_ms, passkey", [.text(name)], Self.passkey)
    }

    /// Records a use of a passkey. Idempotent.
    package func recordUse(
        ofPasskey id: [UInt8], counter: UInt32, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE operator_passkeys SET counter = $1, used_at_ms = $2 "
                + "WHERE app = '' AND passkey = $3",
            [.integer(Int64(counter)), .integer(now.milliseconds), .bytes(id)])
    }

    /// Gives a passkey another name. Returns false if the operator has no such passkey. Idempotent.
    package func rename(
        _ id: [UInt8], of name: String, to newName: String
    ) throws(StorageFailure) -> Bool {
        try connection.run(
            "UPDATE operator_passkeys SET name = $1 "
                + "WHERE app = '' AND passkey = $2 AND operator = $3",
            [.text(newName), .bytes(id), .text(name)]) == 1
    }

    /// Deletes a passkey of an operator. Returns false if the operator has no such passkey.
    /// Idempotent.
    package func delete(_ id: [UInt8], of name: String) throws(StorageFailure) -> Bool {
        try connection.run(
            "DELETE FROM operator_passkeys WHERE app = '' AND passkey = $1 AND operator = $2",
            [.bytes(id), .text(name)]) == 1
    }

    /// Deletes all passkeys of an operator. Returns how many it deleted. Idempotent.
    package func delete(of name: String) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM operator_passkeys WHERE app = '' AND operator = $1", [.text(name)])
    }

    private static func passkey(
        _ row: inout ColumnReader
    ) throws(StorageFailure) -> OperatorPasskey {
        let (id, name, title) = (try row.bytes(), try row.text(), try row.text())
        let (key, count) = (try row.bytes(), try row.count())
        guard let counter = UInt32(exactly: count) else {
            throw StorageFailure("the counter of a passkey is not a number of 32 bits")
        }
        return OperatorPasskey(
            id: id, operatorName: name, name: title, publicKey: key, counter: counter,
            createdAt: try row.instant(), usedAt: try row.optionalInstant())
    }
}
