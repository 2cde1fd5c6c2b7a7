import Ledger
import Storage

/// The new data that an import must write about a customer and a sale.
struct ImportedNews {
    /// All attributes of the customer afterwards. Nil if the attributes stay as they are.
    var attributes: [CustomerAttribute]?
    /// The time at which the customer was first seen, if it is earlier than the stored time. Nil if
    /// the stored time stays.
    var firstSeenAt: Instant?
    /// The sale and its purchase. Nil if the place of the sale is known already, or if the
    /// transaction is unknown.
    var sale: (ImportedDetails.Sale, PurchaseID)?
    /// The attributes that break a rule.
    var refused: [AttributeResult.Refusal] = []

    var isEmpty: Bool { attributes == nil && firstSeenAt == nil && sale == nil }
}

extension ImportDecisions {
    /// The new data in the details of a row. If an attribute has two values, the value that was set
    /// later wins, whichever value arrives first.
    ///
    /// - Parameters:
    ///   - ids: all ids of the row; the first id identifies the customer. If there is no id, only
    ///     the sale is used.
    ///   - purchase: the row's purchase. Nil for a grant.
    func news(
        in details: ImportedDetails, about ids: [CustomerID], _ purchase: PurchaseID?,
        in app: AppID, at now: Instant
    ) throws -> ImportedNews {
        var news = ImportedNews()
        // An export from before an erasure must not bring back what was erased.
        if let id = ids.first, try !namesErasedPerson(ids, in: app) {
            let known = try tx.customers.find(known: id, in: app)
            let present = try known.map { try tx.attributes.all(of: $0.customer, in: app) } ?? []
            let result = try AttributeDecisions.result(
                of: details.attributes, to: present, by: .app, isWhole: false, at: now)
            news.refused = result.refused
            // Somebody has signed in on the device since the export was made. So, as with a log-in,
            // the export adds attributes to this person but replaces none.
            let isOlderThanLogIn = id.isOfRevenueCatDevice && known?.isAnonymous == false
            let all =
                isOlderThanLogIn
                ? CustomerAttribute.merged(present, with: result.attributes, keepsOwn: true)
                : result.attributes
            news.attributes = all == present ? nil : all
            news.firstSeenAt = try earlierSight(details.firstSeenAt, of: known, in: app, at: now)
        }
        if let sale = details.sale, let purchase, try isUnknown(sale, of: purchase, in: app) {
            news.sale = (sale, purchase)
        }
        return news
    }

    /// The moment, if it is earlier than the stored time at which the customer was first seen. Nil
    /// otherwise.
    private func earlierSight(
        _ moment: Instant?, of known: StoredCustomer?, in app: AppID, at now: Instant
    ) throws -> Instant? {
        guard let moment else { return nil }
        let since = try known.flatMap { try tx.customers.createdAt($0.customer, in: app) } ?? now
        return moment < since ? moment : nil
    }

    /// Whether a transaction of the purchase has no known place of sale.
    private func isUnknown(
        _ sale: ImportedDetails.Sale, of purchase: PurchaseID, in app: AppID
    ) throws -> Bool {
        guard try tx.purchases.origins(of: purchase, in: app)[sale.transaction] == nil,
            let timeline = try tx.purchases.timeline(of: purchase, in: app)
        else { return false }
        return timeline.copies.contains { $0.payment.transaction == sale.transaction }
    }

    /// Writes news. Idempotent.
    func record(
        _ news: ImportedNews, about id: CustomerID?, in app: AppID, at now: Instant
    ) throws {
        if let id, news.attributes != nil || news.firstSeenAt != nil {
            let customer = try IdentityUpdates(tx).customer(id, in: app, at: now).customer
            if let all = news.attributes {
                try tx.attributes.replace(all, of: customer, in: app)
            }
            if let moment = news.firstSeenAt {
                try tx.customers.moveCreation(of: customer, in: app, backTo: moment)
            }
        }
        if let (sale, purchase) = news.sale {
            try tx.purchases.insertOrigin(
                PurchaseOrigin(placement: sale.placement), of: [(sale.transaction, purchase)],
                in: app, at: now)
        }
    }

    /// Adds an imported grant that is not known and has not ended.
    ///
    /// - Parameter ids: all ids of the row. The first id identifies the customer, and must exist.
    func record(
        _ grant: ImportedGrant, of ids: [CustomerID], in app: AppSettings,
        _ environment: Environment, at now: Instant
    ) throws -> ImportOutcome {
        if let obstacle = try obstacle(to: grant, of: ids, in: app, environment, at: now) {
            return obstacle
        }
        let id = ids[0]
        let customer = try IdentityUpdates(tx).customer(id, in: app.id, at: now).customer
        let kept = StoredGrant(
            Grant(
                id: grant.id, entitlement: grant.entitlement, from: grant.from,
                until: grant.until, reason: ImportedGrant.reason),
            to: customer, in: environment)
        try GrantUpdates(tx).add(kept, in: app.id, knownAt: now)
        return .recorded
    }

    /// Why a grant is not added: the grant is known already, or it would give no access. Returns
    /// nil if the grant can be added.
    func obstacle(
        to grant: ImportedGrant, of ids: [CustomerID], in app: AppSettings,
        _ environment: Environment, at now: Instant
    ) throws -> ImportOutcome? {
        let name = grant.entitlement.rawValue
        if try namesErasedPerson(ids, in: app.id) {
            return .unusable(
                "the customer was erased, so the grant of \(name) was left out; if the person is a "
                    + "customer again, grant it by hand")
        }
        if let stored = try tx.grants.find(grant.id, in: app.id) {
            let known = stored.grant
            guard known.entitlement == grant.entitlement, stored.environment == environment,
                try isCustomer(stored.customer, with: ids, in: app.id)
            else {
                return .unusable(
                    "a grant with the same store_transaction_id was imported before for another "
                        + "customer, entitlement or environment, so the grant of \(name) was left "
                        + "out; grant it by hand if it is right")
            }
            guard known.withdrawnAt == nil, known.until != grant.until else { return .recorded }
            return .unusable(
                "this grant of \(name) was imported before with another end, and stays as it is; "
                    + "withdraw it and grant the entitlement again by hand")
        }
        guard app.entitlements[grant.entitlement] != nil else {
            return .unusable(
                "no product in perennial.yaml gives the entitlement \(name); add it there, and "
                    + "import the file again with --anew")
        }
        if let until = grant.until, until <= now {
            return .unusable("the grant of \(name) ended at \(until), so it gives nothing")
        }
        // A grant opens its entitlement at once, so this grant would open the entitlement too
        // early.
        guard grant.from <= now else {
            return .unusable(
                "the grant of \(name) begins at \(grant.from); import the file again with --anew "
                    + "after that")
        }
        return nil
    }
}

extension ImportDecisions {
    /// Whether a customer has one of the ids of a row. Possibly the second id of the row is not an
    /// alias yet.
    private func isCustomer(
        _ customer: CustomerID, with ids: [CustomerID], in app: AppID
    ) throws -> Bool {
        let others = try ids.dropFirst().compactMap { try alias($0, in: app) }
        return try (ids.prefix(1) + others).contains {
            try tx.customers.find(known: $0, in: app)?.customer == customer
        }
    }
}

extension ImportedGrant {
    /// The number of characters of a grant's id after its prefix.
    private static let idCharacters = 24

    /// The grant's id on this server. The same key always gives the same id. No idempotency key of
    /// a request gives this id.
    fileprivate var id: GrantID {
        let digits = IdempotencyKey.digits(
            for: "imported grant \(key)", count: Self.idCharacters)
        return GrantID(rawValue: "grt_\(digits)")
    }
}
