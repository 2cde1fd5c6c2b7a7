import AppStoreFormats

/// One event of a stream (WHATWG HTML, "Server-sent events").
struct ServerSentEvent: Sendable {
    /// The state of a transaction that an event announces to an app.
    struct Announcement: Hashable, Sendable {
        let transactionID: String
        let state: AnnouncedState
    }

    /// A comment, which clients skip. It shows that the connection is alive.
    static let comment = Self(name: "", content: .null)

    /// The event's number among those of the device. Nil until the event is appended to a stream.
    var id: Int64?
    let name: String
    let content: JSON
    var announcement: Announcement?

    /// The encoded event. The simulator's JSON contains no line breaks.
    var bytes: [UInt8] {
        if name.isEmpty { return Array(": keep-alive\n\n".utf8) }
        let number = id.map { "\nid: \($0)" } ?? ""
        return Array("event: \(name)\(number)\ndata: ".utf8) + content.bytes + Array("\n\n".utf8)
    }
}

/// An open stream of a device's events.
struct UpdateStream: Sendable {
    /// Real time between two comments, in seconds. Proxies close a connection that is silent for a
    /// minute.
    static let commentSeconds = 15

    let events: AsyncStream<ServerSentEvent>
    /// The first events of the stream.
    let first: [ServerSentEvent]
    /// Real time after which a comment is added.
    var interval = Duration.seconds(Self.commentSeconds)
    /// Adds a comment to the stream.
    let addComment: @Sendable () -> Void
    /// Ends the stream, because it has no reader any more. Its undelivered events are announced
    /// again.
    let end: @Sendable () -> Void

    init(
        events: AsyncStream<ServerSentEvent>, first: [ServerSentEvent],
        addComment: @escaping @Sendable () -> Void, end: @escaping @Sendable () -> Void
    ) {
        self.events = events
        self.first = first
        self.addComment = addComment
        self.end = end
    }
}
