import AppStoreFormats

/// A customer at RevenueCat: the ids that belong together, and the purchases made under them.
struct KnownCustomer: Sendable {
    /// The ids with the times at which they were added, oldest first. Never empty.
    var aliases: [(id: String, added: AppStoreDate)]
    let firstSeen: AppStoreDate
    var lastSeen: AppStoreDate
    /// Original transaction ids, in the order in which they became known.
    var purchases: [String] = []
    var grants: [PromotionalGrant] = []
    /// The balance of each virtual currency, by its code.
    var balances: [String: Int64] = [:]
    /// Whether the customer was merged into another one.
    var isMerged = false

    init(id: String, at now: AppStoreDate) {
        aliases = [(id, now)]
        firstSeen = now
        lastSeen = now
    }

    /// The first id.
    var originalID: String { aliases[0].id }
    /// The id that was added last, by which the app knows a customer who has logged in.
    var newestID: String { aliases[aliases.count - 1].id }
}
