import Dispatch

extension DispatchSemaphore {
    /// Blocks the thread until the semaphore is signalled.
    ///
    /// - Parameter what: what the test waits for; the error names it.
    /// - Throws: ``NeverCame`` if nobody signals the semaphore in time.
    package func wait(
        for what: String, within seconds: Double = waitSecondsMax
    ) throws(NeverCame) {
        guard wait(timeout: .now() + seconds) == .success else {
            throw NeverCame(what, within: seconds)
        }
    }
}
