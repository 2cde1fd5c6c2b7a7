import Ledger
import Storage

/// The bookings that bring balances of a vendor here.
struct BalancePlan {
    /// A balance that is decided, with the booking. Without a difference, there is no booking.
    struct Step {
        var balance: ImportedBalance
        var order: NewBooking?
    }

    var customer: CustomerID
    var steps: [Step] = []
    var problems: [String] = []

    var result: ImportedCustomer {
        ImportedCustomer(
            balancesBooked: steps.count { $0.order != nil }, problems: problems)
    }
}

extension ImportDecisions {
    private static let marksKind = "revenuecat-balance"

    /// Decides how balances of a vendor are booked.
    ///
    /// - Parameter isTrial: whether ids that are still to be added count as added.
    func bookings(
        of balances: [ImportedBalance], for ids: [CustomerID],
        counting purchases: [VendorPurchase], in app: AppSettings, isTrial: Bool
    ) throws -> BalancePlan {
        let aliases = try aliasPlan(for: ids, in: app.id)
        guard let target = aliases.target, aliases.problems.isEmpty else {
            let isNeeded = balances.contains { $0.amount > 0 } && !ids.isEmpty
            return BalancePlan(
                customer: ids.first ?? CustomerID(rawValue: ""),
                problems: isNeeded ? ["no balance was imported, for the same reason"] : [])
        }
        var plan = BalancePlan(customer: target)
        let count = (aliases.customer?.ids.count ?? 1) + aliases.missing.count
        guard count <= CustomerService.idsMax,
            isTrial || aliases.isUnknown || aliases.missing.isEmpty
        else {
            plan.problems = ["no balance was imported, because not all ids could be added"]
            return plan
        }
        let known = aliases.customer
        let wallets = WalletDecisions(tx)
        let own = try wallets.payments(
            of: known, or: target, in: app, environment: .production)
        let added = try aliases.missing.flatMap { id in
            try wallets.payments(
                of: try tx.customers.find(known: id, in: app.id), or: id, in: app,
                environment: .production)
        }
        for balance in balances.sorted(by: { $0.code < $1.code }) {
            if let problem = Self.problem(with: balance, among: balances, in: app) {
                if balance.amount != 0 { plan.problems.append(problem) }
                continue
            }
            if let id = try decided(balance, for: ids + (known?.ids ?? []), in: app.id) {
                if !ids.contains(id) {
                    plan.problems.append(
                        "the balance of \(balance.code) was left out: one was already imported "
                            + "for \(EngineFailure.shortened(id.rawValue)), who is the same "
                            + "customer here")
                }
                continue
            }
            let credited = (own + added).filter {
                Wallet.credits($0, balance.currency, rules: app.wallets)
            }
            if balance.amount == 0, credited.isEmpty, aliases.isUnknown, purchases.isEmpty {
                continue
            }
            if let doubt = Self.doubt(
                about: balance, credited, purchases, areAdded: aliases.isUnknown ? added : [],
                in: app)
            {
                plan.problems.append("the balance of \(balance.code) was left out: \(doubt)")
                continue
            }
            try add(balance, of: known, own + added, in: app, to: &plan)
        }
        return plan
    }

    /// Why a balance can be in no wallet. Nil if it can.
    private static func problem(
        with balance: ImportedBalance, among balances: [ImportedBalance], in app: AppSettings
    ) -> String? {
        guard balances.count(where: { $0.currency == balance.currency }) == 1 else {
            return
                "the balance of \(balance.code) was left out: several of RevenueCat's codes lead "
                + "to \(balance.currency); name another currency with --currency"
        }
        guard app.wallets.allCurrencies.contains(balance.currency) else {
            return "\(balance.amount) \(balance.code) were left out, because perennial.yaml has no "
                + "currency \(balance.currency); add it below `credits`, or name another with "
                + "--currency \(balance.code)=…"
        }
        guard (0...Wallet.amountMax).contains(balance.amount) else {
            return "the balance of \(balance.code), \(balance.amount), was left out: it must be "
                + "between 0 and \(Wallet.amountMax)"
        }
        return nil
    }

    /// Why the difference to the vendor's balance may be a purchase, and not a gift or a spending.
    /// Nil if both count the same purchases. Otherwise a purchase could be credited twice, or
    /// taken.
    ///
    /// - Parameters:
    ///   - credited: the payments here that credit the currency.
    ///   - later: the payments that count only after the booking has made the customer known.
    private static func doubt(
        about balance: ImportedBalance, _ credited: [Payment], _ purchases: [VendorPurchase],
        areAdded later: [Payment], in app: AppSettings
    ) -> String? {
        let relevant = purchases.filter { purchase in
            guard let product = purchase.product, app.lists(product) else { return true }
            return app.wallets.credits[product]?[balance.currency] != nil
        }
        if let trial = relevant.first(where: \.isSandbox) {
            return "it may contain the sandbox's purchase \(trial.name)"
        }
        let here = Set(credited.map(\.transaction))
        if let other = relevant.first(where: { $0.transaction.map(here.contains) != true }) {
            return "RevenueCat counts the purchase \(other.name), which credits nothing to this "
                + "customer here; import it first"
        }
        let there = Set(relevant.compactMap(\.transaction))
        if let other = credited.first(where: { !there.contains($0.transaction) }) {
            return "RevenueCat does not count the purchase \(other.transaction) to this customer"
        }
        if let other = later.first(where: { here.contains($0.transaction) }) {
            return "the purchase \(other.transaction) belongs to an id of which nothing else is "
                + "known here; add the customer's ids with a secret key (POST …/aliases)"
        }
        return nil
    }

    // MARK: - Marks

    /// The id under which a balance was decided before, by an import, or by a script with the
    /// documented key. Nil if there is none.
    private func decided(
        _ balance: ImportedBalance, for ids: [CustomerID], in app: AppID
    ) throws -> CustomerID? {
        let key = try tx.erasedIDs.storedKey(of: app)
        return try ids.first { id in
            let name = NewBooking.bookingID(ofKey: balance.key(of: id))
            if try tx.bookings.find(name, in: app) != nil { return true }
            guard let key else { return false }
            return try tx.imports.position(of: Self.mark(balance, of: id, in: app, key)) != nil
        }
    }

    /// Remembers that a balance was decided, even if nothing had to be booked.
    func mark(
        _ balance: ImportedBalance, of id: CustomerID, in app: AppID, at now: Instant
    ) throws {
        let key = try tx.erasedIDs.key(of: app, at: now)
        try tx.imports.save(
            ImportPosition(endedAt: now), of: Self.mark(balance, of: id, in: app, key), at: now)
    }

    /// The mark stays when the customer is erased. So it depends on the app's key, like an erased
    /// id.
    private static func mark(
        _ balance: ImportedBalance, of id: CustomerID, in app: AppID, _ key: [UInt8]
    ) -> ImportKey {
        ImportKey(
            app: app, kind: marksKind,
            file: ErasureKeying.hmac.code(Array(balance.key(of: id).utf8), key))
    }

    // MARK: - The booking

    /// Adds the booking of one balance, if there is any difference. The vendor counts the same
    /// purchases, so the difference to what they credit here is what was spent or given there.
    private func add(
        _ balance: ImportedBalance, of known: StoredCustomer?, _ payments: [Payment],
        in app: AppSettings, to plan: inout BalancePlan
    ) throws {
        let documented = Wallet(of: balance.currency, payments, [], rules: app.wallets).balance
        let difference = balance.amount - documented
        var amount = min(abs(difference), Wallet.amountMax)
        if difference < 0, !app.wallets.currency(balance.currency).allowsDebt {
            let present = try WalletDecisions(tx).wallet(
                balance.currency, of: known?.customer, payments, in: app, environment: .production
            ).balance
            let available = max(0, present)
            if available < amount {
                plan.problems.append(
                    "of \(amount) \(balance.code) that were spent there, only \(available) could "
                        + "be deducted, because the others were already spent here")
                amount = available
            }
        }
        let order = NewBooking(
            difference > 0 ? .credit : .debit, currency: balance.currency, amount: amount,
            reason: ImportedBalance.reason, key: balance.key(of: plan.customer))
        plan.steps.append(.init(balance: balance, order: amount > 0 ? order : nil))
    }
}

extension VendorPurchase {
    fileprivate var name: String { transaction?.rawValue ?? "without a transaction id" }
}
