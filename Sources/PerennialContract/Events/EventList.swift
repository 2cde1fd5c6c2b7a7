/// A page of events in order, with the cursor of the next page.
public struct EventList: Hashable, Sendable, Codable {
    public var items: [Event]
    /// Pass it as `after` to read what follows, now or later. Set even if no events follow yet.
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
