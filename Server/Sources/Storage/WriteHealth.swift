import Ledger
import Synchronization

/// Whether the database writes what it is asked to.
///
/// A write that fails puts it in doubt, whatever the reason. Only a probe that succeeds ends the
/// doubt: other writes may be smaller than the one that failed.
final class WriteHealth: Sendable {
    private typealias Outcome = Result<Void, any Error>

    private struct State {
        /// Failures since the last probe that succeeded.
        var failures = 0
        /// Those who wait for the probe under way; nil if there is none.
        var waiting: [CheckedContinuation<Outcome?, Never>]?
    }

    private let state = Mutex(State())

    /// - Parameter error: what a write threw. A broken constraint, or an error that is not the
    ///   database's, says nothing about the database.
    func note(_ error: any Error) {
        guard let failure = error as? StorageFailure,
            ![.constraint, .erased].contains(failure.kind)
        else { return }
        state.withLock { $0.failures += 1 }
    }

    /// Returns if no write has failed; else runs the probe. Several who ask at the same time share
    /// one probe.
    ///
    /// - Throws: what the probe throws.
    func check(_ probe: () async throws -> Void) async throws {
        let failures = state.withLock { $0.failures }
        guard failures > 0 else { return }
        if let outcome = await outcomeOfOther() { return try outcome.get() }
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

    /// Waits for the probe under way; nil for whoever has to run it.
    private func outcomeOfOther() async -> Outcome? {
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

extension Store {
    /// Whether the database writes: after a write that failed it is tried with another one.
    ///
    /// - Throws: why it does not.
    package func checkWrites(at now: Instant) async throws {
        try await commits.health.check { try await transaction { try $0.writeProbe(at: now) } }
    }
}

extension StoreTransaction {
    /// More than fits what a nearly full disk has left: about what a group of notifications takes.
    private static let probeBytes = 32_768

    func writeProbe(at now: Instant) throws(StorageFailure) {
        // Different each time, and not to be compressed.
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
