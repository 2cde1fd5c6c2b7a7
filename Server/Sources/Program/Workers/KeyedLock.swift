import Synchronization

/// Lets callers proceed one after the other, in the order of their calls. Each name has its own
/// queue.
final class KeyedLock: Sendable {
    /// For each name in use, the callers that wait for the first caller.
    private let waiting = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])

    /// Returns when it is the caller's turn. The caller must call ``unlock(at:)`` afterwards.
    func lock(at name: String = "") async {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                guard waiting[name] != nil else {
                    waiting[name] = []
                    return true
                }
                waiting[name]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func unlock(at name: String = "") {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard waiting[name]?.isEmpty == false else {
                waiting[name] = nil
                return nil
            }
            return waiting[name]?.removeFirst()
        }
        next?.resume()
    }
}
