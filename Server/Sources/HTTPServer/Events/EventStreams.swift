import Engine
import HTTPTypes
import Hummingbird
import Synchronization

/// The limits of event streams.
package struct EventStreamLimits: Sendable {
    /// The maximum number of streams that are open at one time on this server.
    package var streamsMax = 100
    /// The maximum number of streams with one key.
    package var streamsOfKeyMax = 50
    /// The maximum number of an operator's streams of pages.
    package var streamsOfOperatorMax = 20
    /// How long a stream without events sends nothing, before it sends a comment. Many proxies cut
    /// a connection that is silent for a minute.
    package var commentPause = Duration.seconds(15)
    /// How often the key of a stream is looked up again, with or without events.
    package var keyPause = Duration.seconds(15)
    /// A reader that does not accept a page of events, or a comment, for this long is disconnected.
    package var writeMax = Duration.seconds(30)
    /// How long a stream lasts. The client then connects again and continues.
    package var lifeMax = Duration.hours(1)
    /// How long a page's stream lasts. The page is then loaded again, which counts as a use of the
    /// session. So this is longer than a session usually lasts without use.
    package var pageLifeMax = Duration.days(7)
    /// The maximum number of events that one step reads from the database and then writes.
    package var pageMax = 100

    package init() {}
}

/// The open event streams of this server.
package final class EventStreams: Sendable {
    let limits: EventStreamLimits
    private let state = Mutex(State())

    private struct State {
        var count = 0
        var byReader: [String: Int] = [:]
    }

    init(_ limits: EventStreamLimits) { self.limits = limits }

    /// The header fields of a response that is a stream. The last field makes nginx forward its
    /// data immediately, even if the stream ends with the connection.
    package static var headers: HTTPFields {
        [
            .contentType: "text/event-stream", .cacheControl: "no-store",
            .accelBuffering: "no",
        ]
    }

    /// The number of streams that are open.
    var openCount: Int { state.withLock { $0.count } }

    /// Reserves one of the streams. Its place is free again when the returned value is released.
    ///
    /// - Parameter reader: the viewer of a page, or the key of a stream of the HTTP API.
    /// - Parameter ownMax: the maximum number of streams of the reader.
    /// - Throws: ``ProblemError`` if too many streams are open, in total or for the reader.
    func reserve(for reader: String, max ownMax: Int) throws -> Place {
        let reached: Int? = state.withLock { state in
            guard state.count < limits.streamsMax else { return limits.streamsMax }
            guard state.byReader[reader, default: 0] < ownMax else { return ownMax }
            state.byReader[reader, default: 0] += 1
            state.count += 1
            return nil
        }
        if let reached { throw ProblemError(.tooManyStreams(max: reached)) }
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
    /// to HEAD, releases its place, too.
    final class Place: Sendable {
        private let streams: EventStreams
        private let reader: String
        private let isReleased = Atomic(false)

        fileprivate init(_ streams: EventStreams, _ reader: String) {
            self.streams = streams
            self.reader = reader
        }

        deinit { release() }

        /// Idempotent.
        func release() {
            guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
            streams.release(reader)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let accelBuffering = wellFormed("X-Accel-Buffering")
}
