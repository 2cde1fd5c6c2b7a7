extension Transaction {
    public struct Transactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<Transaction>

        let feed: Feed<Element>

        public struct AsyncIterator: AsyncIteratorProtocol {
            var iterator: Feed<Element>.Iterator

            public mutating func next() async -> VerificationResult<Transaction>? {
                await iterator.next()
            }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(iterator: feed.makeIterator())
        }
    }

    /// All transactions of the customer. Finished consumables are left out, unless they were
    /// refunded or ``SimulatedDevice/includesFinishedConsumables`` is set.
    public static var all: Transactions {
        let client = StoreClient(.current)
        return Transactions(feed: .list { await history(by: client) })
    }

    /// The transactions of products that the customer may use now, without consumables.
    public static var currentEntitlements: Transactions { list("entitlements") }

    /// The transactions that the app has not finished yet.
    public static var unfinished: Transactions { list("unfinished") }

    /// Transactions that ``Product/purchase(options:)`` does not return: first the unfinished and
    /// the new transactions, then each change. The sequence does not end.
    public static var updates: Transactions {
        Transactions(feed: .topic(\.transactions, of: .current))
    }

    public static func all(for productID: String) -> Transactions {
        let client = StoreClient(.current)
        return Transactions(
            feed: .list { await history(by: client).filter { $0.isOf(productID) } })
    }

    public static func currentEntitlements(for productID: String) -> Transactions {
        let client = StoreClient(.current)
        return Transactions(
            feed: .list { await read("entitlements", by: client).filter { $0.isOf(productID) } })
    }

    public static func currentEntitlement(
        for productID: String
    ) async -> VerificationResult<Transaction>? {
        newest(of: await read("entitlements"), productID)
    }

    /// The newest transaction of a product. Nil if the customer never bought the product.
    public static func latest(for productID: String) async -> VerificationResult<Transaction>? {
        newest(of: await history(by: StoreClient(.current)), productID)
    }
}

// MARK: - Reading

extension Transaction {
    /// The simulator's JSON of one document in an event.
    struct Announcement: Decodable {
        let signedTransaction: String
        let verification: String
    }

    private struct List: Decodable {
        let signedTransactions: [String]
        let verifications: [String]
        let finishedConsumables: [String]?

        var results: [VerificationResult<Transaction>] {
            zip(signedTransactions, verifications).compactMap { VerificationResult($0, $1) }
        }
    }

    /// The transactions that a route of the device returns. Empty in a cancelled task, and if the
    /// device cannot answer.
    static func read(
        _ path: String, by client: StoreClient = StoreClient(.current)
    ) async -> [VerificationResult<Transaction>] {
        await readList(path, by: client)?.results ?? []
    }

    private static func readList(_ path: String, by client: StoreClient) async -> List? {
        let answer = try? await client.readCached(path, as: List.self)
        return Task.isCancelled ? nil : answer
    }

    private static func history(by client: StoreClient) async -> [VerificationResult<Transaction>] {
        guard let answer = await readList("transactions", by: client) else { return [] }
        if client.device.includesFinishedConsumables { return answer.results }
        let hidden = Set((answer.finishedConsumables ?? []).compactMap { UInt64($0) })
        return answer.results.filter { !hidden.contains($0.unsafePayloadValue.id) }
    }

    private static func list(_ path: String) -> Transactions {
        let client = StoreClient(.current)
        return Transactions(feed: .list { await read(path, by: client) })
    }

    private static func newest(
        of all: [VerificationResult<Transaction>], _ productID: String
    ) -> VerificationResult<Transaction>? {
        all.filter { $0.isOf(productID) }.max {
            let (left, right) = ($0.unsafePayloadValue, $1.unsafePayloadValue)
            return (left.purchaseDate, left.id) < (right.purchaseDate, right.id)
        }
    }
}

extension VerificationResult<Transaction> {
    fileprivate func isOf(_ productID: String) -> Bool {
        unsafePayloadValue.productID == productID
    }
}
