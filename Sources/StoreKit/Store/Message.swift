/// A sheet that the App Store wants to show in the app.
public struct Message: Equatable, Hashable, Sendable {
    public struct Reason: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let generic = Self(rawValue: 0)
        public static let priceIncreaseConsent = Self(rawValue: 1)
        public static let billingIssue = Self(rawValue: 2)
        public static let winBackOffer = Self(rawValue: 3)

        public var localizedDescription: String {
            switch self {
            case .generic: "Generic"
            case .priceIncreaseConsent: "Price Increase Consent"
            case .billingIssue: "Billing Issue"
            case .winBackOffer: "Win-Back Offer"
            default: "\(rawValue)"
            }
        }
    }

    public let reason: Reason
    /// The simulator's id of the message.
    let id: String

    /// Shows the message. Apple's function has a scene as an argument, but Linux has no scenes.
    public func display() async throws {
        struct Answer: Decodable {}
        _ = try await StoreClient(.current).post("messages/\(id)/display", as: Answer.self)
    }

    public struct Messages: AsyncSequence, Sendable {
        public typealias Element = Message

        let feed: Feed<Message>

        public struct AsyncIterator: AsyncIteratorProtocol {
            var iterator: Feed<Message>.Iterator

            public mutating func next() async -> Messages.Element? { await iterator.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(iterator: feed.makeIterator())
        }
    }

    /// The waiting messages. Each message occurs once. The sequence does not end.
    public static var messages: Messages { Messages(feed: .topic(\.messages, of: .current)) }
}

extension Message {
    /// The simulator's JSON of the waiting messages.
    struct Waiting: Decodable {
        struct Payload: Decodable {
            let id: String
            let reason: String
        }
        let messages: [Payload]
    }

    init(_ payload: Waiting.Payload) {
        id = payload.id
        reason =
            switch payload.reason {
            case "price_increase_consent": .priceIncreaseConsent
            case "billing_issue": .billingIssue
            case "win_back_offer": .winBackOffer
            default: .generic
            }
    }
}
