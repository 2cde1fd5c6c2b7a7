/// Which purchase runs now, and which transactions this process bought. A value without IO: the
/// engine has the task of each purchase, shows the sheet, and posts what was bought.
struct Purchasing: Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// The first purchase may show its sheet. Each of the others waits for the one before it.
        /// Never empty, and no purchase is in it twice.
        case buying([PurchaseKey])
    }

    /// How a purchase begins.
    enum Start: Hashable, Sendable {
        /// The same product is already being bought. This call returns the outcome of that
        /// purchase.
        case joined
        case atOnce
        /// The purchase begins after this other one has ended.
        case after(PurchaseKey)
    }

    private(set) var state = State.idle
    /// Transactions that were returned by purchases of this process. They are finished even if the
    /// offerings do not contain their products.
    private(set) var ownTransactions: Set<String> = []

    mutating func start(_ key: PurchaseKey) -> Start {
        guard case .buying(let keys) = state else {
            state = .buying([key])
            return .atOnce
        }
        guard !keys.contains(key) else { return .joined }
        state = .buying(keys + [key])
        return keys.last.map { .after($0) } ?? .atOnce
    }

    mutating func finish(_ key: PurchaseKey) {
        guard case .buying(let keys) = state else { return }
        let left = keys.filter { $0 != key }
        state = left.isEmpty ? .idle : .buying(left)
    }

    /// Records the transaction that a purchase returned.
    mutating func recordTransaction(_ id: String) { ownTransactions.insert(id) }
}

/// The product that is bought, and the customer.
struct PurchaseKey: Hashable, Sendable {
    var product: Perennial.ProductID
    /// Nil before there is a customer.
    var customer: String?
    /// A purchase of another number of seats is another purchase.
    var seats: Int?
}
