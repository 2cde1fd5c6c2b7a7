import AppStoreFormats

/// The subscriptions of a world, each at a fixed index in the order in which they began, so that
/// one can be changed without copying its transactions.
struct Chains: Sendable {
    private var places: [String: Int] = [:]
    private var chains: [Subscription?] = []
    private var dues: [AppStoreDate?] = []

    /// Looks up a chain by its original transaction id.
    subscript(id: String) -> Subscription? { places[id].flatMap { chains[$0] } }

    /// All chains, in the order in which they began.
    var all: some Sequence<Subscription> { chains.lazy.compactMap { $0 } }

    var count: Int { chains.count }

    /// When the next event of a chain is due.
    func due(at place: Int) -> AppStoreDate? { dues[place] }

    /// Removes a chain from its place in order to change it. The caller must save it again.
    mutating func take(at place: Int) -> Subscription? {
        dues[place] = nil
        return chains[place].take()
    }

    /// Saves a chain. Returns its place if its due time has changed.
    mutating func keep(_ chain: Subscription, due: AppStoreDate?) -> Int? {
        guard let place = places[chain.id] else {
            places[chain.id] = chains.count
            chains.append(chain)
            dues.append(due)
            return chains.count - 1
        }
        let hasMoved = dues[place] != due
        chains[place] = chain
        dues[place] = due
        return hasMoved ? place : nil
    }
}
