import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract

/// The list of customers, and the page of one customer.
struct CustomerPages: PageGroup {
    let routes: DashboardRoutes

    /// The number of lines of a wallet on the page of a customer.
    private static let walletLines = 20
    /// The maximum number of events that are read to find the customers on a page of the list.
    private static let newsMax = 500
    /// The number of events in the history on the page of a customer.
    private static let eventsOfCustomer = 20
    /// The number of lines on a page of the whole history.
    private static let linesOnPage = 50
    /// The number of customers on a page of the list.
    private static let customersOnPage = 50

    func add(to router: Router<ServerContext>) {
        routes.page("/customers", of: router, list)
        routes.livePage("/customers/{id}", of: router, show)
        routes.supportActs.add(to: router)
    }

    // MARK: - List

    @Sendable private func list(_ page: PageRequest) async throws -> String {
        guard let query = page.query.trimmed("query") else {
            return try await latest(page, in: page.query["state"] ?? "")
                .html(in: page.frame)
        }
        // A search ignores the state filter.
        let search = try await engine.customers.find(typed: query, byPrefix: true, app: app)
        let all = search.found.map(CustomerList.Found.init)
        var known = try await self.rows(of: all.compactMap(\.customerID), page)[...]
        let rows = all.map { found in
            var row = found.customerID == nil ? .init(customerID: nil) : known.removeFirst()
            row.by = found.by
            return row
        }
        return CustomersPage(
            query: query, rows: rows, hasMore: search.hasMore, apple: AppleSearch(search.store)
        ).html(in: page.frame)
    }

    /// The customers with the newest events.
    private func latest(
        _ page: PageRequest, in state: String
    ) async throws -> CustomersPage {
        let before = try page.eventCursor
        let log = try await routes.eventPages.newest(
            before: before, limit: Self.newsMax, in: page.environment
        ) { _ in true }
        var seen: Set<String> = []
        var newest = log.events.filter { $0.customerID.map { seen.insert($0).inserted } ?? false }[
            ...]
        var rows: [CustomersPage.Row] = []
        while rows.count < Self.customersOnPage, !newest.isEmpty {
            let events = newest.prefix(Self.customersOnPage - rows.count)
            newest = newest.dropFirst(events.count)
            let found = try await self.rows(of: events.compactMap(\.customerID), page)
            for (var row, event) in zip(found, events)
            where state.isEmpty || row.state?.rawValue == state {
                row.newsAt = event.at
                rows.append(row)
            }
        }
        let older = newest.first.map { $0.sequence + 1 }
        return CustomersPage(
            state: state, rows: rows, olderCursor: (older ?? log.older).map { "\($0)" },
            isFirstPage: before == nil)
    }

    /// The rows of several customers, which one transaction reads.
    private func rows(of ids: [String], _ page: PageRequest) async throws -> [CustomersPage.Row] {
        let states = try await engine.customers.currentStates(
            of: ids.map(CustomerID.init(rawValue:)), app: app, environment: page.environment)
        return zip(ids, states).map(Self.row)
    }

    private static func row(of id: String, _ state: CustomerState) -> CustomersPage.Row {
        let customer = Customer(state)
        let chief = customer.entitlements.values.min { rank($0) < rank($1) }
        return CustomersPage.Row(
            customerID: id, state: chief?.state, until: chief?.until,
            entitlements: customer.entitlements.filter(\.value.active).keys.sorted(),
            productID: chief?.productID, paid: state.paid, since: state.since)
    }

    /// The sort key of an entitlement. Open entitlements come first, starting with the one that
    /// ends first. Closed entitlements follow, starting with the one that ended last.
    private static func rank(_ entitlement: PerennialContract.Entitlement) -> (Int, Int64) {
        let until = entitlement.until?.milliseconds ?? Int64.max
        return entitlement.active ? (0, until) : (1, -until)
    }

    // MARK: - One customer

    @Sendable private func show(_ page: PageRequest) async throws -> String {
        let (id, environment) = (try page.customer, page.environment)
        let state = try await engine.customers.find(id, app: app, environment: environment)
        let seesReasons = page.visit.viewer.seesReasons
        let lines = try await engine.customers.history(of: id, app: app, environment: environment)
            .map { seesReasons ? $0 : $0.withoutReason }
        let explanation = try await engine.customers.explain(
            id, app: app, environment: environment, hasReasons: seesReasons)
        let transfers = try await engine.ownership.transfers(of: id, app: app)
            .filter { $0.purchase.environment == environment }
        let happened = try await routes.eventPages.newest(of: id, limit: Self.eventsOfCustomer)
            .events
        let erasure = try await engine.customers.erasure(of: id, app: app)
        var shown = CustomerPage(
            customer: Customer(state), isKnown: erasure != nil,
            since: state.since, paid: state.paid, storefront: state.storefront,
            purchases: state.purchaseLines,
            timeline: TimelinePicture(state),
            explanation: explanation.split(separator: "\n", omittingEmptySubsequences: false)
                .map(String.init),
            wallets: try await wallets(state, page),
            transfers: transfers.map { PerennialContract.Transfer($0) },
            blocked: try await engine.ownership.blockedPurchases(
                of: id, app: app, environment: environment
            ).map(\.original.rawValue),
            grants: try await engine.grants.all(of: id, app: app, environment: environment)
                .map { PerennialContract.Grant($0) },
            groups: try await routes.seatPages.groups(of: state, page),
            hasMoreGroups: state.seatPurchases.count > SeatPages.groupsOnPage,
            seats: try await routes.seatPages.seats(of: state),
            consumption: ConsumptionOverview(
                try await engine.consumption.state(of: id, app: app, environment: environment)),
            happened: happened, linesCount: lines.count,
            history: try page.query["history"].map { try Self.history(lines, before: $0) },
            entitlements: try engine.context.settings(of: app).entitlements.keys.map(\.rawValue)
                .sorted(),
            erasedPurchases: erasure?.purchases ?? 0,
            eventsCount: try await engine.events.count(of: app, customer: id), formKey: page.formKey
        )
        if seesReasons {
            shown.attributes =
                AttributeList(
                    try await engine.attributes.all(of: id, app: app)
                ).items
        }
        return shown.html(in: page.frame)
    }

    /// A part of the history: the newest lines, or the lines before the line with this number.
    private static func history(_ lines: [HistoryLine], before word: String) throws -> History {
        guard let number = word == "all" ? lines.count : Int(word), number >= 0 else {
            throw ProblemError(.cursorUnknown)
        }
        let earlier = lines.prefix(number)
        let shown = earlier.suffix(linesOnPage)
        let rest = earlier.count - shown.count
        return History(
            items: shown.map(History.Line.init), nextCursor: rest > 0 ? "\(rest)" : nil)
    }

    private static func listCursor(_ text: String) throws -> ListCursor {
        guard let cursor = ListCursor(text) else { throw ProblemError(.cursorUnknown) }
        return cursor
    }

    private func wallets(
        _ state: CustomerState, _ page: PageRequest
    ) async throws -> [WalletStatement] {
        var statements: [WalletStatement] = []
        // Includes wallets without entries, because support may credit them.
        let all = try engine.context.settings(of: app).wallets.allCurrencies
        let currencies = page.frame.viewer.mayHelp ? all : Set(state.balances.keys)
        for currency in currencies.sorted() {
            let wallet = try await engine.wallets.find(
                currency, of: state.id, app: app, environment: page.environment)
            let isOlder = page.query["wallet"] == currency.rawValue
            let position = try (isOlder ? page.query["entries"] : nil).map(Self.listCursor)
            statements.append(
                WalletStatement(wallet, of: currency, before: position, limit: Self.walletLines))
        }
        return statements
    }
}

extension AppleSearch {
    init(_ store: CustomerSearch.Store) {
        self =
            switch store {
            case .notQueried: .notAsked
            case .answered(let originals):
                originals.first.map { .known(originalTransactionID: $0) } ?? .unknown
            case .notConfigured: .noKey
            case .failed: .away
            }
    }
}
