import Crypto
import Engine
import Foundation
import Ledger
import RevenueCatClient
import Storage

/// One pass over all customers of a project at RevenueCat: imports what no export contains, which
/// is all ids of each customer and, at the switch, the balances of virtual currencies.
///
/// The ids come from three sources, because RevenueCat leaves customers out of its list: our
/// customers, RevenueCat's list, and a file. A customer whom several of them name is imported once.
/// A pass that was interrupted starts again, and repeats nothing.
struct RevenueCatCustomerImport {
    /// The maximum number of ids, because all of them are in memory.
    static let idsMax = 1_000_000
    private static let balancesKind = "revenuecat-balances"

    let engine: Engine
    let app: AppID
    let client: RevenueCatClient
    /// RevenueCat's id of the project.
    let project: String
    var environment = Ledger.Environment.production
    /// Whether to import balances, too.
    var withBalances = false
    /// The wallet of each virtual currency whose name here differs from RevenueCat's code.
    var currencies: [String: CurrencyID] = [:]
    /// Whether to change nothing, and to report only.
    var isTrial = false
    /// Whether to import balances although they were imported before.
    var isAnew = false
    /// Ids to import besides those that the two systems list.
    var moreIDs: [CustomerID] = []
    /// Called after each customer, with the number of customers so far.
    var progress: @Sendable (Int64) -> Void = { _ in }
    /// Receives what was left out of a customer, with the customer's number in this pass.
    var complain: (_ number: Int64, _ customer: CustomerID, _ reason: String) throws -> Void

    private var seen: Set<CustomerID> = []
    private var result = RevenueCatImportResult()
    private var catalogue = RevenueCatCatalogue(entitlements: [:], products: [:])

    init(
        engine: Engine, app: AppID, client: RevenueCatClient, project: String,
        complain:
            @escaping (_ number: Int64, _ customer: CustomerID, _ reason: String) throws -> Void
    ) {
        self.engine = engine
        self.app = app
        self.client = client
        self.project = project
        self.complain = complain
    }

    /// Imports all customers.
    ///
    /// - Throws: ``RevenueCatClientFailure``, ``EngineFailure``, or ``StartFailure`` if all
    ///   balances
    ///   were imported before, or would go to the sandbox, or if a limit is exceeded.
    mutating func run() async throws -> RevenueCatImportResult {
        let key = balancesKey
        if withBalances { try requireProduction() }
        if withBalances, !isTrial, !isAnew { try await requireNoBalances(key) }
        // The first request: it tells whether the project and the key are right.
        catalogue = try await client.catalogue()
        try await importOurCustomers()
        var theirs: [CustomerID] = []
        try await client.eachPageOfCustomers { ids in
            theirs += ids
            try Self.requireRoom(for: theirs.count)
        }
        for id in theirs + moreIDs { try await importCustomer(id) }
        // A balance that was left out can be imported by the next run.
        if withBalances, !isTrial, result.problems == 0 {
            try await engine.imports.save(
                ImportPosition(
                    linesRead: result.customers, endedAt: engine.context.serverTime), of: key)
        }
        return result
    }

    private var balancesKey: ImportKey {
        ImportKey(
            app: app, kind: Self.balancesKind,
            file: Array(SHA256.hash(data: Data("\(project) \(environment)".utf8))))
    }

    private func requireProduction() throws(StartFailure) {
        guard environment == .production else {
            throw StartFailure(
                "RevenueCat's balances cannot be imported to the sandbox: a customer has one "
                    + "balance there, without an environment.",
                remedy: "Leave out --balances, or --environment sandbox.")
        }
    }

    /// Throws if balances were imported to the end before: from then on purchases arrive that only
    /// this server knows, so the balances at RevenueCat mean nothing any more.
    private func requireNoBalances(_ key: ImportKey) async throws {
        guard let end = try await engine.imports.position(of: key)?.endedAt else { return }
        throw StartFailure(
            "The balances of \(project) were imported at \(end) to the end.",
            remedy: "Leave --balances out. Add --anew only if RevenueCat still gets all "
                + "notifications, and your apps and servers still spend there.")
    }

    private static func requireRoom(for count: Int) throws(StartFailure) {
        guard count <= idsMax else {
            throw StartFailure(
                "There are more than \(idsMax) ids of customers.",
                remedy: "Import one app after the other, each with its own project.")
        }
    }

    private mutating func importOurCustomers() async throws {
        var last: CustomerID?
        while true {
            let page = try await engine.rehearsals.customers(of: app, after: last)
            for id in page.customers { try await importCustomer(id) }
            guard let next = page.last else { return }
            last = next
        }
    }

    private mutating func importCustomer(_ id: CustomerID) async throws {
        guard seen.insert(id).inserted else { return }
        let there = try await client.aliases(of: id)
        // RevenueCat does not know the id.
        guard !there.isEmpty else { return }
        let ids = ([id] + there).uniqued
        seen.formUnion(ids)
        try Self.requireRoom(for: seen.count)
        result.customers += 1
        try await record(aliases: ids, of: id)
        if withBalances { try await importBalances(of: id, ids) }
        progress(result.customers)
    }

    private mutating func record(aliases ids: [CustomerID], of id: CustomerID) async throws {
        let done = try await engine.imports.record(
            aliases: ids, app: app, in: environment, isTrial: isTrial)
        try add(done, of: id)
    }

    private mutating func importBalances(of id: CustomerID, _ ids: [CustomerID]) async throws {
        let balances = try await client.balances(of: id).map { code, amount in
            ImportedBalance(code, in: currencies[code] ?? CurrencyID(rawValue: code), amount)
        }
        guard !balances.isEmpty else { return }
        for other in try await engine.imports.ids(besides: ids, app: app) {
            guard try await !client.aliases(of: other).isEmpty else { continue }
            let problem =
                "no balance was imported, because \(other) is another customer there, and the same "
                + "customer here; credit or debit the difference with a secret key"
            return try add(ImportedCustomer(problems: [problem]), of: id)
        }
        let purchases = try await client.purchases(of: id, catalogue)
            .filter { $0.isSandbox || $0.isApple }
            .map {
                VendorPurchase(
                    transaction: $0.transaction, product: $0.product, isSandbox: $0.isSandbox)
            }
        let done = try await engine.imports.record(
            balances: balances, of: ids, counting: purchases, app: app, isTrial: isTrial)
        try add(done, of: id)
        // A booking may have made the customer known here: then the other ids count, too.
        if done.balancesBooked > 0, !isTrial { try await record(aliases: ids, of: id) }
    }

    private mutating func add(_ done: ImportedCustomer, of id: CustomerID) throws {
        result.aliases += Int64(done.aliasesAdded)
        result.balances += Int64(done.balancesBooked)
        result.problems += Int64(done.problems.count)
        for reason in done.problems { try complain(result.customers, id, reason) }
    }
}

/// What an import of customers has done.
struct RevenueCatImportResult: Hashable, Sendable {
    /// The customers whom RevenueCat knows.
    var customers: Int64 = 0
    var aliases: Int64 = 0
    var balances: Int64 = 0
    /// How often something was left out.
    var problems: Int64 = 0
}

extension [CustomerID] {
    /// The elements without repetitions, in their order.
    fileprivate var uniqued: Self {
        var seen: Set<CustomerID> = []
        return filter { seen.insert($0).inserted }
    }
}
