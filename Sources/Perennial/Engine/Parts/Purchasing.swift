/// The purchase that runs now, and the transactions that this process bought. The type is a value
/// without IO: the engine has the task of each purchase, shows the sheet, and posts the
/// transaction.
struct Purchasing: Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// The purchases in progress. The first purchase may show its sheet. Each of the others
        /// waits for the purchase before it. The list is never empty, and contains no purchase
        /// twice.
        case buying([PurchaseKey])
    }

    /// How a purchase begins.
    enum Start: Hashable, Sendable {
        /// The same product is already being bought. This call returns the outcome of that
        /// purchase.
        case joined
        case atOnce
        /// The new purchase begins when this other purchase has ended.
        case after(PurchaseKey)
    }

    private(set) var state = State.idle
    /// The transactions that purchases of this process returned. The transactions are finished even
    /// if the offerings do not contain their products.
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

/// The product that is bought, the customer, and the number of seats.
struct PurchaseKey: Hashable, Sendable {
    var product: Perennial.ProductID
    /// The customer's id. Nil before there is a customer.
    var customer: String?
    /// The number of seats. The same product with another number of seats is another
    /// purchase.
    var seats: Int?
}
