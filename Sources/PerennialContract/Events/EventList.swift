/// A page of events in order, with the cursor of the next page.
public struct EventList: Hashable, Sendable, Codable {
    public var items: [Event]
    /// The cursor after the last event: pass it as `after` to read later events. The cursor is set
    /// even if there are no later events yet.
    public var nextCursor: String

    public init(items: [Event], nextCursor: String) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }
}
