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

    /// The idempotency key of the booking. A script of the operator's may book balances by the same
    /// keys. The import does not book such a balance again.
    func key(of id: CustomerID) -> String { "revenuecat-balance-\(code)-\(id)" }
}

/// A one-time purchase that a vendor counts to a customer.
package struct VendorPurchase: Hashable, Sendable {
    /// Nil if the vendor names none.
    package var transaction: TransactionID?
    /// Nil if the vendor names none.
    package var product: ProductID?
    package var isSandbox: Bool

    package init(transaction: TransactionID?, product: ProductID?, isSandbox: Bool) {
        (self.transaction, self.product, self.isSandbox) = (transaction, product, isSandbox)
    }
}

extension ImportService {
    /// Books what the balances at a vendor differ from what Apple's documents credit here: once for
    /// each currency, as a credit by hand, or as a debit of what was spent at the vendor. What was
    /// spent or credited here stays so. A debit never exceeds the present balance, unless the
    /// currency allows debt. Books only in production. If the vendor and this server do not count
    /// the same purchases, nothing is booked, and the result says why. Idempotent.
    ///
    /// - Parameters:
    ///   - ids: all ids of the customer at the vendor.
    ///   - purchases: the purchases at the vendor: Apple's, and all purchases in the sandbox.
    ///   - isTrial: whether to only report, and change nothing.
    package func record(
        balances: [ImportedBalance], of ids: [CustomerID], counting purchases: [VendorPurchase],
        app appID: AppID, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportedCustomer {
        let (app, _) = try context.app(appID)
        let now = context.now()
        if isTrial {
            return try await context.read { tx in
                try ImportDecisions(tx).bookings(
                    of: balances, for: ids, counting: purchases, in: app, isTrial: true
                ).result
            }
        }
        return try await context.transaction { tx in
            let decisions = ImportDecisions(tx)
            let plan = try decisions.bookings(
                of: balances, for: ids, counting: purchases, in: app, isTrial: false)
            var result = plan.result
            for step in plan.steps {
                if let order = step.order {
                    let decision = try WalletDecisions(tx).book(
                        order, named: order.bookingID, of: plan.customer, in: app,
                        environment: .production, at: now)
                    if case .refused(let failure) = decision {
                        result.balancesBooked -= 1
                        result.problems.append(
                            "the balance of \(order.currency) was left out: \(failure)")
                        continue
                    }
                }
                try decisions.mark(step.balance, of: plan.customer, in: appID, at: now)
            }
            return result
        }
    }

    /// The further ids of all customers here who have any of the given ids.
    package func ids(
        besides ids: [CustomerID], app: AppID
    ) async throws(EngineFailure) -> [CustomerID] {
        try await context.read { tx in
            var found: Set<CustomerID> = []
            for id in ids { found.formUnion(try tx.customers.find(known: id, in: app)?.ids ?? []) }
            return found.subtracting(ids).sorted()
        }
    }
}
