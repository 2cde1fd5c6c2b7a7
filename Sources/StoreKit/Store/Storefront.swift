/// The App Store of a country.
public struct Storefront: Identifiable, Sendable {
    /// The country's code in ISO 3166-1 alpha-3.
    public let countryCode: String
    public let id: String
    public let currency: Locale.Currency?

    /// The storefront of the device. Nil if the storefront is unknown.
    public static var current: Storefront? {
        get async { await read(by: StoreClient(.current)) }
    }

    public struct Storefronts: AsyncSequence, Sendable {
        public typealias Element = Storefront

        let feed: Feed<Storefront>

        public struct AsyncIterator: AsyncIteratorProtocol {
            var iterator: Feed<Storefront>.Iterator

            public mutating func next() async -> Storefront? { await iterator.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(iterator: feed.makeIterator())
        }
    }

    /// The changes of the storefront. The sequence does not end.
    public static var updates: Storefronts {
        Storefronts(feed: .topic(\.storefronts, of: .current))
    }
}

extension Storefront {
    /// The simulator's JSON of a storefront.
    struct Payload: Decodable {
        let countryCode: String
        let id: String
        let currency: String?
    }

    init(_ payload: Payload) {
        self.init(
            countryCode: payload.countryCode, id: payload.id,
            currency: payload.currency.map { Locale.Currency($0) })
    }

    static func read(by client: StoreClient) async -> Storefront? {
        let answer = try? await client.readCached("storefront", as: Payload.self)
        return answer.map { Storefront($0) }
    }
}
