import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The acts of support for a customer: grants, transfers, blocks, and wallets.
struct SupportActs: PageGroup {
    let routes: DashboardRoutes

    func add(to router: Router<ServerContext>) {
        routes.act("/customers/{id}/grants", for: .support, of: router, grant)
        routes.act("/customers/{id}/grants/{grant_id}/withdraw", for: .support, of: router) {
            page, _ in
            let grant = GrantID(rawValue: try page.parameter("grant_id"))
            let ended = try await engine.grants.withdraw(grant, of: try page.customer, app: app)
            page.audit.change(from: ended.grant.auditState)
            return .done(.withdrawn, try page.path)
        }
        routes.act("/customers/{id}/transfers", for: .support, of: router, transfer)
        routes.act("/customers/{id}/transfers/{transfer_id}/undo", for: .support, of: router) {
            page, _ in
            let number = try OwnershipRoutes.transfer(named: try page.parameter("transfer_id"))
            let undone = try await engine.ownership.undoTransfer(
                number, of: try page.customer, app: app)
            page.audit.change(
                of: undone.purchase.original.rawValue, from: undone.stateAfter,
                to: undone.stateBefore)
            return .done(.undone, try page.path)
        }
        routes.act("/customers/{id}/blocks", for: .support, of: router) { page, form in
            try await engine.ownership.block(
                try page.ownershipChange(form), of: try page.customer, app: app)
            page.audit.change(of: form["original_transaction_id"], to: ["is_blocked": "true"])
            return .done(.blocked, try page.path)
        }
        routes.act(
            "/customers/{id}/blocks/{original_transaction_id}/end", for: .support, of: router
        ) {
            page, _ in
            let original = try page.parameter("original_transaction_id")
            let purchase = PurchaseID(TransactionID(rawValue: original), in: page.environment)
            try await engine.ownership.unblock(purchase, of: try page.customer, app: app)
            page.audit.change(from: ["is_blocked": "true"], to: ["is_blocked": "false"])
            return .done(.unblocked, try page.path)
        }
        routes.act("/customers/{id}/consumption", for: .support, of: router, consumption)
        addWallets(to: router)
        routes.seatPages.add(to: router)
        routes.act("/customers/{id}/erase", for: .admin, of: router, erase)
    }

    @Sendable private func grant(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let asked = GrantRequest(
            entitlement: form["entitlement"] ?? "",
            until: try form["until"].map { try Self.lastMoment(ofDay: $0) },
            reason: form["reason"] ?? "")
        var order = try NewGrant(asked)
        // A form that is sent twice makes one grant. If the content of the form was changed in
        // between, the second form makes another grant.
        order.key = form["key"].map { key in
            ["dashboard", key, asked.entitlement, form["until"] ?? "", asked.reason]
                .joined(separator: "\n")
        }
        let given = try await engine.grants.add(
            order, to: try page.customer, app: app, environment: page.environment)
        page.audit.change(of: given.grant.id.rawValue, to: given.grant.auditState)
        // A form that is sent again makes no second grant, even if its grant has ended in the
        // meantime.
        let isOpen = given.grant.isOpen(at: engine.context.serverTime)
        return .done(isOpen ? .granted : .grantedBefore, try page.path)
    }

    /// The last millisecond of a day in UTC. Access that lasts until a day includes that day.
    private static func lastMoment(ofDay text: String) throws -> Timestamp {
        guard let day = CivilDate(text) else { throw ProblemError(.timeNotReadable) }
        return Timestamp(milliseconds: (day.dayNumber + 1) * 86_400_000 - 1)
    }

    /// Records a consent and the use of purchases. Earlier reports of use stay unless the form
    /// replaces them.
    @Sendable private func consumption(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let id = try page.customer
        let known = try await engine.consumption.state(
            of: id, app: app, environment: page.environment)
        let hasConsented = form["consented"] == "yes"
        var uses: [PerennialContract.PurchaseUse] = []
        var after: [String: String?] = ["consented": hasConsented ? "true" : "false"]
        for ending in Self.endings(in: form) {
            uses += try Self.use(form, ending, known.uses).map { [$0] } ?? []
            // The first purchase is the subject of the audit entry.
            let fields = ["delivery", "used_percent"] + (ending.isEmpty ? [] : ["transaction_id"])
            for field in fields { after[field + ending] = form[field + ending] }
        }
        var report = try ConsumptionReport(
            ConsumptionRequest(consented: hasConsented, purchases: uses))
        report.keepsSample = true
        _ = try await engine.consumption.record(
            report, of: id, app: app, environment: page.environment)
        page.audit.change(of: form["transaction_id"], to: after)
        return .done(hasConsented ? .answered : .consentRefused, try page.path)
    }

    /// The suffixes of the fields about each purchase: none, `_2`, `_3` and so on.
    private static func endings(in form: FormFields) -> [String] {
        let all = [""] + (2...ConsumptionReport.usesMax).map { "_\($0)" }
        return Array(all.prefix { form["transaction_id\($0)"] != nil })
    }

    /// The report of use that a form contains about a purchase. If a field is empty, the value of
    /// the earlier report stays. Returns nil if all fields are empty.
    private static func use(
        _ form: FormFields, _ ending: String, _ known: [Ledger.PurchaseUsage]
    ) throws -> PerennialContract.PurchaseUse? {
        let percent = try form["used_percent\(ending)"].map { text in
            guard let percent = Double(text) else { throw ProblemError(.usedPercentOutOfRange) }
            return percent
        }
        let delivery = form["delivery\(ending)"]
        guard let transaction = form["transaction_id\(ending)"], delivery != nil || percent != nil
        else { return nil }
        let earlier = known.first { $0.transaction.rawValue == transaction }
        return PerennialContract.PurchaseUse(
            transactionID: transaction,
            delivery: delivery ?? (earlier?.delivery ?? .delivered).rawValue,
            usedPercent: percent ?? earlier?.used.map(Percentage.percent))
    }

    @Sendable private func erase(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let id = try page.customer
        guard form["confirm"] == id.rawValue else {
            throw ProblemError(
                .requestNotUnderstood, detail: "The id that was typed is not this customer’s.")
        }
        _ = try await engine.customers.erase(id, app: app)
        return .done(.erased, .customers)
    }

    // MARK: - Moves

    /// Moves the purchase if the form confirms it. Without a confirmation, shows a page with the
    /// present owner.
    @Sendable private func transfer(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let id = try page.customer
        if let original = form["original_transaction_id"] {
            let moved = try await engine.ownership.transfer(
                try page.ownershipChange(form), to: id, app: app)
            page.audit.change(of: original, from: moved.stateBefore, to: moved.stateAfter)
            return .done(.moved, try page.path)
        }
        page.audit.leaveOut()
        let query = form.trimmed("query") ?? ""
        var found: [MovePage.Found] = []
        let search = try await engine.customers.find(typed: query, app: app)
        for match in search.found {
            guard let purchase = match.purchase, purchase.environment == page.environment
            else { continue }
            found.append(
                try await self.found(purchase, of: match.customer?.customer, page))
        }
        return .page(
            MovePage(
                customerID: id.rawValue, query: query, reason: form["reason"] ?? "", found: found,
                apple: AppleSearch(search.store)
            ).html(in: page.frame))
    }

    private func found(
        _ purchase: PurchaseID, of owner: CustomerID?, _ page: PageRequest
    ) async throws -> MovePage.Found {
        var found = MovePage.Found(
            originalTransactionID: purchase.original.rawValue, owner: owner?.rawValue)
        guard let owner else { return found }
        let state = try await engine.customers.currentState(
            of: owner, app: app, environment: page.environment)
        let own = state.purchases.first { $0.timeline.purchase == purchase }
        found.productID = own?.timeline.periods.last?.product.rawValue
        found.state = own?.access.map { AccessState($0.state) }
        found.isBlocked = try await engine.ownership.blockedPurchases(
            of: owner, app: app, environment: page.environment
        ).contains(purchase)
        return found
    }
}

extension PageRequest {
    /// The page of the customer in the path.
    fileprivate var path: DashboardPath {
        get throws { .customer(try customer.rawValue) }
    }

    fileprivate func ownershipChange(_ form: FormFields) throws -> OwnershipChange {
        try OwnershipChange(
            OwnershipRequest(
                originalTransactionID: form["original_transaction_id"] ?? "",
                reason: form["reason"] ?? ""), in: environment)
    }
}

extension Ledger.Grant {
    /// The values for the audit. The reason is in the event of the grant.
    fileprivate var auditState: [String: String?] {
        ["entitlement": entitlement.rawValue, "until": until.map { Timestamp($0).description }]
    }
}

extension StoredTransfer {
    /// The values for the audit. An erasure replaces the customers' ids in these values.
    fileprivate var stateBefore: [String: String?] {
        kind == .shared ? [:] : ["owner": former?.rawValue ?? "none"]
    }

    /// The values for the audit. An erasure replaces the customers' ids in these values.
    fileprivate var stateAfter: [String: String?] {
        kind == .shared ? ["shared_with": customer.rawValue] : ["owner": customer.rawValue]
    }
}
