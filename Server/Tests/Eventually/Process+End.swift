import Foundation
import Synchronization

/// If several programs end at once, Foundation on Linux sometimes misses the end of one. Then
/// `waitUntilExit()` never returns, and `terminationHandler` is never called. So tests ask the
/// system.
extension Process {
    /// Waits for the end of a program that was started. Blocks the thread meanwhile. May be called
    /// once only.
    ///
    /// - Returns: the exit status, or 128 plus the number of the signal that ended the program.
    /// - Throws: ``NeverCame`` if the program does not end in time. This function then kills the
    ///   program.
    @discardableResult
    package func waitForEnd(within seconds: Double = waitSecondsMax) throws -> Int32 {
        try whileItRuns(waitingFor: "its end", within: seconds) { exitStatus }
    }

    /// Like ``waitForEnd(within:)``, but does not block a thread that other tests need.
    @discardableResult
    package func waitForEnd(within seconds: Double = waitSecondsMax) async throws -> Int32 {
        try await onOwnThread { Result { try self.waitForEnd(within: seconds) } }.get()
    }

    /// Starts a program, waits for its end, and returns how it ended and everything that it wrote
    /// to standard output. Blocks the thread meanwhile.
    ///
    /// - Parameter errors: whether to return standard error, too.
    /// - Throws: ``NeverCame`` if the program does not end in time. This function then kills the
    ///   program.
    package func output(
        withErrors errors: Bool = false, within seconds: Double = waitSecondsMax
    ) throws -> (status: Int32, bytes: Data) {
        let pipe = Pipe()
        standardOutput = pipe
        if errors { standardError = pipe }
        try run()
        return try whileItRuns(waitingFor: "its output", within: seconds) {
            let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
            return (exitStatus, bytes)
        }
    }

    /// Like ``output(withErrors:within:)``, but does not block a thread that other tests need.
    package func output(
        withErrors errors: Bool = false, within seconds: Double = waitSecondsMax
    ) async throws -> (status: Int32, bytes: Data) {
        try await onOwnThread { Result { try self.output(withErrors: errors, within: seconds) } }
            .get()
    }

    /// Runs a closure that waits for this program. Kills the program when the time is over, so that
    /// the closure returns.
    ///
    /// - Parameter what: what the closure waits for; the error names it.
    /// - Throws: ``NeverCame`` if the time was over before the closure returned.
    package func whileItRuns<Value>(
        waitingFor what: String, within seconds: Double = waitSecondsMax,
        _ body: () throws -> Value
    ) throws -> Value {
        let limit = ProcessLimit(of: processIdentifier, seconds: seconds)
        let value = Result { try body() }
        guard limit.end() else {
            let words = [executableURL?.lastPathComponent ?? "?"] + (arguments ?? [])
            let command = words.joined(separator: " ").prefix(500)
            throw NeverCame("\(what), of the program \(command)", within: seconds)
        }
        return try value.get()
    }

    private var exitStatus: Int32 {
        var status: Int32 = 0
        while waitpid(processIdentifier, &status, 0) < 0 {
            guard errno != EINTR else { continue }
            // Foundation has already collected the exit status.
            waitUntilExit()
            return terminationReason == .exit ? terminationStatus : 128 + terminationStatus
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}

/// Kills a program and the processes that it started, unless it ends in time.
private final class ProcessLimit: Sendable {
    private enum State { case runs, killed, ended }

    private let state = Mutex(State.runs)

    init(of process: Int32, seconds: Double) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
            state.withLock { state in
                guard state == .runs else { return }
                state = .killed
                // Foundation gives each program its own process group.
                if kill(-process, SIGKILL) != 0 { kill(process, SIGKILL) }
            }
        }
    }

    /// Returns false if the time limit had already killed the program.
    func end() -> Bool {
        state.withLock { state in
            if state == .runs { state = .ended }
            return state == .ended
        }
    }
}

/// Runs a blocking call, such as a read of another program's output, on its own thread. All tests
/// share a few threads, so two blocked threads would delay the other tests.
package func onOwnThread<Value: Sendable>(
    _ work: @escaping @Sendable () -> Value
) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}
