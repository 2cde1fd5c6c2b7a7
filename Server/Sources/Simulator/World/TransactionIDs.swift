/// The subscription of each transaction, and the other ids under which transactions were reported.
struct TransactionIDs: Sendable {
    /// Maximum number of digits of an id.
    private static let lengthMax = 19

    /// The original transaction id of each transaction of a subscription.
    private var chains: [String: String] = [:]
    /// Other ids of a transaction, each with the canonical id.
    private var canonicalIDs: [String: String] = [:]

    /// The number of ids of subscriptions' transactions.
    var count: Int { chains.count }

    /// The original transaction id of a subscription, given the id of any of its transactions.
    /// Nil if the transaction is not of a subscription.
    func chain(of id: String) -> String? { chains[id] }

    mutating func add(_ id: String, of chain: String) { chains[id] = chain }

    /// Records that a transaction was reported under another id. Requests with that id refer to the
    /// same purchase.
    mutating func recordAlias(_ id: String, as other: String) {
        let own = canonicalID(of: id)
        canonicalIDs[other] = own
        chains[other] = chains[own]
    }

    /// The id under which a transaction is stored. `id` is that id, or another id under which the
    /// transaction was reported.
    func canonicalID(of id: String) -> String { canonicalIDs[id] ?? id }

    /// Whether a text has the form of an id.
    static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= lengthMax
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
