/// Accounts that share purchases. The first member is the organiser.
struct Family: Hashable, Sendable {
    /// Maximum number of members: the organiser and five more.
    static let membersMax = 6

    struct Key: Hashable, Sendable {
        let name: String
        let environment: SimulatedEnvironment
    }

    let name: String
    var members: [Account.Key]
}

/// How one purchase is shared in the purchaser's family.
struct Sharing: Hashable, Sendable {
    /// The id of each member's chain or, for a one-time purchase, of the member's transaction.
    var shares: [Account.Key: String] = [:]
    /// Whether the purchaser has stopped sharing the purchase.
    var isStopped = false
    /// Members for whom sharing was stopped.
    var withheld: Set<Account.Key> = []
    /// The accounts that have a seat, in the order in which they joined.
    var seated: [Account.Key] = []
}
