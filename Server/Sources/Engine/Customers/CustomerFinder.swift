import AppStoreClient
import AppStoreFormats
import Crypto
import Ledger
import Storage

/// Finds customers, and updates the customer rows that operators read with SQL.
struct CustomerFinder {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// The customer to be erased. An id that is not stored also identifies a customer, because it
    /// may be the account token of a purchase, now or later.
    func customerToErase(_ id: CustomerID, in app: AppID) throws -> StoredCustomer? {
        if let known = try tx.customers.find(known: id, in: app) { return known }
        if try !tx.customers.separatedFrom([id], in: app).isEmpty {
            return StoredCustomer(customer: id, ids: [id])
        }
        guard let token = id.accountToken,
            try OwnershipDecisions(tx).identified(by: token, or: [id], in: app) == id
        else {
            return nil
        }
        return StoredCustomer(customer: id, ids: [id])
    }

    /// The ids whose data an erasure of a customer covers: the customer's ids, and the ids of
    /// devices that were merged into the customer when the customer had no room for another id. In
    /// an older backup, such a device may still be a separate customer.
    func ids(ofErased person: StoredCustomer, in app: AppID) throws -> [CustomerID] {
        // A device may have been separated from an id before that id was merged into the person.
        var ids = person.ids
        for id in Set(person.ids).union([person.customer]).sorted() {
            for device in try tx.customers.separatedDevices(of: id, in: app)
            where !ids.contains(device) {
                ids.append(device)
            }
        }
        return ids
    }

    /// The customer that a searched id identifies. An id that is not stored may be the account
    /// token of purchases, or a customer's UUID in the other letter case.
    func customer(sought id: CustomerID, in app: AppID) throws -> StoredCustomer? {
        if let known = try tx.customers.find(known: id, in: app) { return known }
        guard let token = id.accountToken,
            let holder = try OwnershipDecisions(tx).identified(by: token, or: [id], in: app)
        else { return nil }
        guard holder == id else { return try tx.customers.find(known: holder, in: app) }
        for environment in Environment.allCases
        where try !tx.links.unlinkedTimelines(token: token, in: app, environment: environment)
            .isEmpty
        {
            return StoredCustomer(customer: id, ids: [id])
        }
        return nil
    }

    /// The customer who has or had a claim on a seat. Empty if the claim is unknown, or if the
    /// customer was erased.
    func members(having claim: String, in app: AppID) throws -> [FoundCustomer] {
        let id = SeatClaimID(rawValue: claim.lowercased())
        guard let claim = try tx.seatClaims.find(id, in: app)?.claim,
            let member = try tx.customers.find(known: claim.customer, in: app)
        else { return [] }
        return [FoundCustomer(customer: member, purchase: nil, by: .claim)]
    }

    /// The maximum number of customers that are found by one mail address.
    private static let sameMailAddressMax = 20

    /// The customers who have a mail address, according to the app. Several customers may have the
    /// same address, because addresses are not verified.
    func customers(withMailAddress text: String, in app: AppID) throws -> [FoundCustomer] {
        guard text.contains("@") else { return [] }
        return try tx.attributes.customers(
            withMailAddress: text, in: app, limit: Self.sameMailAddressMax
        ).compactMap { customer in
            try tx.customers.find(known: customer, in: app).map {
                FoundCustomer(customer: $0, purchase: nil, by: .mailAddress)
            }
        }
    }

    /// The owners of purchases, by their original transaction ids.
    func owners(
        of originals: [String], in app: AppID, by means: FoundCustomer.Match
    ) throws -> [FoundCustomer] {
        var found: [FoundCustomer] = []
        for original in originals {
            for environment in Environment.allCases {
                let purchase = PurchaseID(TransactionID(rawValue: original), in: environment)
                guard let known = try tx.purchases.timeline(of: purchase, in: app) else { continue }
                found.append(
                    FoundCustomer(
                        customer: try customer(having: known, in: app), purchase: purchase,
                        by: means))
            }
        }
        return found
    }

    /// The owner of a purchase, even if the owner is known only by the purchase's account token.
    private func customer(having timeline: Timeline, in app: AppID) throws -> StoredCustomer? {
        var holder = try tx.links.find(of: timeline.purchase, in: app)?.customer
        if holder == nil, let token = timeline.accountToken {
            holder = try OwnershipDecisions(tx).identified(by: token, or: [], in: app)
        }
        return try holder.map {
            try tx.customers.find(known: $0, in: app) ?? StoredCustomer(customer: $0, ids: [$0])
        }
    }

    /// Whether any rows about an app's customers are outdated and must be written again.
    func isDue(_ showing: Showing, in app: AppID, at now: Instant) throws -> Bool {
        if showing.customer != nil { return true }
        if try !tx.events.all(of: app, after: showing.sequence, limit: 1).isEmpty { return true }
        return try !tx.shown.customersToShow(in: app, at: now, limit: 1).isEmpty
    }

    func showNext(of app: AppSettings, at now: Instant) throws -> Int {
        guard var showing = try tx.shown.showing(of: app.id, isLocking: true) else { return 0 }
        var customers: Set<CustomerID> = []
        var followed = 0
        if let last = showing.customer {
            let next = try tx.customers.all(
                of: app.id, after: last, limit: CustomerService.shownAtOnce)
            customers = Set(next)
            showing.customer = next.count < CustomerService.shownAtOnce ? nil : next.last
            showing.shown += next.count
            followed = 1
        } else {
            let news = try tx.shown.customersConcerned(
                in: app.id, after: showing.sequence, limit: CustomerService.followedAtOnce)
            customers = news.customers
            followed = news.last == nil ? 0 : 1
            showing.sequence = news.last ?? showing.sequence
            customers.formUnion(
                try tx.shown.customersToShow(
                    in: app.id, at: now, limit: CustomerService.shownAtOnce))
        }
        for customer in customers.sorted() { try show(customer, of: app, at: now) }
        try tx.shown.save(showing, of: app.id)
        return max(followed, customers.count)
    }

    private func show(_ id: CustomerID, of app: AppSettings, at now: Instant) throws {
        let known = try tx.customers.find(known: id, in: app.id)
        if known?.customer != id { try tx.shown.delete(id, in: app.id) }
        guard let customer = known?.customer else { return }
        for environment in Environment.allCases {
            let state = try CustomerReader(tx).state(
                of: customer, in: app, environment: environment, at: now)
            try tx.shown.show(
                state.entitlements.sorted { $0.key < $1.key }.map { entitlement, status in
                    ShownEntitlement(entitlement, status, at: now)
                }, of: customer, in: app.id, environment)
            let payments = state.purchases.filter(\.isOwn)
                .flatMap { $0.timeline.periods.map(\.payment) }
            for currency in app.wallets.allCurrencies.sorted() {
                let wallet = try WalletDecisions(tx).wallet(
                    currency, of: customer, payments, in: app, environment: environment)
                try tx.shown.show(
                    wallet.entries, in: currency, of: customer, in: app.id, environment)
            }
        }
    }
}
