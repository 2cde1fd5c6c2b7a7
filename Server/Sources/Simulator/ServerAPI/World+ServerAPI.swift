import AppStoreFormats

// What the App Store Server API asks of the world. To one store the other's purchases are unknown.

extension World {
    /// Digits of an id, at most.
    private static let idLengthMax = 19

    /// Whether a text has the form of an id.
    static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= idLengthMax
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// A transaction by its own id, for endpoints that take no other kind.
    func transaction(
        _ id: String, in environment: SimulatedEnvironment
    ) throws(APIError) -> StoreTransaction {
        guard Self.isID(id) else { throw .invalidTransactionID }
        if let found = anyTransaction(id), found.account.environment == environment {
            return found
        }
        guard account(ofAppTransaction: id, in: environment) == nil else {
            throw .appTransactionIDNotSupported
        }
        throw .transactionIDNotFound
    }

    /// The transaction that began a purchase, by its id.
    func original(
        _ id: String, in environment: SimulatedEnvironment
    ) throws(APIError) -> StoreTransaction {
        guard Self.isID(id) else { throw .invalidOriginalTransactionID }
        guard let found = anyTransaction(id), found.account.environment == environment,
            found.originalID == id
        else { throw .originalTransactionIDNotFound }
        return found
    }

    /// The account of any id: of a transaction, an original transaction or an app transaction.
    func account(
        ofAny id: String, in environment: SimulatedEnvironment
    ) throws(APIError) -> Account.Key {
        guard Self.isID(id) else { throw .invalidTransactionID }
        if let found = anyTransaction(id)?.account, found.environment == environment {
            return found
        }
        guard let account = account(ofAppTransaction: id, in: environment) else {
            throw .transactionIDNotFound
        }
        return account
    }

    private func anyTransaction(_ id: String) -> StoreTransaction? {
        let id = ownID(of: id)
        if let chain = chainOfTransaction[id] {
            return subscriptions[chain]?.transactions.first { $0.id == id }
        }
        return oneTimePurchases[id]
    }

    private func account(
        ofAppTransaction id: String, in environment: SimulatedEnvironment
    ) -> Account.Key? {
        accounts.values.first {
            $0.appTransactionID == id && $0.key.environment == environment
        }?.key
    }

    /// All transactions of an account in Apple's words, oldest first.
    mutating func payloads(of account: Account.Key, at now: AppStoreDate) -> [TransactionPayload] {
        var payloads: [TransactionPayload] = []
        for transaction in transactions(of: account) {
            payloads.append(payload(of: transaction, at: now))
        }
        return payloads
    }

    /// Gives a purchase the app's own id of a customer. It is on every transaction of the purchase,
    /// and goes over to its renewals.
    mutating func setAppAccountToken(_ token: String, of transaction: StoreTransaction) {
        guard var subscription = subscriptions[transaction.originalID] else {
            oneTimePurchases[transaction.id]?.appAccountToken = token
            return
        }
        for index in subscription.transactions.indices {
            subscription.transactions[index].appAccountToken = token
        }
        keep(subscription)
    }
}

// MARK: - Order numbers

/// The number of an order, as customers find it in Apple's mail: `M` and ten letters or digits. One
/// order holds one transaction.
enum OrderID {
    private static let digits = 10
    private static let radix = 36

    static func text(of transactionID: String) -> String {
        let number = String(Int64(transactionID) ?? 0, radix: radix, uppercase: true)
        return "M" + String(repeating: "0", count: max(0, digits - number.count)) + number
    }

    /// Nil where a text has not the form of an order's number.
    static func transactionID(_ text: String) -> String? {
        guard text.count == digits + 1, text.uppercased().hasPrefix("M") else { return nil }
        return Int64(text.dropFirst(), radix: radix).map { String($0) }
    }
}
