import Ledger

// An app may name an account at a purchase (Apple: `appAccountToken`), which is a UUID. The App
// Store sends it in lower case; apps use it as a customer's id as Swift writes it, in upper case,
// too. Both mean the same customer.

/// A customer whom an account token names.
struct NamedCustomer: Hashable {
    /// The id by which it does.
    var id: CustomerID
    var customer: CustomerID
}

extension StoreTransaction {
    /// Whether the app's account tokens are ids of customers.
    package func tokensNameCustomers(in app: AppID) -> Bool {
        !rules.withForeignTokens.contains(app)
    }

    /// Whom an account token names; nil while it is no known id. Where two customers have it, each
    /// in a case of its own, it is the one who had it first.
    func named(by token: String, in app: AppID) throws(StorageFailure) -> NamedCustomer? {
        guard tokensNameCustomers(in: app) else { return nil }
        let rows = try connection.rows(
            "SELECT id, customer FROM customer_ids WHERE app = $1 AND id IN ($2, $3) "
                + "ORDER BY since_ms, id LIMIT 1",
            [.text(app.rawValue), .text(token.lowercased()), .text(token.uppercased())])
        return try rows.first.map { (row) throws(StorageFailure) in
            NamedCustomer(
                id: CustomerID(rawValue: try row.text(0)),
                customer: CustomerID(rawValue: try row.text(1)))
        }
    }

    /// The customer whom an account token names; nil where nobody is known by it.
    package func customer(
        named token: String, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        try named(by: token, in: app)?.customer
    }

    /// The timelines of purchases that are nobody's and name one of these ids: they answer for the
    /// customer without being linked; but not for somebody who was erased and came again, and not
    /// where another customer has the same token.
    package func namedTimelines(
        _ ids: [CustomerID], in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        guard tokensNameCustomers(in: app) else { return [] }
        var found: [Timeline] = []
        for token in Set(ids.compactMap(\.accountToken)).sorted() {
            let timelines = try unlinkedTimelines(token: token, in: app, environment: environment)
            guard !timelines.isEmpty, try means(token, oneOf: ids, in: app) else { continue }
            found += timelines
        }
        return found
    }

    /// Whether an account token that one of these ids is means whoever has them: nobody who was
    /// erased, and no other customer who has the same token.
    private func means(
        _ token: String, oneOf ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> Bool {
        guard try !isErased(token: token, in: app) else { return false }
        guard let named = try named(by: token, in: app) else { return true }
        return ids.contains(named.id)
    }

    /// The events behind one, in their order, that tell of purchases while these were nobody's and
    /// named one of these ids, whosever they are now: they have no customer, and are the
    /// customer's all the same, who may be known by nothing else. A purchase has few of them, so
    /// all are read.
    package func namedEvents(
        _ ids: [CustomerID], in app: AppID, after sequence: Int64
    ) throws(StorageFailure) -> [Event] {
        guard tokensNameCustomers(in: app) else { return [] }
        var found: [Event] = []
        for token in Set(ids.compactMap(\.accountToken)).sorted() {
            let purchases = try connection.rows(
                Self.selectNaming, [.text(app.rawValue), .text(token)])
            guard !purchases.isEmpty, try means(token, oneOf: ids, in: app) else { continue }
            let told = try connection.rowsEach(
                Self.selectEvents(where: Self.ofNobodyAfter),
                purchases.map { [.text(app.rawValue)] + $0.values + [.integer(sequence)] })
            for rows in told {
                // Before a purchase named them it may have named somebody else.
                found += try Self.events(rows, of: app).filter { $0.entry.accountToken == token }
            }
        }
        return found.sorted { $0.sequence < $1.sequence }
    }

    static let selectNaming =
        "SELECT environment, purchase FROM purchases WHERE app = $1 AND account_token = $2"

    /// For whom a purchase answers: its owner, or the customer whom it names.
    package func holder(
        _ owner: CustomerID?, token: String?, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        if let owner { return owner }
        guard let token, let named = try customer(named: token, in: app) else { return nil }
        return try isErased(token: token, in: app) ? nil : named
    }

    /// Tells whom a purchase names that it has come to them or gone from them. Of whom nothing is
    /// kept yet, the event has their token and no customer. It mentions nobody else: who is erased
    /// later would not be looked for in it.
    func tellNamed(
        of purchase: PurchaseID, in app: AppID, _ kind: Change.Kind, at now: Instant
    ) throws(StorageFailure) {
        guard let token = try timeline(of: purchase, in: app)?.accountToken,
            tokensNameCustomers(in: app), try !isErased(token: token, in: app)
        else { return }
        if let named = try customer(named: token, in: app) {
            try tellOwner(of: purchase, is: named, in: app, kind, at: now)
        } else if CustomerID(accountToken: token) != nil {
            let product = try toldPurchase(purchase, in: app)?.told?.condition?.product
            try tellAside(
                Change(kind, at: now, product: product), of: purchase, in: app, by: .request,
                at: now)
        }
    }

    // MARK: - Tokens of nobody who is known

    /// An account token by which no customer is known, and how many purchases have it.
    package struct Stranger: Hashable, Sendable {
        package var token: String
        package var purchases: Int
        /// Of these, how many belong to a customer all the same.
        package var linked: Int
    }

    /// The account tokens of an app's purchases that are no ids of customers, in their order, from
    /// behind one on.
    package func strangersNamed(
        in app: AppID, after token: String, limit: Int
    ) throws(StorageFailure) -> [Stranger] {
        let rows = try connection.rows(
            "SELECT account_token, count(*), count(\(Self.selectOwner)) FROM purchases "
                + "WHERE app = $1 AND account_token > $2 AND NOT EXISTS "
                + "(SELECT 1 FROM customer_ids WHERE customer_ids.app = purchases.app "
                + "AND id IN (lower(account_token), upper(account_token))) "
                + "GROUP BY account_token ORDER BY account_token LIMIT $3",
            [.text(app.rawValue), .text(token), .integer(Int64(limit))])
        return try rows.map { (row) throws(StorageFailure) in
            Stranger(
                token: try row.text(0), purchases: Int(try row.integer(1)),
                linked: Int(try row.integer(2)))
        }
    }

    /// The same, without account tokens that somebody who was erased had as an id: they mean nobody
    /// any more, and what is told later must not lead back to a person.
    func withoutErasedTokens(_ entries: [EventEntry]) throws(StorageFailure) -> [EventEntry] {
        var tokens: [AppID: Set<String>] = [:]
        for entry in entries where entry.customer == nil {
            if let token = entry.accountToken { tokens[entry.app, default: []].insert(token) }
        }
        guard !tokens.isEmpty else { return entries }
        var erased: [AppID: Set<String>] = [:]
        for (app, tokens) in tokens { erased[app] = try erasedTokens(among: tokens, in: app) }
        return entries.map { entry in
            guard entry.customer == nil, let token = entry.accountToken,
                erased[entry.app]?.contains(token) == true
            else { return entry }
            var entry = entry
            entry.accountToken = nil
            return entry
        }
    }
}

extension CustomerID {
    /// Of a UUID, known by its length: to look for what is none among the tokens does no harm.
    private static let tokenBytes = 36
    private static let tokenHyphens: Set = [8, 13, 18, 23]

    /// The id that an account token is, in lower case. Nil for what is no UUID, and for the zero
    /// UUID, which is nobody's id.
    package init?(accountToken token: String) {
        let bytes = Array(token.lowercased().utf8)
        guard bytes.count == Self.tokenBytes else { return nil }
        let isUUID = bytes.enumerated().allSatisfy { index, byte in
            Self.tokenHyphens.contains(index)
                ? byte == UInt8(ascii: "-")
                : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        let nothing = [UInt8(ascii: "0"), UInt8(ascii: "-")]
        guard isUUID, !bytes.allSatisfy(nothing.contains) else { return nil }
        self.init(rawValue: String(decoding: bytes, as: UTF8.self))
    }

    /// The account token that names this id, in lower case; nil for what is no UUID in one case.
    package var accountToken: String? {
        guard rawValue.utf8.count == Self.tokenBytes else { return nil }
        let lower = rawValue.lowercased()
        return rawValue == lower || rawValue == rawValue.uppercased() ? lower : nil
    }
}
