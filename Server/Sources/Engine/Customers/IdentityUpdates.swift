import Ledger
import Storage

/// Creates and merges customers, adds and removes their ids, and emits events.
package struct IdentityUpdates {
    let tx: DatabaseSession

    package init(_ tx: DatabaseSession) { self.tx = tx }

    /// The customer that an id belongs to. An unknown id becomes a new customer.
    ///
    /// - Throws: ``StorageFailure`` of kind `erased` if the id is the pseudonym of an erased
    ///   customer: a pseudonym must not give access to an erased customer's data.
    package func customer(
        _ id: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> StoredCustomer {
        if let known = try tx.customers.find(known: id, in: app) { return known }
        try tx.erasedIDs.requireNoPseudonym(id, in: app)
        try tx.customers.insert(id, in: app, at: now)
        try tx.customers.insertID(id, of: id, in: app, at: now)
        try WalletUpdates(tx).emitEvents(named: id, by: id, in: app, at: now)
        try tx.inquiries.reschedule(named: id, in: app, at: now)
        return StoredCustomer(customer: id, ids: [id])
    }

    /// Adds an unused id to a customer, and emits an event. Not idempotent: the caller must check
    /// first that no customer has the id.
    ///
    /// - Throws: ``StorageFailure`` of kind `erased` if the id is the pseudonym of an erased
    ///   customer.
    func addID(
        _ id: CustomerID, to customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try tx.erasedIDs.requireNoPseudonym(id, in: app)
        try tx.consents.revoke(of: customer, forNamed: id, in: app)
        try tx.customers.insertID(id, of: customer, in: app, at: now)
        try emitIdentityEvent(.aliasAdded, of: customer, other: id, in: app, at: now)
        try WalletUpdates(tx).emitEvents(named: id, by: customer, in: app, at: now)
        try tx.inquiries.reschedule(named: id, in: app, at: now)
        // Purchases with this id as their account token belong to the customer from now on.
        try SeatUpdates(tx).releaseSeatsOfOwnPurchases(of: customer, in: app, at: now)
        for environment in Environment.allCases {
            try tx.reminders.watchTerms(of: customer, in: app, environment)
        }
    }

    /// Adds to a customer an id that serves as account token. The id must be a new UUID in lower
    /// case.
    func addAccountToken(
        _ token: CustomerID, to customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try tx.customers.insertID(token, of: customer, isAccountToken: true, in: app, at: now)
    }

    /// Merges the second customer into the first: from now on, every id, purchase and debit of the
    /// second customer belongs to the first. Emits events. Not idempotent: the caller must check
    /// first who has the ids.
    ///
    /// - Parameter keepsAttributes: whether no attribute of the first customer is replaced by an
    ///   attribute of the second one.
    func merge(
        _ other: CustomerID, into customer: CustomerID, keepsAttributes: Bool = false,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try emitIdentityEvent(.customerMerged, of: customer, other: other, in: app, at: now)
        for purchase in try tx.links.purchases(of: other, in: app) {
            try PurchaseEvents(tx).emitOwnershipEvent(
                of: purchase, is: customer, in: app, .moved, from: other, at: now)
        }
        try tx.shares.merge(of: other, into: customer, in: app)
        try tx.consents.merge(of: other, into: customer, in: app)
        try tx.attributes.merge(of: other, into: customer, in: app, keepsOwn: keepsAttributes)
        try tx.reminders.merge(of: other, into: customer, in: app)
        try tx.customers.moveRows(of: other, to: customer, in: app)
        try SeatUpdates(tx).mergeClaims(of: other, into: customer, in: app, at: now)
        try tx.customers.deleteMerged(other, in: app)
        try WalletUpdates(tx).emitAdjustments(
            of: customer, in: app, from: .request, other: other, at: now)
        try tx.inquiries.reschedule(
            about: try tx.links.purchases(of: customer, in: app), in: app, at: now)
    }

    /// Removes an id from a customer, and emits an event. All purchases stay with the customer,
    /// including purchases that belong to the customer only because the id is their account token.
    /// Not idempotent: the caller must check first who has the id.
    ///
    /// - Parameter alias: must not be the id that represents the customer in the database.
    func removeID(
        _ alias: CustomerID, from customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            for timeline in try tx.accountTokens.timelines(
                [alias], in: app, environment: environment)
            {
                // The evidence of the link is the token. So the person with that id can still claim
                // the purchase with a device.
                try OwnershipUpdates(tx).link(
                    timeline.purchase, to: customer, by: .token, in: app, at: now)
            }
        }
        try tx.customers.deleteID(alias, of: customer, in: app, at: now)
        try emitIdentityEvent(.aliasRemoved, of: customer, other: alias, in: app, at: now)
    }

    /// Appends an event saying that an id was added to a customer, or that another customer was
    /// merged into the customer.
    func emitIdentityEvent(
        _ kind: Change.Kind, of customer: CustomerID, other: CustomerID, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        try tx.events.append([
            EventEntry(
                app: app, customer: customer, purchase: nil, change: Change(kind, at: now),
                knownAt: now, cause: .request, other: other)
        ])
    }
}
