import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// Decides who owns imported purchases, and which store accounts are unchecked.
struct ImportDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// The other id of a row, if this id may become an alias of the imported customer. Nil
    /// otherwise. If somebody has signed in on a device since the export, the device's id stays
    /// with that person: the file is older, and a merge of two people cannot be undone. The id of
    /// an erased person never becomes an alias, not even if the person came back.
    func alias(_ other: CustomerID?, in app: AppID) throws -> CustomerID? {
        if let other, try tx.erasedIDs.contains(other.hash, in: app) { return nil }
        guard let other, other.isOfRevenueCatDevice,
            let known = try tx.customers.find(known: other, in: app), !known.isAnonymous
        else { return other }
        return nil
    }

    /// Whether any id of a row belonged to a person who was erased.
    func namesErasedPerson(_ ids: [CustomerID], in app: AppID) throws -> Bool {
        try ids.contains { try tx.erasedIDs.contains($0.hash, in: app) }
    }

    /// Why a row may not give its customer a purchase: the customer was erased, and no request
    /// after the erasure has created the customer again. Nil if the row may give the purchase.
    func erasure(of id: CustomerID, also other: CustomerID?, in app: AppID) throws -> String? {
        guard try namesErasedPerson([id, other].compactMap { $0 }, in: app),
            try tx.customers.find(known: id, in: app) == nil
        else { return nil }
        return "the customer was erased here, so the import gives this id no purchase; once the "
            + "person is a customer again, import the file again with --anew"
    }

    /// Links purchases to a customer if they have no owner and do not name another customer. A
    /// customer who was erased gets nothing, and stays unknown.
    ///
    /// - Parameter other: another id of the row, which need not become an alias.
    func linkImported(
        _ purchases: [PurchaseID], for id: CustomerID?, also other: CustomerID?, in app: AppID,
        at now: Instant
    ) throws -> ImportOutcome {
        guard let id else { return .recorded }
        if let erasure = try erasure(of: id, also: other, in: app) { return .unusable(erasure) }
        let other = try alias(other, in: app)
        var refused: String?
        var walletCache = WalletProjectionCache()
        for purchase in purchases {
            let obstacle = try linkImported(purchase, to: id, other, in: app, at: now, &walletCache)
            refused = refused ?? obstacle
        }
        return refused.map { .unusable($0) } ?? .recorded
    }

    /// Links a purchase that has no owner. If the purchase belongs to another customer, or names
    /// another customer by its account token, writes nothing and returns the reason. In that case
    /// an unknown id stays unknown.
    private func linkImported(
        _ purchase: PurchaseID, to id: CustomerID, _ other: CustomerID?, in app: AppID,
        at now: Instant, _ walletCache: inout WalletProjectionCache
    ) throws -> String? {
        let number = purchase.original.rawValue
        let known = try tx.customers.find(known: id, in: app)?.customer
        if let link = try tx.links.find(of: purchase, in: app) {
            guard link.customer != known else { return nil }
            return "\(number) already belongs to another customer, and stays there"
        }
        let token = try tx.purchases.timeline(of: purchase, in: app)?.accountToken
        let named = try OwnershipDecisions(tx).identified(
            by: token, or: [id] + (other.map { [$0] } ?? []), in: app)
        let second = try other.flatMap { try tx.customers.find(known: $0, in: app)?.customer }
        guard named == nil || [known, id, second, other].contains(named) else {
            return
                "\(number) names another person by its account token, and stays there. Add the "
                + "token as the customer's alias, or set `account_tokens: other`"
        }
        let owner = try IdentityUpdates(tx).customer(id, in: app, at: now).customer
        // The link in the other backend is based on a device's report, and is not a decision about
        // this purchase. So the import counts like a device's request, and the restore policy
        // applies. The customer whom the account token names gets the purchase as soon as the token
        // is known. Otherwise the owner would depend on the order of arrival.
        let evidence: OwnershipClaim.Evidence = named == nil ? .device : .token
        try OwnershipUpdates(tx).link(
            purchase, to: owner, by: evidence, in: app, at: now, &walletCache)
        return nil
    }

    /// The first unchecked purchase with fewer failed checks than the given number. If there is
    /// none, the first unchecked purchase. Returns nil if the App Store has reported the past of
    /// all purchases.
    func firstUnchecked(
        among purchases: [PurchaseID], in app: AppID, refusedBelow refusals: Int
    ) throws -> UncheckedPurchase? {
        var first: UncheckedPurchase?
        for purchase in purchases {
            guard let unasked = try unchecked(purchase, in: app) else { continue }
            if unasked.failures < refusals { return unasked }
            first = first ?? unasked
        }
        return first
    }

    /// The purchase with its failed checks. Returns nil if the App Store has reported the
    /// purchase's past.
    func unchecked(_ purchase: PurchaseID, in app: AppID) throws -> UncheckedPurchase? {
        let history = try tx.checks.history(of: purchase, in: app)?.history
        guard history?.askedAt == nil else { return nil }
        return UncheckedPurchase(purchase: purchase, failures: history?.failures ?? 0)
    }
}

extension CustomerID {
    /// Whether RevenueCat's SDK has made the id for a device on which nobody has signed in.
    var isOfRevenueCatDevice: Bool { rawValue.hasPrefix(Self.revenueCatAnonymousPrefix) }
}
