import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract

extension SupportActs {
    func addWallets(to router: Router<ServerContext>) {
        routes.act("/customers/{id}/wallets/{currency}/debits", for: .support, of: router) {
            page, form in
            try await book(try page.booking(.debit, form), .debited, page)
        }
        routes.act("/customers/{id}/wallets/{currency}/credits", for: .support, of: router, credit)
    }

    /// Credits the wallet if the form confirms it. Without a confirmation, shows a page with the
    /// resulting balance.
    @Sendable private func credit(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let order = try page.booking(.credit, form)
        if form["confirmed"] == "yes" { return try await book(order, .walletCredited, page) }
        page.audit.leaveOut()
        let wallet = try await engine.wallets.find(
            order.currency, of: try page.customer, app: app, environment: page.environment)
        return .page(
            CreditPage(
                customerID: try page.customer.rawValue, currency: order.currency.rawValue,
                amount: order.amount, reason: order.reason, balance: wallet.balance,
                formKey: form["key"] ?? ""
            ).html(in: page.frame))
    }

    private func book(
        _ order: NewBooking, _ notice: DashboardNotice, _ page: PageRequest
    ) async throws -> ActResult {
        let kept = try await engine.wallets.book(
            order, of: try page.customer, app: app, environment: page.environment)
        page.audit.change(
            of: kept.booking.id.rawValue, from: ["balance": "\(kept.balanceBefore)"],
            to: [
                "currency": order.currency.rawValue, "amount": "\(order.amount)",
                "balance": "\(kept.balance)",
            ])
        return .done(notice, .customer(try page.customer.rawValue))
    }
}

extension PageRequest {
    /// The booking that a form requests for the wallet in the path.
    fileprivate func booking(_ kind: Booking.Kind, _ form: FormFields) throws -> NewBooking {
        let amount = try WalletRoutes.amount(form["amount"].flatMap(Int64.init))
        let reason = form["reason"] ?? ""
        try ProblemError.requireReason(reason, bytesMax: NewBooking.reasonBytesMax)
        guard let key = form["key"] else {
            throw ProblemError(.requestNotUnderstood, detail: "The field “key” is missing.")
        }
        // The debit form and the credit form of a page have the same key, so a prefix distinguishes
        // their bookings.
        let prefix = kind == .debit ? "dashboard" : "dashboard credit"
        return NewBooking(
            kind, currency: CurrencyID(rawValue: try parameter("currency")), amount: amount,
            reason: reason, key: "\(prefix) \(key)")
    }
}
