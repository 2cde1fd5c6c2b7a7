import AppStoreFormats
import HTTPBasics
import NIOCore

/// One event of a stream (WHATWG HTML, "Server-sent events").
struct ServerSentEvent: Sendable {
    /// The state of a transaction that an event announces to an app.
    struct Announcement: Hashable, Sendable {
        let transactionID: String
        let state: AnnouncedState
    }

    /// An event that sends nothing. It comes once a second, so that the stream checks how long it
    /// was silent.
    static let tick = Self(name: "", content: .null)
    var isTick: Bool { name.isEmpty }

    /// The event's number among those of the device. Nil until the event is appended to a stream.
    var id: Int64?
    let name: String
    let content: JSON
    var announcement: Announcement?

    /// The encoded event. The simulator's JSON contains no line breaks.
    var bytes: [UInt8] {
        let number = id.map { "\nid: \($0)" } ?? ""
        return Array("event: \(name)\(number)\ndata: ".utf8) + content.bytes + Array("\n\n".utf8)
    }
}

/// An open stream of a device's events.
struct UpdateStream: Sendable {
    let events: AsyncStream<ServerSentEvent>
    /// Receives the events. Events that come after the stream has ended are announced again.
    let sink: AsyncStream<ServerSentEvent>.Continuation
    /// The first events of the stream.
    let first: [ServerSentEvent]
    var limits = LiveStreamLimits()
}

/// Writes each event of a device when it comes.
struct UpdateSource: LiveSource {
    func output(after event: ServerSentEvent) -> LiveOutput {
        event.isTick ? .nothing : .events(ByteBuffer(bytes: event.bytes))
    }
}
