/// Accounts that share purchases. The first member is the organiser.
struct Family: Hashable, Sendable {
    /// The organiser and five more.
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
    /// Each member's own chain, or own transaction of a one-time purchase.
    var shares: [Account.Key: String] = [:]
    /// Whether the purchaser has stopped sharing it.
    var isStopped = false
    /// Members for whom sharing was stopped.
    var withheld: Set<Account.Key> = []
    /// Who has a seat, in the order in which they joined.
    var seated: [Account.Key] = []
}
