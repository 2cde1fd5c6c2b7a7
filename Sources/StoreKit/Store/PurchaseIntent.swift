/// A product that the customer chose in the App Store, to buy it in the app.
public struct PurchaseIntent: Equatable, Sendable {
    public let product: Product
    public let offer: Product.SubscriptionOffer?
    public var id: Product.ID { product.id }

    public struct PurchaseIntents: AsyncSequence, Sendable {
        public typealias Element = PurchaseIntent

        let feed: Feed<PurchaseIntent>

        public struct AsyncIterator: AsyncIteratorProtocol {
            var iterator: Feed<PurchaseIntent>.Iterator

            public mutating func next() async -> PurchaseIntents.Element? {
                await iterator.next()
            }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(iterator: feed.makeIterator())
        }
    }

    /// The intents. Each intent occurs once. The sequence does not end.
    public static var intents: PurchaseIntents {
        PurchaseIntents(feed: .topic(\.intents, of: .current))
    }
}

extension PurchaseIntent: Identifiable {}

extension PurchaseIntent {
    /// The simulator's JSON of the waiting intents.
    struct Waiting: Decodable {
        struct Payload: Decodable {
            let id: String
            let productId: String
            let offer: String?
        }
        let intents: [Payload]
    }

    /// Creates an intent, and reads its product. Returns nil if the product cannot be read now.
    init?(_ waiting: Waiting.Payload, by client: StoreClient) async {
        let request = ProductRequest(identifiers: [waiting.productId], client: client)
        guard let product = try? await request.products().first else { return nil }
        self.product = product
        let offers = product.subscription.map { $0.winBackOffers + $0.promotionalOffers } ?? []
        offer = waiting.offer.flatMap { id in offers.first { $0.id == id } }
    }
}
