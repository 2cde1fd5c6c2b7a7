import Ledger
import Storage

/// A customer's balance of a virtual currency at a vendor.
package struct ImportedBalance: Hashable, Sendable {
    /// The vendor's code of the currency.
    package var code: String
    /// The wallet here.
    package var currency: CurrencyID
    /// At least 0.
    package var amount: Int64

    package init(_ code: String, in currency: CurrencyID, _ amount: Int64) {
        (self.code, self.currency, self.amount) = (code, currency, amount)
    }

    /// The note for people who review the booking later.
    static let reason = "Balance imported from RevenueCat."

    /// The idempotency key of the booking. A script of the operator's that books balances by the
    /// same keys, as our documentation has advised, and the import do so only once together.
    func key(of id: CustomerID) -> String { "revenuecat-balance-\(code)-\(id)" }
}

extension ImportService {
    /// Books what the balances at a vendor differ from what Apple's documents credit here: once for
    /// each currency, as a credit by hand, or as a debit of what was spent at the vendor. What was
    /// spent or credited here stays so. A debit never exceeds the present balance, unless the
    /// currency allows debt. Idempotent.
    ///
    /// - Parameters:
    ///   - ids: all ids of the customer at the vendor.
    ///   - isTrial: whether to only report, and change nothing.
    package func record(
        balances: [ImportedBalance], of ids: [CustomerID], app appID: AppID,
        in environment: Environment, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportedCustomer {
        let (app, _) = try context.app(appID)
        let now = context.now()
        if isTrial {
            return try await context.read { tx in
                try ImportDecisions(tx).bookings(of: balances, for: ids, in: app, environment)
                    .result
            }
        }
        return try await context.transaction { tx in
            let decisions = ImportDecisions(tx)
            let plan = try decisions.bookings(of: balances, for: ids, in: app, environment)
            var result = plan.result
            for order in plan.orders {
                let decision = try WalletDecisions(tx).book(
                    order, named: order.bookingID, of: plan.customer, in: app,
                    environment: environment, at: now)
                guard case .refused(let failure) = decision else { continue }
                result.balancesBooked -= 1
                result.problems.append("the balance of \(order.currency) was left out: \(failure)")
            }
            return result
        }
    }
}

/// The bookings that bring balances of a vendor here.
struct BalancePlan {
    var customer: CustomerID
    var orders: [NewBooking] = []
    var problems: [String] = []

    var result: ImportedCustomer {
        ImportedCustomer(balancesBooked: orders.count, problems: problems)
    }
}

extension ImportDecisions {
    /// Decides how balances of a vendor are booked.
    func bookings(
        of balances: [ImportedBalance], for ids: [CustomerID], in app: AppSettings,
        _ environment: Environment
    ) throws -> BalancePlan {
        let aliases = try aliasPlan(for: ids, in: app.id)
        guard let target = aliases.target else {
            let isNeeded = balances.contains { $0.amount > 0 } && !ids.isEmpty
            return BalancePlan(
                customer: ids.first ?? CustomerID(rawValue: ""),
                problems: isNeeded ? ["no balance was imported, for the same reason"] : [])
        }
        var plan = BalancePlan(customer: target)
        let names = Set(ids + (aliases.customer?.ids ?? [])).sorted()
        for balance in balances.sorted(by: { $0.code < $1.code }) {
            guard app.wallets.allCurrencies.contains(balance.currency) else {
                if balance.amount != 0 {
                    plan.problems.append(
                        "\(balance.amount) \(balance.code) were left out, because perennial.yaml "
                            + "has no currency \(balance.currency); add it below `credits`, or "
                            + "name another with --currency \(balance.code)=…")
                }
                continue
            }
            guard (0...Wallet.amountMax).contains(balance.amount) else {
                plan.problems.append(
                    "the balance of \(balance.code), \(balance.amount), was left out: it must be "
                        + "between 0 and \(Wallet.amountMax)")
                continue
            }
            guard try !wasBooked(balance, for: names, in: app.id) else { continue }
            try add(balance, of: aliases.customer, in: app, environment, to: &plan)
        }
        return plan
    }

    private func wasBooked(
        _ balance: ImportedBalance, for ids: [CustomerID], in app: AppID
    ) throws -> Bool {
        try ids.contains { id in
            let name = NewBooking.bookingID(ofKey: balance.key(of: id))
            return try tx.bookings.find(name, in: app) != nil
        }
    }

    /// Adds the booking of one balance, if there is any difference. The vendor counts the same
    /// purchases, so the difference to what they credit here is what was spent or given there.
    private func add(
        _ balance: ImportedBalance, of known: StoredCustomer?, in app: AppSettings,
        _ environment: Environment, to plan: inout BalancePlan
    ) throws {
        let wallets = WalletDecisions(tx)
        let payments = try wallets.payments(
            of: known, or: plan.customer, in: app, environment: environment)
        let documented = Wallet(of: balance.currency, payments, [], rules: app.wallets).balance
        let difference = balance.amount - documented
        guard difference != 0 else { return }
        var amount = min(abs(difference), Wallet.amountMax)
        if difference < 0, !app.wallets.currency(balance.currency).allowsDebt {
            let present = try wallets.wallet(
                balance.currency, of: known?.customer, payments, in: app, environment: environment
            ).balance
            let available = max(0, present)
            if available < amount {
                plan.problems.append(
                    "of \(amount) \(balance.code) that were spent there, only \(available) could "
                        + "be deducted, because the others were already spent here")
                amount = available
            }
        }
        guard amount > 0 else { return }
        plan.orders.append(
            NewBooking(
                difference > 0 ? .credit : .debit, currency: balance.currency, amount: amount,
                reason: ImportedBalance.reason, key: balance.key(of: plan.customer)))
    }
}
