import Ledger

// An app may attach an account to a purchase (Apple: `appAccountToken`), which is a UUID. The App
// Store sends the token in lower case; apps also use it as a customer id in upper case, as Swift
// writes a UUID. Both forms identify the same customer.

/// A customer identified by an account token.
struct TokenMatch: Hashable {
    /// The customer id that equals the token.
    var id: CustomerID
    var customer: CustomerID
}

/// The account tokens of purchases, and the customers that they identify.
package struct AccountTokenRows: RowGroup {
    package let tx: DatabaseSession

    /// Returns whether the app's account tokens are customer ids.
    package func identifyCustomers(in app: AppID) -> Bool {
        !rules.withForeignTokens.contains(app)
    }

    /// The customer that an account token identifies. Returns nil if the token is not a known id.
    /// If one customer has the token as an id in upper case, and another customer has it in lower
    /// case, returns the customer who had it first.
    func match(by token: String, in app: AppID) throws(StorageFailure) -> TokenMatch? {
        guard identifyCustomers(in: app) else { return nil }
        return try connection.firstRow(
            "SELECT id, customer FROM customer_ids WHERE app = $1 AND id IN ($2, $3) "
                + "ORDER BY since_ms, id LIMIT 1",
            [.text(app.rawValue), .text(token.lowercased()), .text(token.uppercased())]
        ) { row throws(StorageFailure) in
            TokenMatch(
                id: try row.customer(), customer: try row.customer())
        }
    }

    /// The customer that an account token identifies. Returns nil if the token is not a known id.
    package func customer(
        named token: String, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        try match(by: token, in: app)?.customer
    }

    /// The timelines of purchases that have no owner and whose account token is one of these ids. A
    /// purchase whose account token is a customer's id belongs to that customer without being
    /// linked. There are two exceptions: the token belonged to an erased customer, or another
    /// customer has the same token.
    package func timelines(
        _ ids: [CustomerID], in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        guard identifyCustomers(in: app) else { return [] }
        var found: [Timeline] = []
        for token in Set(ids.compactMap(\.accountToken)).sorted() {
            let timelines = try tx.links.unlinkedTimelines(
                token: token, in: app, environment: environment)
            guard !timelines.isEmpty, try identifies(token, oneOf: ids, in: app) else { continue }
            found += timelines
        }
        return found
    }

    /// Returns whether an account token that equals one of these ids identifies the customer with
    /// these ids: the token must not have belonged to an erased customer, and must not identify
    /// another customer.
    private func identifies(
        _ token: String, oneOf ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> Bool {
        guard try !tx.erasedIDs.contains(token: token, in: app) else { return false }
        guard let named = try match(by: token, in: app) else { return true }
        return ids.contains(named.id)
    }

    /// Returns events after the given one, in order. An event is included if its purchase had no
    /// owner when the event happened, and if the purchase has one of these ids as its account
    /// token. The present owner of the purchases does not matter. These events name no customer,
    /// but belong to the customer with these ids, who may have no other records. A purchase has few
    /// such events, so all are read.
    package func events(
        _ ids: [CustomerID], in app: AppID, after sequence: Int64
    ) throws(StorageFailure) -> [LoggedEvent] {
        guard identifyCustomers(in: app) else { return [] }
        var found: [LoggedEvent] = []
        for token in Set(ids.compactMap(\.accountToken)).sorted() {
            let purchases = try connection.rows(
                Self.selectByToken, [.text(app.rawValue), .text(token)])
            guard !purchases.isEmpty, try identifies(token, oneOf: ids, in: app) else { continue }
            let told = try connection.rowsEach(
                EventLog.selectEvents(where: EventLog.ofNobodyAfter),
                purchases.map { [.text(app.rawValue)] + $0.values + [.integer(sequence)] })
            for rows in told {
                // The purchase may have had another token earlier.
                found += try EventLog.events(rows, of: app).filter {
                    $0.entry.accountToken == token
                }
            }
        }
        return found.sorted { $0.sequence < $1.sequence }
    }

    /// Whether any purchase has the id as its account token, whoever owns the purchase.
    package func isCarried(_ id: CustomerID, in app: AppID) throws(StorageFailure) -> Bool {
        guard let token = id.accountToken else { return false }
        let values: [Value] = [.text(app.rawValue), .text(token)]
        return try !connection.rows(Self.selectByToken + " LIMIT 1", values).isEmpty
    }

    static let selectByToken =
        "SELECT environment, purchase FROM purchases WHERE app = $1 AND account_token = $2"

    /// An account token that identifies no known customer, and the number of purchases with it.
    package struct UnknownToken: Hashable, Sendable {
        package var token: String
        package var purchases: Int
        /// The number of these purchases that are linked to a customer for another reason.
        package var linked: Int
    }

    /// The account tokens of an app's purchases that are not customer ids, sorted, beginning after
    /// the given token.
    package func unknown(
        in app: AppID, after token: String, limit: Int
    ) throws(StorageFailure) -> [UnknownToken] {
        try connection.rows(
            "SELECT account_token, count(*), count(links.customer) "
                + "FROM \(PurchaseRows.purchasesWithOwners) "
                + "WHERE purchases.app = $1 AND account_token > $2 AND NOT EXISTS "
                + "(SELECT 1 FROM customer_ids WHERE customer_ids.app = purchases.app "
                + "AND id IN (lower(account_token), upper(account_token))) "
                + "GROUP BY account_token ORDER BY account_token LIMIT $3",
            [.text(app.rawValue), .text(token), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            UnknownToken(
                token: try row.text(), purchases: try row.count(), linked: try row.count())
        }
    }

    /// Removes account tokens that were ids of erased customers: such tokens no longer identify
    /// anyone, and later events must not lead back to a person.
    func withoutErasedTokens(_ entries: [EventEntry]) throws(StorageFailure) -> [EventEntry] {
        var tokens: [AppID: Set<String>] = [:]
        for entry in entries where entry.customer == nil {
            if let token = entry.accountToken { tokens[entry.app, default: []].insert(token) }
        }
        guard !tokens.isEmpty else { return entries }
        var erased: [AppID: Set<String>] = [:]
        for (app, tokens) in tokens {
            erased[app] = try tx.erasedIDs.erasedTokens(among: tokens, in: app)
        }
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
    /// The length of a UUID as text. Only the length is checked, because it is harmless to look up
    /// a text that is not a token.
    private static let tokenBytes = 36
    private static let tokenHyphens: Set = [8, 13, 18, 23]

    /// The customer id that equals an account token, in lower case. Returns nil if the text is not
    /// a UUID, or is the zero UUID, which identifies nobody.
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

    /// The account token equal to this id, in lower case. Nil unless the id is a UUID entirely in
    /// one case.
    package var accountToken: String? {
        guard rawValue.utf8.count == Self.tokenBytes else { return nil }
        let lower = rawValue.lowercased()
        return rawValue == lower || rawValue == rawValue.uppercased() ? lower : nil
    }

    /// The same UUID in the other letter case. Nil if the id is not a UUID entirely in one case, or
    /// if it has no letters.
    var inOtherCase: CustomerID? {
        guard let lower = accountToken, CustomerID(accountToken: lower) != nil else { return nil }
        let other = rawValue == lower ? lower.uppercased() : lower
        return other == rawValue ? nil : CustomerID(rawValue: other)
    }
}
