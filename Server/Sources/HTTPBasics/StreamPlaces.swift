import Synchronization

/// Counts the live streams that are open, and refuses those beyond a limit.
package final class StreamPlaces: Sendable {
    /// Too many streams are open, in total or for one reader.
    package struct Full: Error {
        /// The limit that was reached.
        package let max: Int
        /// Whether the limit is that of the reader.
        package let isOfReader: Bool
    }

    private struct State {
        var count = 0
        var byReader: [String: Int] = [:]
    }

    private let max: Int
    private let state = Mutex(State())

    /// - Parameter max: the maximum number of streams that are open at one time.
    package init(max: Int) { self.max = max }

    /// The number of streams that are open.
    package var openCount: Int { state.withLock { $0.count } }

    /// Reserves one of the streams. The stream's place is free again when the returned value is
    /// released.
    ///
    /// - Parameter reader: the viewer of a page, or the key of a stream of the HTTP API.
    /// - Parameter ownMax: the maximum number of streams of the reader.
    package func reserve(for reader: String, max ownMax: Int) throws(Full) -> Place {
        let full: Full? = state.withLock { state in
            guard state.byReader[reader, default: 0] < ownMax else {
                return Full(max: ownMax, isOfReader: true)
            }
            guard state.count < max else { return Full(max: max, isOfReader: false) }
            state.byReader[reader, default: 0] += 1
            state.count += 1
            return nil
        }
        if let full { throw full }
        return Place(self, reader)
    }

    private func release(_ reader: String) {
        state.withLock { state in
            state.count -= 1
            let rest = state.byReader[reader, default: 0] - 1
            state.byReader[reader] = rest > 0 ? rest : nil
        }
    }

    /// The place of one open stream. A response whose body is never written, such as the response
    /// to HEAD, also releases its place.
    package final class Place: Sendable {
        private let places: StreamPlaces
        private let reader: String
        private let isReleased = Atomic(false)

        fileprivate init(_ places: StreamPlaces, _ reader: String) {
            self.places = places
            self.reader = reader
        }

        deinit { release() }

        /// Frees the place for another stream. Idempotent.
        package func release() {
            guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
            places.release(reader)
        }
    }
}
