import Ledger
import Synchronization

/// Tracks whether the database accepts writes.
///
/// After any failed write, it is doubtful whether the database accepts writes. Only a successful
/// probe removes the doubt, because other writes may be smaller than the write that failed.
final class WriteHealth: Sendable {
    private typealias Outcome = Result<Void, any Error>

    private struct State {
        /// Failures since the last successful probe.
        var failures = 0
        /// The callers that wait for the probe in progress. Nil if no probe is running.
        var waiting: [CheckedContinuation<Outcome?, Never>]?
    }

    private let state = Mutex(State())

    /// Records a failed write. Ignores errors that say nothing about the health of the database: a
    /// violated constraint, or an error that did not come from the database.
    func recordFailure(_ error: any Error) {
        guard let failure = error as? StorageFailure,
            ![.constraint, .erased, .needsSerializable].contains(failure.kind)
        else { return }
        state.withLock { $0.failures += 1 }
    }

    /// Returns at once if no write has failed; otherwise runs the probe. Concurrent callers share
    /// one probe.
    ///
    /// - Throws: the error of the probe.
    func check(_ probe: () async throws -> Void) async throws {
        let failures = state.withLock { $0.failures }
        guard failures > 0 else { return }
        if let outcome = await sharedOutcome() { return try outcome.get() }
        let outcome: Outcome
        do {
            try await probe()
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        let waiting = state.withLock { state in
            if case .success = outcome, state.failures == failures { state.failures = 0 }
            defer { state.waiting = nil }
            return state.waiting ?? []
        }
        for other in waiting { other.resume(returning: outcome) }
        try outcome.get()
    }

    /// Waits for the probe in progress. Returns nil if no probe is running; the caller must then
    /// run it.
    private func sharedOutcome() async -> Outcome? {
        await withCheckedContinuation { continuation in
            let runs = state.withLock { state in
                guard state.waiting != nil else {
                    state.waiting = []
                    return true
                }
                state.waiting?.append(continuation)
                return false
            }
            if runs { continuation.resume(returning: nil) }
        }
    }
}

extension Database {
    /// Checks that the database accepts writes: if a write has failed, tries another write.
    ///
    /// - Throws: the reason why the database does not accept writes.
    package func checkWrites(at now: Instant) async throws {
        try await observers.health.check {
            try await transaction { try $0.writeProbes.write(at: now) }
        }
    }
}

/// A row that is written to see whether the database accepts writes.
package struct WriteProbeRows: RowGroup {
    package let tx: DatabaseSession

    /// The size of the row in bytes: about the size of a group of notifications, so that the probe
    /// fails on a nearly full disk.
    private static let probeBytes = 32_768

    func write(at now: Instant) throws(StorageFailure) {
        // The content is different each time, and cannot be compressed.
        var word = UInt64(bitPattern: now.milliseconds) | 1
        let filler = (0..<Self.probeBytes).map { _ in
            word = word &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: word >> 56)
        }
        try connection.run(
            """
            INSERT INTO write_probes (app, at_ms, filler) VALUES ('', $1, $2)
            ON CONFLICT (app) DO UPDATE SET at_ms = excluded.at_ms, filler = excluded.filler
            """, [.integer(now.milliseconds), .bytes(filler)])
    }
}
