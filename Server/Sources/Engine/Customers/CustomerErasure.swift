import Ledger
import Storage

/// Erases customers. Consumables that an erased customer used up stay with a pseudonym.
struct CustomerErasure {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Erases a customer, in ``Database/transactionWithoutRecordings(_:)``: deletes the customer's
    /// ids, links, blocks, shares, grants, transfers and consent.
    ///
    /// The customer's purchases lose their owner, except for consumables, which stay with a
    /// pseudonym: see ``transferConsumables(_:under:in:at:)``. The erasure also ends shares of the
    /// customer's purchases, the groups that the customer paid for, and the customer's seats in
    /// other groups. Documents signed by Apple, and Apple's requests for consumption information,
    /// stay.
    ///
    /// In existing events the customer's ids are replaced by meaningless pseudonyms. The ids of
    /// other customers are also removed from the customer's own events. The reason is that a later
    /// erasure of such a customer would not find the ids there.
    ///
    /// - Parameters:
    ///   - names: for each id of the customer, the pseudonym that replaces it in existing events.
    ///   - hashes: the plain hash of each id: see ``DatabaseRules/erasedHash``.
    /// - Returns: the number of purchases that lost their owner.
    @discardableResult
    func erase(
        _ person: StoredCustomer, names: [CustomerID: CustomerID], hashes: [[UInt8]],
        in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Int {
        guard let pseudonym = names[person.customer] else {
            preconditionFailure("Every id of an erased customer needs a pseudonym.")
        }
        try tx.pendingEvents.lockLog(of: app)
        try linkConsumablesByToken(of: person, in: app, at: now)
        try SeatUpdates(tx).erase(of: person, under: pseudonym, in: app, at: now)
        var counterparts = Set(
            try tx.transfers.all(of: person.customer, in: app)
                .flatMap { [$0.former, $0.customer] }.compactMap { $0 })
        var unlinked = 0
        counterparts.formUnion(try tx.customers.separatedFrom(person.ids, in: app))
        for purchase in try tx.links.purchases(of: person.customer, in: app) {
            for sharer in try tx.shares.sharers(of: purchase, in: app) {
                try OwnershipUpdates(tx).revokeShare(
                    of: purchase, with: sharer, from: person.customer, in: app, at: now)
                counterparts.insert(sharer)
            }
            try tx.links.deleteBlock(of: purchase, in: app)
            guard try !isUsedUp(purchase, in: app) else { continue }
            _ = try OwnershipUpdates(tx).deleteLink(of: purchase, in: app, at: now)
            unlinked += 1
        }
        let hashes = try hashesToErase(person, hashes, in: app)
        // Numbers all events, including the events of this transaction. No document is recorded
        // meanwhile. Another transaction may add an event about this person at the same time. It
        // must have read a row that is deleted here, so one of the two transactions runs again.
        try tx.pendingEvents.numberAll(of: app)
        try tx.webhooks.revokeCursorLeases(of: app)
        try replaceIDs(names, in: app, mentionedBy: counterparts)
        try tx.audit.replaceIDs(names, in: app)
        try scrubDeliveries(ofPerson: names, in: app)
        try transferConsumables(person.customer, under: pseudonym, in: app, at: now)
        try deleteRows(of: person, in: app)
        try tx.erasedIDs.record(hashes, in: app, at: now)
        try tx.events.append([
            EventEntry(
                app: app, customer: nil, purchase: nil,
                change: Change(.customerErased, at: now), knownAt: now, cause: .request,
                other: pseudonym)
        ])
        return unlinked
    }

    /// The number of purchases, in both environments, that would lose their owner if a customer
    /// were erased. Counts all purchases except consumables. Purchases that belong to the customer
    /// only because of their account token are also counted.
    func erasableCount(
        of person: StoredCustomer, in app: AppID
    ) throws(StorageFailure) -> Int {
        var count = 0
        for purchase in try tx.links.purchases(of: person.customer, in: app)
        where try !isUsedUp(purchase, in: app) { count += 1 }
        for environment in Environment.allCases {
            count += try tx.accountTokens.timelines(person.ids, in: app, environment: environment)
                .count { !$0.hasConsumables }
        }
        return count
    }

    private func deleteRows(
        of person: StoredCustomer, in app: AppID
    ) throws(StorageFailure) {
        let customer = person.customer
        for id in [customer] + person.ids { try tx.shown.delete(id, in: app) }
        try tx.customers.deleteOwnedRows(of: customer, in: app)
        try tx.transfers.delete(of: customer, in: app)
        try tx.consents.delete(of: customer, in: app)
        try tx.customers.deleteRemovedIDs(person.ids, in: app)
        try tx.reminders.delete(
            of: [customer] + person.ids + tokens(of: person, in: app), in: app)
        try tx.customers.delete(customer, in: app)
        try tx.rehearsals.deleteDifferences(of: app)
    }

    /// The hashes to erase. Another customer may have the same account token in the other letter
    /// case. The hash of such a token is left out, because the token must keep identifying that
    /// customer.
    private func hashesToErase(
        _ person: StoredCustomer, _ hashes: [[UInt8]], in app: AppID
    ) throws(StorageFailure) -> [[UInt8]] {
        var own: [[UInt8]] = []
        for (id, hash) in zip(person.ids, hashes) {
            // Hashes are computed from the id in lower case. An id in mixed case is not itself a
            // token.
            let token = CustomerID(accountToken: id.rawValue)
            let named = try token.flatMap { (token) throws(StorageFailure) in
                try tx.accountTokens.customer(named: token.rawValue, in: app)
            }
            if named == nil || named == person.customer { own.append(hash) }
        }
        return own
    }

    /// The customer's ids that are account tokens. They are needed because reminders may be
    /// recorded under a token while a purchase has no owner. Leaves out tokens that are the id of
    /// another customer. The customer's ids must have been deleted before.
    private func tokens(
        of person: StoredCustomer, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        var tokens: [CustomerID] = []
        for token in person.ids.compactMap(\.accountToken).map(CustomerID.init(rawValue:))
        where try tx.customers.find(known: token, in: app) == nil {
            tokens.append(token)
        }
        return tokens
    }

    private static let eventBatch = 500

    /// Replaces the ids of the erased customer by pseudonyms, in the events of each customer who
    /// has one of these ids. These events may mention other customers, whose events may contain the
    /// ids, too. So the ids are also replaced in the events of those customers.
    private func replaceIDs(
        _ names: [CustomerID: CustomerID], in app: AppID, mentionedBy others: Set<CustomerID>
    ) throws(StorageFailure) {
        var mentioning = others
        for customer in names.keys.sorted() {
            mentioning.formUnion(try replaceIDs(names, inEventsOf: customer, in: app))
        }
        // If a customer was merged into another customer, the earlier events remain under the
        // earlier id.
        for customer in mentioning.sorted() {
            mentioning.formUnion(try tx.customers.find(known: customer, in: app)?.ids ?? [])
        }
        var scrubbed = mentioning
        for customer in mentioning.subtracting(names.keys).subtracting(names.values).sorted() {
            scrubbed.formUnion(try replaceIDs(names, inEventsOf: customer, in: app))
        }
        // The body of a delivery lists all ids of a customer. So the body can identify the person
        // even if its event does not.
        for customer in scrubbed.subtracting(names.keys).subtracting(names.values).sorted() {
            try tx.deliveries.scrub(of: customer.rawValue, in: app)
        }
    }

    /// Scrubs the deliveries of a person's events, including events that identify the person only
    /// by an account token.
    private func scrubDeliveries(
        ofPerson names: [CustomerID: CustomerID], in app: AppID
    ) throws(StorageFailure) {
        for (id, name) in names.sorted(by: { $0.key < $1.key }) {
            let streams = Set([id.rawValue, id.accountToken].compactMap(\.self))
            for stream in streams.sorted() {
                try tx.deliveries.scrub(of: stream, renamed: name.rawValue, in: app)
            }
        }
    }

    /// Replaces ids in the events of one customer. Returns the customers whom these events mention.
    private func replaceIDs(
        _ names: [CustomerID: CustomerID], inEventsOf customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Set<CustomerID> {
        var mentioned: Set<CustomerID> = []
        var last: Int64 = 0
        while true {
            let batch = try tx.events.all(
                of: [customer], in: app, after: last, limit: Self.eventBatch)
            guard let end = batch.last else { return mentioned }
            mentioned.formUnion(batch.compactMap(\.entry.other))
            try tx.events.replace(
                batch.compactMap { Self.replacingIDs(names, in: $0) }, in: app)
            last = end.sequence
        }
    }

    /// The event with the ids replaced. Returns nil if the event contains none of the ids.
    private static func replacingIDs(
        _ names: [CustomerID: CustomerID], in former: LoggedEvent
    ) -> LoggedEvent? {
        var event = former
        let entry = former.entry
        event.entry.customer = entry.customer.map { names[$0] ?? $0 }
        event.entry.other = entry.other.map { names[$0] ?? $0 }
        if event.entry.customer != entry.customer {
            event.entry.other = entry.other.flatMap { names[$0] }
            event.entry.change.grant?.reason = ""
            event.entry.change.wallet?.removeFreeText()
        }
        return event == former ? nil : event
    }
}

extension WalletChange {
    /// Removes the free text that the app's server wrote about a customer.
    fileprivate mutating func removeFreeText() {
        if debit != nil || credit != nil { (reason, key) = ("", nil) }
    }
}

extension CustomerErasure {
    /// Whether a purchase stays used up when its owner is erased. A purchase without a stored
    /// timeline might contain consumables, so it counts as used up.
    func isUsedUp(_ purchase: PurchaseID, in app: AppID) throws(StorageFailure) -> Bool {
        try tx.purchases.timeline(of: purchase, in: app)?.hasConsumables ?? true
    }

    /// Links the consumables that belonged to a customer only because of their account token. These
    /// consumables are part of the customer's wallets, and an erased token identifies nobody.
    func linkConsumablesByToken(
        of person: StoredCustomer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            let named = try tx.accountTokens.timelines(
                person.ids, in: app, environment: environment
            )
            .filter(\.hasConsumables)
            guard !named.isEmpty else { continue }
            let owner = try IdentityUpdates(tx).customer(person.customer, in: app, at: now).customer
            for timeline in named {
                try OwnershipUpdates(tx).link(
                    timeline.purchase, to: owner, by: .token, in: app, at: now)
            }
        }
    }

    /// Transfers the remaining links and the debits of a customer to the customer's pseudonym.
    /// Removes the free text that the app's server wrote.
    func transferConsumables(
        _ person: CustomerID, under pseudonym: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard try tx.customers.hasLinksOrBookings(person, in: app) else { return }
        // The pseudonym gets the present time as its creation time, because the time when the
        // customer was created is personal data.
        try tx.customers.insert(pseudonym, in: app, at: now)
        try tx.customers.moveConsumables(of: person, to: pseudonym, in: app)
    }
}
