import Ledger
import Storage

/// The clock of this server is far ahead of the clock of the database's machine.
package struct ClockAhead: Error, CustomStringConvertible {
    package var lead: Duration

    package var description: String {
        "nothing was deleted, because this server's clock is \(lead.wholeMilliseconds / 1000) s "
            + "ahead of the database's clock: correct it"
    }
}

extension RetentionService {
    /// The maximum lead of this server's clock over the clock of the database's machine.
    static let leadMax = Duration.seconds(3_600)

    /// Protects rows from a server whose clock is wrong: it would delete what is not old. With
    /// SQLite both clocks are the same, so this finds nothing. Virtual time is not compared.
    ///
    /// - Throws: ``ClockAhead``, or the failure of the database.
    package func requireClock() async throws {
        guard !context.apps.values.contains(where: \.isSimulated) else { return }
        let clock = try await context.read { tx in try tx.retention.databaseTime() }
        let lead = Duration.milliseconds(context.now().milliseconds - clock.milliseconds)
        guard lead <= Self.leadMax else { throw ClockAhead(lead: lead) }
    }
}
