import Ledger

/// The counted attempts to sign in: with one name, from one address, or with one name from one
/// address.
package struct SignInFailures: Hashable, Sendable {
    /// The name, the address, or both: for example `name mira` or `address 192.0.2.7`.
    package var subject: String
    package var count: Int
    package var lastAt: Instant
    /// The time until which every attempt is refused. Nil if attempts are allowed.
    package var shutUntil: Instant?

    package init(subject: String, count: Int = 0, lastAt: Instant, shutUntil: Instant? = nil) {
        self.subject = subject
        self.count = count
        self.lastAt = lastAt
        self.shutUntil = shutUntil
    }
}

/// Failed sign-ins, and the places from which operators have signed in.
package struct SignInRows: RowGroup {
    package let tx: DatabaseSession

    /// The failures of a subject. Nil if no failure is recorded.
    package func failures(
        of subject: String
    ) throws(StorageFailure) -> SignInFailures? {
        try connection.firstRow(
            "SELECT failures, last_at_ms, shut_until_ms FROM sign_in_failures "
                + "WHERE app = '' AND subject = $1", [.text(subject)]
        ) { row throws(StorageFailure) in
            SignInFailures(
                subject: subject, count: try row.count(), lastAt: try row.instant(),
                shutUntil: try row.optionalInstant())
        }
    }

    /// Replaces the failures of a subject.
    package func save(_ failures: SignInFailures) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO sign_in_failures (app, subject, failures, last_at_ms, shut_until_ms) "
                + "VALUES ('', $1, $2, $3, $4) ON CONFLICT (app, subject) DO UPDATE SET "
                + "failures = excluded.failures, last_at_ms = excluded.last_at_ms, "
                + "shut_until_ms = excluded.shut_until_ms",
            [
                .text(failures.subject), .integer(Int64(failures.count)),
                .integer(failures.lastAt.milliseconds),
                .integer(failures.shutUntil?.milliseconds),
            ])
    }

    /// Deletes the failures of a subject. Idempotent.
    package func deleteFailures(of subject: String) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM sign_in_failures WHERE app = '' AND subject = $1", [.text(subject)])
    }

    /// Deletes the failures of subjects whose last failure is before a moment. Idempotent.
    package func deleteFailures(before moment: Instant) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM sign_in_failures WHERE app = '' AND last_at_ms < $1",
            [.integer(moment.milliseconds)])
    }
}
