import Dispatch

/// The minimum number of elements for each thread. For fewer elements, starting a thread costs more
/// than it saves.
private let elementsPerThread = 16

extension Array where Element: Sendable {
    /// Like `map`, but uses several threads if there are many elements and idle processors. Returns
    /// when all elements have been transformed.
    func concurrentMap<Mapped: Sendable>(
        _ transform: @Sendable (Element) -> Mapped
    ) -> [Mapped] {
        guard count >= 2 * elementsPerThread else { return map(transform) }
        return [Mapped](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            // Safe, because no two threads write to the same index.
            nonisolated(unsafe) let places = buffer
            DispatchQueue.concurrentPerform(iterations: (count - 1) / elementsPerThread + 1) {
                part in
                let first = part * elementsPerThread
                for index in first..<Swift.min(first + elementsPerThread, count) {
                    places.initializeElement(at: index, to: transform(self[index]))
                }
            }
            initializedCount = count
        }
    }
}
