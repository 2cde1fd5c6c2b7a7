import Eventually
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import ServiceLifecycle
import Synchronization
import Testing

@testable import HTTPBasics

@Suite(.timeLimit(.minutes(5))) struct LiveStreamTests {
    private static let opening = "retry: 1000\n\n"
    private static let comment = ": nothing new\n\n"

    @Test func `at each signal, the source is asked for the next output until the source ends`()
        async throws
    {
        let stream = OpenStream([.nothing, .text("a"), .text("b"), .last("c")])
        for signal in 1...3 { stream.sink.yield(signal) }
        try await stream.read()
        #expect(stream.reader.parts == [Self.opening, "a", "b", "c"])
        #expect(stream.reader.isFinished)
        // The first signal is the tick that comes when the stream opens, or later if a signal was
        // earlier.
        #expect(stream.asked.signals.sorted() == [0, 1, 2, 3])
    }

    @Test func `a source that announces more output is asked again without a signal`() async throws
    {
        var limits = OpenStream.limits
        limits.lifeMax = .seconds(10)
        let stream = OpenStream([.text("a", .atOnce), .text("b", .atOnce), .last("c")], limits)
        try await stream.read()
        #expect(stream.reader.parts == [Self.opening, "a", "b", "c"])
        #expect(stream.asked.signals == [0, 0, 0])
    }

    @Test func `the source is asked at each tick, even without a signal`() async throws {
        var limits = OpenStream.limits
        limits.tickPause = .milliseconds(1)
        let stream = OpenStream([.nothing, .nothing, .text("a"), .last("b")], limits)
        try await stream.read()
        #expect(stream.reader.parts == [Self.opening, "a", "b"])
        #expect(stream.asked.signals == [0, 0, 0, 0])
    }

    @Test func `a stream sends comments only after it was silent for the pause`() async throws {
        for (pause, parts) in [
            (Duration.zero, [Self.opening, Self.comment, "end"]),
            (.seconds(3600), [Self.opening, "end"]),
        ] {
            var limits = OpenStream.limits
            limits.commentPause = pause
            let stream = OpenStream([.nothing, .last("end")], limits)
            stream.sink.yield(1)
            try await stream.read()
            #expect(stream.reader.parts == parts)
        }
    }

    @Test func `the source is asked again only after the reader has accepted the last output`()
        async throws
    {
        let stream = OpenStream([.text("a", .atOnce), .last("b")])
        stream.reader.hold(at: "a")
        async let done: Void = stream.read()
        try await eventually("the stream writes the first event") { stream.reader.isHeld }
        #expect(stream.asked.signals == [0])
        stream.reader.accept()
        try await done
        #expect(stream.reader.parts == [Self.opening, "a", "b"])
    }

    @Test func `a reader that does not accept an output in time is disconnected`() async throws {
        let stream = OpenStream([.last("a")])
        stream.reader.hold(at: "a")
        async let done: Void = stream.read()
        try await eventually("the stream writes the event") { stream.reader.isHeld }
        await stream.loop.advanceTime(by: .seconds(29))
        #expect(stream.channel.isActive)
        await stream.loop.advanceTime(by: .seconds(2))
        #expect(!stream.channel.isActive)
        stream.reader.accept()
        try await done
    }

    @Test func `a stream ends and frees its place when its client leaves`() async throws {
        let places = StreamPlaces(max: 1)
        let stream = OpenStream([], place: try places.reserve(for: "anna", max: 1))
        async let done: Void = stream.read()
        try await eventually("the stream is open") { stream.reader.parts == [Self.opening] }
        #expect(places.openCount == 1)
        stream.leave()
        try await done
        #expect(places.openCount == 0)
    }

    @Test func `a stream with more output to send ends when its client leaves`() async throws {
        let stream = OpenStream((1...9).map { .text("\($0)", .atOnce) })
        stream.reader.hold(at: "2")
        async let done: Void = stream.read()
        try await eventually("the stream writes the second event") { stream.reader.isHeld }
        stream.leave()
        stream.reader.accept()
        try await done
        #expect(stream.reader.parts == [Self.opening, "1", "2"])
    }

    @Test func `a stream ends after its maximum lifetime`() async throws {
        var limits = OpenStream.limits
        limits.lifeMax = .milliseconds(1)
        let stream = OpenStream([], limits)
        try await stream.read()
        #expect(stream.reader.isFinished)
    }

    @Test func `a stream ends when the server stops`() async throws {
        let stream = OpenStream([])
        let services = ServiceGroup(services: [stream], logger: Logger(label: "test"))
        async let done: Void = services.run()
        try await eventually("the stream is open") { stream.reader.parts == [Self.opening] }
        await services.triggerGracefulShutdown()
        try await done
        #expect(stream.reader.isFinished)
    }

    @Test func `the companion task of a stream is cancelled at the end of the stream`() async throws
    {
        let states = Mutex<[String]>([])
        let stream = OpenStream([.nothing, .last("end")]) {
            states.withLock { $0.append("began") }
            let (pause, sink) = AsyncStream.makeStream(of: Void.self)
            for await _ in pause {}
            sink.finish()
            states.withLock { $0.append("cancelled") }
        }
        async let done: Void = stream.read()
        try await eventually("the companion runs") { states.withLock { $0 == ["began"] } }
        stream.sink.yield(1)
        try await done
        #expect(states.withLock { $0 } == ["began", "cancelled"])
    }

    @Test func `if the source fails, the response is aborted`() async throws {
        let stream = OpenStream([nil])
        await #expect(throws: ScriptedSource.Failure.self) { try await stream.read() }
        #expect(!stream.reader.isFinished)
    }

    @Test func `streams beyond a limit are refused until a place is released`() throws {
        let places = StreamPlaces(max: 2)
        let first = try places.reserve(for: "anna", max: 1)
        #expect(throws: StreamPlaces.Full.self) { try places.reserve(for: "anna", max: 1) }
        let second = try places.reserve(for: "ben", max: 1)
        #expect(throws: StreamPlaces.Full.self) { try places.reserve(for: "cleo", max: 1) }
        for _ in 0..<2 { first.release() }
        #expect(places.openCount == 1)
        let third = try places.reserve(for: "anna", max: 1)
        withExtendedLifetime([first, second, third]) { #expect(places.openCount == 2) }
    }
}

// MARK: - A stream in memory

/// A stream to a reader in memory, on a connection whose clock the test moves.
private struct OpenStream: Service {
    /// The usual limits, but ticks do not come while the test runs.
    static var limits: LiveStreamLimits {
        var limits = LiveStreamLimits()
        limits.tickPause = .seconds(3600)
        return limits
    }

    let loop = NIOAsyncTestingEventLoop()
    let channel: NIOAsyncTestingChannel
    let reader = Reader()
    let asked = Asked()
    let sink: AsyncStream<Int>.Continuation
    private let response: Response
    private let departure: Departure

    /// - Parameter outputs: what the source returns, in order, and then nothing. Nil is a failure.
    init(
        _ outputs: [LiveOutput?], _ limits: LiveStreamLimits = limits,
        place: StreamPlaces.Place? = nil, beside companion: (@Sendable () async -> Void)? = nil
    ) {
        let (stream, sink) = AsyncStream.makeStream(of: Int.self)
        let channel = NIOAsyncTestingChannel(loop: loop)
        let departure = Departure()
        self.sink = sink
        self.channel = channel
        self.departure = departure
        response =
            LiveStream(
                ScriptedSource(outputs: outputs, asked: asked), limits, tick: 0,
                to: LiveConnection(channel) { departure.set($0) }, in: place, beside: companion
            ) { (stream, sink) }.response
    }

    /// Reads the stream until it ends.
    func read() async throws {
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        try await response.body.write(reader)
    }

    func run() async throws { try await read() }

    func leave() { departure.happen() }
}

private struct ScriptedSource: LiveSource {
    struct Failure: Error {}

    var outputs: [LiveOutput?]
    let asked: Asked

    mutating func output(after signal: Int) throws -> LiveOutput {
        asked.append(signal)
        guard !outputs.isEmpty else { return .nothing }
        guard let output = outputs.removeFirst() else { throw Failure() }
        return output
    }
}

extension LiveOutput {
    fileprivate static func text(_ text: String, _ next: Next = .afterSignal) -> Self {
        .events(ByteBuffer(string: text), next: next)
    }

    fileprivate static func last(_ text: String) -> Self { .text(text, .never) }
}

/// The signals with which a source was asked.
private final class Asked: Sendable {
    private let list = Mutex<[Int]>([])
    var signals: [Int] { list.withLock { $0 } }
    func append(_ signal: Int) { list.withLock { $0.append(signal) } }
}

/// What a stream calls when its client leaves.
private final class Departure: Sendable {
    private let body = Mutex<(@Sendable () -> Void)?>(nil)
    func set(_ new: @escaping @Sendable () -> Void) { body.withLock { $0 = new } }
    func happen() { body.withLock { $0 }?() }
}

/// Collects what is written, and can delay accepting it.
private final class Reader: ResponseBodyWriter, Sendable {
    private struct State {
        var parts: [String] = []
        var isFinished = false
        var heldPart: String?
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var parts: [String] { state.withLock { $0.parts } }
    var isFinished: Bool { state.withLock { $0.isFinished } }
    var isHeld: Bool { state.withLock { $0.waiting != nil } }

    /// Does not accept this part until ``accept()`` is called.
    func hold(at part: String) { state.withLock { $0.heldPart = part } }

    func accept() { state.withLock { $0.waiting }?.resume() }

    func write(_ buffer: ByteBuffer) async throws {
        let part = String(buffer: buffer)
        let isHeld = state.withLock { state in
            state.parts.append(part)
            return state.heldPart == part
        }
        guard isHeld else { return }
        await withCheckedContinuation { waiting in state.withLock { $0.waiting = waiting } }
    }

    func finish(_ trailingHeaders: HTTPFields?) { state.withLock { $0.isFinished = true } }
}
