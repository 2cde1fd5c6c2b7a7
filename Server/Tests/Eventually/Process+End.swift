import Foundation

/// Foundation on Linux sometimes misses the end of a program when several end at once, and then
/// `waitUntilExit()` never returns and `terminationHandler` is never called. So tests ask the
/// system.
extension Process {
    /// Waits for the end of a program that was started, and holds the thread meanwhile. Call it
    /// once.
    ///
    /// - Returns: the exit status, or 128 and the number of the signal that ended it.
    @discardableResult
    package func waitForEnd() -> Int32 {
        var status: Int32 = 0
        while waitpid(processIdentifier, &status, 0) < 0 {
            guard errno != EINTR else { continue }
            // Foundation has noticed it first.
            waitUntilExit()
            return terminationReason == .exit ? terminationStatus : 128 + terminationStatus
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }

    /// As ``waitForEnd()``, without a thread that other tests need.
    @discardableResult
    package func waitForEnd() async -> Int32 {
        await onOwnThread { self.waitForEnd() }
    }
}

/// Runs what blocks, such as reading what another program writes, on a thread of its own. On the
/// few threads that all tests share, two that block would hold up the rest.
package func onOwnThread<Value: Sendable>(
    _ work: @escaping @Sendable () -> Value
) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}
