import AppStoreFormats

/// The subscriptions of a world, each in a place of its own and in the order in which they began,
/// so that one can be changed without copying its transactions.
struct Chains: Sendable {
    private var places: [String: Int] = [:]
    private var chains: [Subscription?] = []
    private var dues: [AppStoreDate?] = []

    /// By original transaction id.
    subscript(id: String) -> Subscription? { places[id].flatMap { chains[$0] } }

    /// All of them, in the order in which they began.
    var all: some Sequence<Subscription> { chains.lazy.compactMap { $0 } }

    var count: Int { chains.count }

    /// When a chain will move by itself.
    func due(at place: Int) -> AppStoreDate? { dues[place] }

    /// Takes a chain out of its place, to be changed and kept again.
    mutating func take(at place: Int) -> Subscription? {
        dues[place] = nil
        return chains[place].take()
    }

    /// Keeps a chain as it now stands. Returns its place where it is due at another time than
    /// before.
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
