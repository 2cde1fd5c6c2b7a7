extension Product.SubscriptionInfo {
    public struct RenewalState: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let subscribed = Self(rawValue: 1)
        public static let expired = Self(rawValue: 2)
        public static let inBillingRetryPeriod = Self(rawValue: 3)
        public static let inGracePeriod = Self(rawValue: 4)
        public static let revoked = Self(rawValue: 5)

        public var localizedDescription: String {
            switch self {
            case .subscribed: "Subscribed"
            case .expired: "Expired"
            case .inBillingRetryPeriod: "In Billing Retry Period"
            case .inGracePeriod: "In Billing Grace Period"
            case .revoked: "Revoked"
            default: "\(rawValue)"
            }
        }
    }

    public struct Status: Equatable, Hashable, Sendable {
        public let state: RenewalState
        public let transaction: VerificationResult<Transaction>
        public let renewalInfo: VerificationResult<RenewalInfo>

        public struct Statuses: AsyncSequence, Sendable {
            public typealias Element = Product.SubscriptionInfo.Status

            let feed: Feed<Element>

            public struct AsyncIterator: AsyncIteratorProtocol {
                var iterator: Feed<Element>.Iterator

                public mutating func next() async -> Statuses.Element? { await iterator.next() }
            }

            public func makeAsyncIterator() -> AsyncIterator {
                AsyncIterator(iterator: feed.makeIterator())
            }
        }

        /// The changes of this device's subscriptions. The sequence does not end.
        public static var updates: Statuses {
            Statuses(feed: .topic(\.statuses, of: .current))
        }

        /// The statuses of each group. The sequence has one element for each group.
        public static var all: AsyncStream<(groupID: String, statuses: [Status])> {
            let client = StoreClient(.current)
            let answer = Answer(client: client)
            return AsyncStream { await answer.next() }
        }
    }
}

extension Product.SubscriptionInfo.Status {
    /// The simulator's JSON of a status, in answers and events.
    struct Payload: Decodable {
        let groupId: String
        let status: Int
        let signedTransaction: String
        let verification: String
        let signedRenewalInfo: String
        let renewalVerification: String
    }

    private struct Payloads: Decodable {
        let statuses: [Payload]
    }

    /// Reads a status. Returns nil if one of its documents cannot be decoded.
    init?(_ payload: Payload) {
        guard
            let transaction = VerificationResult<Transaction>(
                payload.signedTransaction, payload.verification),
            let renewalInfo = VerificationResult<Product.SubscriptionInfo.RenewalInfo>(
                payload.signedRenewalInfo, payload.renewalVerification)
        else { return nil }
        state = .init(rawValue: payload.status)
        self.transaction = transaction
        self.renewalInfo = renewalInfo
    }

    /// The statuses of one group, or of all groups. In a cancelled task the result is empty, as
    /// observed on devices.
    static func read(
        group: String?, by client: StoreClient = StoreClient(.current)
    ) async throws -> [Self] {
        try await groups(group, by: client).flatMap(\.statuses)
    }

    private static func groups(
        _ group: String?, by client: StoreClient
    ) async throws -> [(groupID: String, statuses: [Self])] {
        let query = group.map { ["group": $0] } ?? [:]
        let answer = try await client.readCached("statuses", query, as: Payloads.self)
        if Task.isCancelled { return [] }
        let payloads = answer?.statuses ?? []
        let ids = payloads.map(\.groupId).reduce(into: [String]()) { ids, id in
            if !ids.contains(id) { ids.append(id) }
        }
        return ids.map { id in
            (id, payloads.filter { $0.groupId == id }.compactMap { Self($0) })
        }
    }

    /// Returns the groups of an answer one by one.
    private actor Answer {
        private let client: StoreClient
        private var left: [(groupID: String, statuses: [Product.SubscriptionInfo.Status])]?

        init(client: StoreClient) { self.client = client }

        func next() async -> (groupID: String, statuses: [Product.SubscriptionInfo.Status])? {
            if left == nil {
                left = (try? await Product.SubscriptionInfo.Status.groups(nil, by: client)) ?? []
            }
            guard let first = left?.first else { return nil }
            left?.removeFirst()
            return first
        }
    }
}
