/// Accounts that share purchases. The first organises the family.
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

/// What became of one purchase in the purchaser's family.
struct Sharing: Hashable, Sendable {
    /// Each member's own chain, or own transaction of what is bought once.
    var shares: [Account.Key: String] = [:]
    /// Whether the purchaser has stopped sharing it.
    var isStopped = false
    /// Members who have given it up.
    var withheld: Set<Account.Key> = []
}
