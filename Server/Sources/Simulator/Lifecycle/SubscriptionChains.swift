import AppStoreFormats

/// The subscriptions of a world, each at a fixed index in the order in which they began. A
/// subscription can be changed without copying its transactions.
struct SubscriptionChains: Sendable {
    private var places: [String: Int] = [:]
    private var chains: [Subscription?] = []
    private var dueTimes: [AppStoreDate?] = []

    /// The chain with an original transaction id.
    subscript(id: String) -> Subscription? { places[id].flatMap { chains[$0] } }

    /// All chains, in the order in which they began.
    var all: some Sequence<Subscription> { chains.lazy.compactMap { $0 } }

    var count: Int { chains.count }

    /// When the next event of a chain is due.
    func due(at place: Int) -> AppStoreDate? { dueTimes[place] }

    /// Removes a chain from its place in order to change it. The caller must save it again.
    mutating func remove(at place: Int) -> Subscription? {
        dueTimes[place] = nil
        return chains[place].take()
    }

    /// Saves a chain. Returns its place if its due time has changed.
    mutating func save(_ chain: Subscription, due: AppStoreDate?) -> Int? {
        guard let place = places[chain.id] else {
            places[chain.id] = chains.count
            chains.append(chain)
            dueTimes.append(due)
            return chains.count - 1
        }
        let hasMoved = dueTimes[place] != due
        chains[place] = chain
        dueTimes[place] = due
        return hasMoved ? place : nil
    }
}
