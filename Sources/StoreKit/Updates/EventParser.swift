/// Parses server-sent events (WHATWG HTML, "Server-sent events") from bytes in pieces of any size.
struct EventParser: Sendable {
    /// The maximum size of an event, in bytes. A larger event is skipped.
    static let eventBytesMax = 1_048_576

    struct Event: Equatable, Sendable {
        var name = "message"
        var id: String?
        var data = Data()
    }

    private var line: [UInt8] = []
    private var event = Event()
    private var hasData = false
    private var isTooLarge = false
    private var endsWithReturn = false

    /// Parses further bytes. Returns the events that are complete after these bytes.
    mutating func events(in bytes: Data) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            let follows = endsWithReturn && byte == UInt8(ascii: "\n")
            endsWithReturn = byte == UInt8(ascii: "\r")
            if follows { continue }
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                isTooLarge = isTooLarge || line.count + event.data.count >= Self.eventBytesMax
                if !isTooLarge { line.append(byte) }
                continue
            }
            if let event = interpretLine() { events.append(event) }
        }
        return events
    }

    /// Adds a line to the event. Returns the event if this line is its last line.
    private mutating func interpretLine() -> Event? {
        defer { line = [] }
        guard !line.isEmpty || isTooLarge else { return finishEvent() }
        let text = String(decoding: line, as: UTF8.self)
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : ""
        if value.first == " " { value.removeFirst() }
        switch parts[0] {
        case "event": event.name = String(value)
        case "id": event.id = String(value)
        case "data":
            if hasData { event.data.append(UInt8(ascii: "\n")) }
            event.data.append(contentsOf: value.utf8)
            hasData = true
        default: break
        }
        return nil
    }

    private mutating func finishEvent() -> Event? {
        defer { (event, hasData, isTooLarge) = (Event(), false, false) }
        return hasData && !isTooLarge ? event : nil
    }
}
