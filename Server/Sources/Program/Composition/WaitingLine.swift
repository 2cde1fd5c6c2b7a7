import Synchronization

/// Lets callers do something one after the other, in the order in which they came; of different
/// names each by itself.
final class WaitingLine: Sendable {
    /// Of the names where somebody is at the front, who stands behind.
    private let waiting = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])

    /// Returns when the caller is at the front, who is to leave it.
    func join(at name: String = "") async {
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

    func leave(at name: String = "") {
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
