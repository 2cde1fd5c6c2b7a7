import AppStoreFormats

// The world as seen by the App Store Server API. Each environment knows only its own purchases.

extension World {
    /// The transaction with this id, for endpoints that accept only transaction ids.
    func transaction(
        _ id: String, in environment: SimulatedEnvironment
    ) throws(APIError) -> StoreTransaction {
        guard TransactionIDs.isID(id) else { throw .invalidTransactionID }
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
        guard TransactionIDs.isID(id) else { throw .invalidOriginalTransactionID }
        guard let found = anyTransaction(id), found.account.environment == environment,
            found.originalID == id
        else { throw .originalTransactionIDNotFound }
        return found
    }

    /// The account to which an id belongs. The id can be that of a transaction, of an original
    /// transaction, or of an app transaction.
    func account(
        ofAny id: String, in environment: SimulatedEnvironment
    ) throws(APIError) -> Account.Key {
        guard TransactionIDs.isID(id) else { throw .invalidTransactionID }
        if let found = anyTransaction(id)?.account, found.environment == environment {
            return found
        }
        guard let account = account(ofAppTransaction: id, in: environment) else {
            throw .transactionIDNotFound
        }
        return account
    }

    private func anyTransaction(_ id: String) -> StoreTransaction? {
        let id = transactionIDs.canonicalID(of: id)
        if let chain = transactionIDs.chain(of: id) {
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

    /// All transactions of an account as Apple's payloads, oldest first.
    mutating func payloads(of account: Account.Key, at now: AppStoreDate) -> [TransactionPayload] {
        var payloads: [TransactionPayload] = []
        for transaction in transactions(of: account) {
            payloads.append(payload(of: transaction, at: now))
        }
        return payloads
    }

    /// Sets the app account token of a purchase, on all its transactions. Later renewals get the
    /// same token.
    mutating func setAppAccountToken(_ token: String, of transaction: StoreTransaction) {
        guard var subscription = subscriptions[transaction.originalID] else {
            oneTimePurchases[transaction.id]?.appAccountToken = token
            return
        }
        for index in subscription.transactions.indices {
            subscription.transactions[index].appAccountToken = token
        }
        save(subscription)
    }
}

// MARK: - Order ids

/// An order id, as customers find it in Apple's mail: `M` and ten letters or digits. One order
/// contains one transaction.
enum OrderID {
    private static let digits = 10
    private static let radix = 36

    static func text(of transactionID: String) -> String {
        let number = String(Int64(transactionID) ?? 0, radix: radix, uppercase: true)
        return "M" + String(repeating: "0", count: max(0, digits - number.count)) + number
    }

    /// The transaction id in an order id. Returns nil if the text does not have the form of an
    /// order id.
    static func transactionID(_ text: String) -> String? {
        guard text.count == digits + 1, text.uppercased().hasPrefix("M") else { return nil }
        return Int64(text.dropFirst(), radix: radix).map { String($0) }
    }
}
