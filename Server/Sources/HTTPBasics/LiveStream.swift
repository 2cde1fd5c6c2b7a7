import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The content of a live stream, and the position of its client in this content.
package protocol LiveSource: Sendable {
    /// The type of the signals that wake the stream up. `Void` if a signal only says that something
    /// may have changed; otherwise the type of the change.
    associatedtype Signal: Sendable

    /// Returns the next bytes to write. Called after each signal, and immediately after an output
    /// whose `next` is `atOnce`.
    ///
    /// - Throws: any error. The error ends the response without its last chunk, so the client sees
    ///   a broken connection and connects again.
    mutating func output(after signal: Signal) async throws -> LiveOutput
}

/// The bytes that a source writes, and when it may have more.
package struct LiveOutput: Sendable {
    package enum Next: Sendable {
        /// The source may have more after the next signal.
        case afterSignal
        /// The source may have more as soon as the client has accepted these bytes.
        case atOnce
        /// The source has nothing more. The stream ends.
        case never
    }

    let bytes: ByteBuffer?
    let next: Next

    /// Nothing has changed.
    package static let nothing = Self(bytes: nil, next: .afterSignal)
    /// The stream ends.
    package static let end = Self(bytes: nil, next: .never)

    /// Complete events (WHATWG HTML, "Server-sent events").
    package static func events(_ bytes: ByteBuffer, next: Next = .afterSignal) -> Self {
        Self(bytes: bytes, next: next)
    }
}

/// The limits of one live stream.
package struct LiveStreamLimits: Sendable {
    /// How long a stream without output sends nothing, before it sends a comment. Many proxies cut
    /// a connection that is silent for a minute.
    package var commentPause: Duration
    /// A reader that does not accept an output for this long is disconnected.
    package var writeMax: Duration
    /// How long the stream lasts; nil if the stream lasts as long as the connection.
    package var lifeMax: Duration?
    /// The pause between two ticks. A tick stands for changes that send no signal.
    package var tickPause = Duration.seconds(1)

    package init(
        commentPause: Duration = .seconds(15), writeMax: Duration = .seconds(30),
        lifeMax: Duration? = nil
    ) {
        self.commentPause = commentPause
        self.writeMax = writeMax
        self.lifeMax = lifeMax
    }
}

/// A response that is a stream of server-sent events (WHATWG HTML, "Server-sent events"). All
/// streams of the server, of the dashboard and of the simulator have this type.
///
/// The stream waits for a signal, asks its source for the next output, and writes it. The stream
/// asks again only when the connection has accepted this output, so a slow reader costs no memory.
/// A reader that accepts nothing for `writeMax` is disconnected. A tick, which is also a signal,
/// comes when the stream opens and once a second.
///
/// The stream ends, and releases its place, when the source has nothing more, when the client
/// disconnects, when the server stops, or when the stream is `lifeMax` old. The client then
/// connects again, and sends the id of its last event as `Last-Event-ID`. The route that makes the
/// source lets it begin after this event.
package struct LiveStream<Source: LiveSource>: Sendable {
    package typealias Signals = (
        stream: AsyncStream<Source.Signal>,
        continuation: AsyncStream<Source.Signal>.Continuation
    )

    private let source: Source
    private let limits: LiveStreamLimits
    private let tick: Source.Signal
    private let connection: LiveConnection
    private let place: StreamPlaces.Place?
    private let signals: @Sendable () -> Signals
    private let companion: (@Sendable () async -> Void)?

    /// - Parameters:
    ///   - tick: the signal that comes when the stream opens and once a second.
    ///   - place: the reserved place of this stream; nil if the caller limits the number of
    ///     streams.
    ///   - companion: runs while the stream is open, and is cancelled when it ends.
    ///   - signals: returns the sequence of signals. Called when the body is written. The stream
    ///     finishes the sequence.
    package init(
        _ source: Source, _ limits: LiveStreamLimits, tick: Source.Signal,
        to connection: LiveConnection, in place: StreamPlaces.Place? = nil,
        beside companion: (@Sendable () async -> Void)? = nil,
        after signals: @escaping @Sendable () -> Signals
    ) {
        self.source = source
        self.limits = limits
        self.tick = tick
        self.connection = connection
        self.place = place
        self.companion = companion
        self.signals = signals
    }

    /// The response. The server writes its body while the stream is open.
    package var response: Response {
        Response(status: .ok, headers: LiveText.headers, body: body)
    }

    private var body: ResponseBody {
        ResponseBody { writer in
            let (stream, sink) = signals()
            defer {
                sink.finish()
                place?.release()
            }
            connection.onDeparture { [place] in
                place?.release()
                sink.finish()
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await yieldTicks(to: sink) }
                group.addTask {
                    try await gracefulShutdown()
                    sink.finish()
                }
                if let companion { group.addTask { await companion() } }
                try await writer.write(ByteBuffer(string: LiveText.opening))
                sink.yield(tick)
                try await write(to: &writer, after: stream, sink)
                group.cancelAll()
            }
            // The connection may accept the last output only during this call.
            let cut = connection.closing(after: limits.writeMax)
            defer { cut.cancel() }
            try await writer.finish(nil)
        }
    }

    @concurrent private func write(
        to writer: inout any ResponseBodyWriter, after signals: AsyncStream<Source.Signal>,
        _ sink: AsyncStream<Source.Signal>.Continuation
    ) async throws {
        var source = source
        var writtenAt = ContinuousClock.now
        for await signal in signals {
            var next = LiveOutput.Next.atOnce
            while next == .atOnce {
                let output = try await source.output(after: signal)
                next = output.next
                let isSilent = ContinuousClock.now - writtenAt >= limits.commentPause
                guard let bytes = output.bytes ?? (isSilent ? LiveText.comment : nil) else {
                    break
                }
                let cut = connection.closing(after: limits.writeMax)
                defer { cut.cancel() }
                try await writer.write(bytes)
                writtenAt = .now
                // A source that has much to catch up with must not outlive the stream.
                if next == .atOnce, case .terminated = sink.yield(tick) { return }
            }
            if next == .never { return }
        }
    }

    /// Yields after each pause, and finishes the signals at the end of the stream's life.
    private func yieldTicks(to sink: AsyncStream<Source.Signal>.Continuation) async {
        let end = limits.lifeMax.map { ContinuousClock.now + $0 }
        while end.map({ ContinuousClock.now < $0 }) ?? true {
            let next = ContinuousClock.now + limits.tickPause
            do { try await Task.sleep(until: end.map { min($0, next) } ?? next) } catch { return }
            sink.yield(tick)
        }
        sink.finish()
    }
}

/// The connection of a stream's client.
package struct LiveConnection: Sendable {
    private let channel: any Channel
    /// Calls a closure once, when the client has disconnected.
    fileprivate let onDeparture: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

    package init(
        _ channel: any Channel,
        onDeparture: @escaping @Sendable (_ body: @escaping @Sendable () -> Void) -> Void
    ) {
        self.channel = channel
        self.onDeparture = onDeparture
    }

    /// Closes the connection after this time, unless the caller cancels the returned task.
    fileprivate func closing(after time: Duration) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: TimeAmount(time)) { [channel] in
            channel.close(promise: nil)
        }
    }
}

/// The constants of all streams.
private enum LiveText {
    /// Sent immediately, so that the client sees that the stream is open. The number is the time in
    /// milliseconds after which the client reconnects.
    static let opening = "retry: 1000\n\n"
    /// Clients skip this comment. The comment shows that the connection is alive.
    static let comment = ByteBuffer(string: ": nothing new\n\n")

    /// The header fields of the response. The last field makes nginx forward the data immediately,
    /// even if the stream ends with the connection.
    static var headers: HTTPFields {
        var headers: HTTPFields = [
            .contentType: "text/event-stream", .cacheControl: "no-store",
        ]
        if let buffering = HTTPField.Name("X-Accel-Buffering") { headers[buffering] = "no" }
        return headers
    }
}
