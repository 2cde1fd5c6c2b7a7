import Ledger

extension StoreTransaction {
    /// Forgets a person: their ids, links, blocks, shares, grants and transfers, and what was said
    /// of their consent. Their purchases are nobody's from then on, but for those that are used up:
    /// see ``leave(_:under:in:at:)``. Who had one beside them has it no more; what Apple signed and
    /// asked stays. In events that were told their ids are replaced, each by a name that means
    /// nothing, and theirs mention nobody else: who is forgotten later could not be found there.
    ///
    /// - Parameters:
    ///   - names: for each of their ids the one that stands in earlier events from now on.
    ///   - hashes: the plain hash of each id: see ``StoreRules/erasedHash``.
    /// - Returns: how many purchases are nobody's now.
    @discardableResult
    package func erase(
        _ person: StoredCustomer, names: [CustomerID: CustomerID], hashes: [[UInt8]],
        in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Int {
        guard let pseudonym = names[person.customer] else {
            preconditionFailure("Every id of a person who is erased needs another name.")
        }
        try linkNamedConsumables(of: person, in: app, at: now)
        var counterparts = Set(
            try transfers(of: person.customer, in: app)
                .flatMap { [$0.former, $0.customer] }.compactMap { $0 })
        var unlinked = 0
        counterparts.formUnion(try partedFrom(person.ids, in: app))
        for purchase in try purchases(of: person.customer, in: app) {
            for sharer in try sharers(of: purchase, in: app) {
                try endShare(
                    of: purchase, with: sharer, from: person.customer, in: app, at: now)
                counterparts.insert(sharer)
            }
            try forgetBlock(of: purchase, in: app)
            guard try !isUsedUp(purchase, in: app) else { continue }
            _ = try forgetLink(of: purchase, in: app, at: now)
            unlinked += 1
        }
        let hashes = try hashesOfTheirOwn(person, hashes, in: app)
        try rename(names, in: app, mentionedBy: counterparts)
        try leave(person.customer, under: pseudonym, in: app, at: now)
        try forgetRows(of: person, in: app)
        try addErasures(hashes, in: app, at: now)
        try append([
            EventEntry(
                app: app, customer: nil, purchase: nil,
                change: Change(.customerErased, at: now), toldAt: now, cause: .request,
                other: pseudonym)
        ])
        return unlinked
    }

    private func forgetRows(
        of person: StoredCustomer, in app: AppID
    ) throws(StorageFailure) {
        let owner: [Value] = [.text(app.rawValue), .text(person.customer.rawValue)]
        for table in ["links", "shares", "grants", "debits", "wallets", "customer_ids"] {
            try connection.run("DELETE FROM \(table) WHERE app = $1 AND customer = $2", owner)
        }
        // Who shared what has gone to somebody else since keeps the means to end the share.
        try connection.run(
            "UPDATE transfers SET former = NULL WHERE app = $1 AND former = $2 "
                + "AND kind = 'shared' AND EXISTS (SELECT 1 FROM shares "
                + "WHERE shares.app = transfers.app "
                + "AND shares.environment = transfers.environment "
                + "AND shares.purchase = transfers.purchase "
                + "AND shares.customer = transfers.customer)", owner)
        try connection.run(
            "DELETE FROM transfers WHERE app = $1 AND (customer = $2 OR former = $2)", owner)
        try forgetConsents(of: person.customer, in: app)
        try forgetParted(person.ids, in: app)
        try forgetReminders(
            of: [person.customer] + person.ids + tokens(of: person, in: app), in: app)
        try connection.run("DELETE FROM customers WHERE app = $1 AND customer = $2", owner)
    }

    /// Without those of account tokens that name another customer, who has the same one in the
    /// other case: they go on to mean that one.
    private func hashesOfTheirOwn(
        _ person: StoredCustomer, _ hashes: [[UInt8]], in app: AppID
    ) throws(StorageFailure) -> [[UInt8]] {
        var own: [[UInt8]] = []
        for (id, hash) in zip(person.ids, hashes) {
            // In lower case, as it is hashed: an id in mixed case is no token itself.
            let token = CustomerID(accountToken: id.rawValue)
            let named = try token.flatMap { (token) throws(StorageFailure) in
                try customer(named: token.rawValue, in: app)
            }
            if named == nil || named == person.customer { own.append(hash) }
        }
        return own
    }

    /// By which reminders know a person whose purchases were nobody's: the account tokens that name
    /// them, but for one that is an id of another customer. To be called when their ids are gone.
    private func tokens(
        of person: StoredCustomer, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        var tokens: [CustomerID] = []
        for token in person.ids.compactMap(\.accountToken).map(CustomerID.init(rawValue:))
        where try customer(known: token, in: app) == nil {
            tokens.append(token)
        }
        return tokens
    }

    /// How many purchases a customer has, in both environments.
    package func linkCount(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Int {
        try purchases(of: customer, in: app).count
    }

    private static let renameBatch = 500

    /// Puts other names in the place of ids: in the events of these customers, and where the events
    /// of others mention them, which are those whom these mention.
    private func rename(
        _ names: [CustomerID: CustomerID], in app: AppID, mentionedBy others: Set<CustomerID>
    ) throws(StorageFailure) {
        var mentioning = others
        for customer in names.keys.sorted() {
            mentioning.formUnion(try rename(names, inEventsOf: customer, in: app))
        }
        // The events of one who was united with another stay under the id that they had then.
        for customer in mentioning.sorted() {
            mentioning.formUnion(try self.customer(known: customer, in: app)?.ids ?? [])
        }
        for customer in mentioning.subtracting(names.keys).subtracting(names.values).sorted() {
            _ = try rename(names, inEventsOf: customer, in: app)
        }
    }

    /// Returns whom the events mention.
    private func rename(
        _ names: [CustomerID: CustomerID], inEventsOf customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Set<CustomerID> {
        var mentioned: Set<CustomerID> = []
        var last: Int64 = 0
        while true {
            let batch = try events(of: [customer], in: app, after: last, limit: Self.renameBatch)
            guard let end = batch.last else { return mentioned }
            mentioned.formUnion(batch.compactMap(\.entry.other))
            try rewrite(batch.compactMap { $0.renamed(names) }, in: app)
            last = end.sequence
        }
    }

    private func rewrite(_ events: [Event], in app: AppID) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE events SET customer = $1, body = $2 WHERE app = $3 AND sequence = $4",
            events.map {
                [
                    .text($0.entry.customer?.rawValue), .bytes($0.entry.body),
                    .text(app.rawValue), .integer($0.sequence),
                ]
            })
    }
}

extension WalletChange {
    /// What the app's server wrote about a person.
    fileprivate mutating func forgetWords() {
        if debit != nil { (reason, key) = ("", nil) }
    }
}

extension Event {
    /// With other names; nil where it holds none of these.
    fileprivate func renamed(_ names: [CustomerID: CustomerID]) -> Event? {
        var event = self
        event.entry.customer = entry.customer.map { names[$0] ?? $0 }
        event.entry.other = entry.other.map { names[$0] ?? $0 }
        if event.entry.customer != entry.customer {
            event.entry.other = entry.other.flatMap { names[$0] }
            event.entry.change.grant?.reason = ""
            event.entry.change.wallet?.forgetWords()
        }
        return event == self ? nil : event
    }
}
