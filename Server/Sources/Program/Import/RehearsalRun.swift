import Engine
import Ledger
import Rehearsal
import RevenueCatClient

/// One pass over all customers that this server or RevenueCat knows. Only reads, on both sides.
///
/// The ids come from three sources: our customers, RevenueCat's list, and a file. RevenueCat's list
/// alone is not enough, because it leaves out some customers. Each id is compared once. If both
/// systems assign two ids to the same customer, the two ids count as one. If only one system
/// assigns them to the same customer, both ids are compared, because an alias may be lost. At the
/// end, after a pause, customers whose differences have no harmless cause are compared again.
struct RehearsalRun {
    /// The maximum number of ids in one rehearsal. The number is limited, because all ids are in
    /// memory.
    static let idsMax = 1_000_000
    /// When this number of differences is reached, no further customer is compared. So many
    /// differences have a common cause, such as a wrong mapping.
    static let differencesMax = 100_000
    /// The maximum number of customers that are compared a second time.
    static let secondLooksMax = 10_000
    /// The maximum number of other ids of a customer that are examined for one difference.
    static let otherIDsMax = 20

    let engine: Engine
    let app: AppID
    let environment: Environment
    let client: RevenueCatClient
    var rules = RehearsalRules()
    /// The pause before the second comparison. Nil if there is no second comparison.
    var secondLookAfter: Duration?
    /// Further ids to compare, which the two systems may not list.
    var moreIDs: [CustomerID] = []
    var differencesMax = Self.differencesMax
    /// Called after each customer, with the numbers of customers and of differences so far.
    var progress: @Sendable (Int, Int) -> Void = { _, _ in }
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    private var catalogue = RevenueCatCatalogue(entitlements: [:], products: [:])
    private var compared: Set<CustomerID> = []
    private var summary = RehearsalSummary()
    private var findings: [RehearsalDifference] = []
    private var isComplete = true

    init(
        engine: Engine, app: AppID, environment: Environment = .production,
        client: RevenueCatClient
    ) {
        self.engine = engine
        self.app = app
        self.environment = environment
        self.client = client
    }

    /// Compares all customers.
    ///
    /// - Throws: ``RevenueCatClientFailure``, ``EngineFailure``, or ``StartFailure`` if a limit is
    ///   exceeded. A rehearsal that was interrupted must start from the beginning. It has changed
    ///   nothing.
    mutating func run() async throws -> RehearsalResult {
        let begin = engine.context.serverTime
        catalogue = try await client.catalogue()
        try await compareOurCustomers()
        var theirs: [CustomerID] = []
        try await client.eachPageOfCustomers { ids in
            theirs += ids
            try Self.requireRoom(for: theirs.count)
        }
        for id in theirs + moreIDs { try await compare(id) }
        try await repeatComparisons()
        try await findOwners()
        for finding in findings { summary.add(finding.cause, finding.effect) }
        return RehearsalResult(
            app: app, environment: environment, begin: begin, end: engine.context.serverTime,
            rules: rules, summary: summary, isComplete: isComplete,
            findings: findings.sorted { $0.order.lexicographicallyPrecedes($1.order) })
    }

    private mutating func compareOurCustomers() async throws {
        var last: CustomerID?
        while true {
            let page = try await engine.rehearsals.customers(of: app, after: last)
            for id in page.customers { try await compare(id) }
            guard let next = page.last else { return }
            last = next
        }
    }

    private static func requireRoom(for count: Int) throws(StartFailure) {
        guard count <= idsMax else {
            throw StartFailure(
                "There are more than \(idsMax) ids of customers.",
                remedy: "Rehearse one app after the other, each with its own project.")
        }
    }

    // MARK: - One customer

    /// A customer in both systems. `theirs` is nil if RevenueCat does not know the id.
    private struct Pair {
        var id: CustomerID
        var ours: RehearsedCustomer
        var theirs: RevenueCatCustomer?

        var aliasesThere: Set<CustomerID> { Set(theirs?.aliases ?? []) }
    }

    /// Compares a customer, and then the ids that only one of the systems assigns to this customer.
    private mutating func compare(_ first: CustomerID) async throws {
        var pending = [first]
        while let id = pending.popLast() {
            guard compared.insert(id).inserted else { continue }
            guard findings.count < differencesMax else {
                isComplete = false
                return
            }
            try Self.requireRoom(for: compared.count)
            let pair = try await pair(id)
            let here = Set(pair.ours.ids)
            let there = pair.aliasesThere
            compared.formUnion(here.intersection(there))
            pending += here.symmetricDifference(there).sorted()
            summary.customers += 1
            for difference in try await differences(of: pair) { findings.append(difference) }
            progress(summary.customers, findings.count)
        }
    }

    private func pair(_ id: CustomerID) async throws -> Pair {
        let ours = try await engine.rehearsals.customer(id, app: app, in: environment)
        guard var theirs = try await client.customer(id, catalogue) else {
            return Pair(id: id, ours: ours)
        }
        if ours.hasAccess || !theirs.active.isEmpty {
            theirs = try await client.details(of: theirs, catalogue)
        } else if ours.ids.count > 1 {
            theirs.aliases = try await client.aliases(of: id)
        }
        return Pair(id: id, ours: ours, theirs: theirs)
    }

    private mutating func differences(of pair: Pair) async throws -> [RehearsalDifference] {
        var found: [RehearsalDifference] = []
        let all = Set(pair.ours.opinions.keys).union(pair.theirs?.active.keys.map(\.self) ?? [])
        for entitlement in all.sorted() {
            let (ours, theirs) = opinions(of: pair, about: entitlement)
            if ours.isOpen || theirs.isOpen { summary.entitlements += 1 }
            found += try await differences(of: pair, about: entitlement, ours, theirs)
        }
        return found
    }

    private func differences(
        of pair: Pair, about entitlement: EntitlementID, _ ours: RehearsalOpinion,
        _ theirs: RehearsalOpinion
    ) async throws -> [RehearsalDifference] {
        let aspects = ours.differences(from: theirs)
        guard !aspects.isEmpty else { return [] }
        let comparison = RehearsalComparison(
            ours: ours, theirs: theirs,
            evidence: try await evidence(pair, entitlement, ours, theirs), rules: rules,
            at: engine.context.serverTime)
        let isOwnHere = pair.ours.has(theirs.transaction)
        return aspects.map { aspect in
            RehearsalDifference(
                pair.id, entitlement, aspect, comparison, isOwnHere: isOwnHere,
                there: Self.text(of: pair.theirs, entitlement, theirs))
        }
    }

    private func opinions(
        of pair: Pair, about entitlement: EntitlementID
    ) -> (ours: RehearsalOpinion, theirs: RehearsalOpinion) {
        let theirs = pair.theirs?.opinion(
            of: entitlement, in: environment,
            knowing: pair.ours.transactions[entitlement] ?? [])
        return (
            pair.ours.opinion(of: entitlement, besides: theirs ?? .none), theirs ?? .none
        )
    }

    /// The members of RevenueCat's response from which its result follows.
    private static func text(
        of customer: RevenueCatCustomer?, _ entitlement: EntitlementID, _ opinion: RehearsalOpinion
    ) -> String {
        guard let customer else { return "unknown customer" }
        if let end = customer.active[entitlement] {
            return customer.source(of: entitlement, until: end)?.text
                ?? "active_entitlements has \(entitlement)"
        }
        let same = customer.holdings.first {
            opinion.transaction != nil && $0.transaction == opinion.transaction
        }
        return same?.text ?? "no active entitlement \(entitlement)"
    }

    // MARK: - Evidence

    private func evidence(
        _ pair: Pair, _ entitlement: EntitlementID, _ ours: RehearsalOpinion,
        _ theirs: RehearsalOpinion
    ) async throws -> RehearsalEvidence {
        var evidence = try await engine.rehearsals.evidence(
            about: entitlement, of: pair.id, app: app, in: environment)
        if theirs.isOpen {
            if let product = theirs.product {
                evidence.isTheirProductListed = try engine.rehearsals.lists(product, app: app)
            }
            evidence.isTheirPurchaseKnownHere = pair.ours.has(theirs.transaction)
            evidence.isTheirPurchaseOpenHere =
                theirs.transaction != nil
                && pair.ours.opinions.contains {
                    $0.key != entitlement && $0.value.isOpen
                        && $0.value.transaction == theirs.transaction
                }
        }
        if theirs.isOpen, !ours.isOpen {
            evidence.idWithAccessHere = try await idWithAccessHere(pair, entitlement)
        }
        if ours.isOpen, !theirs.isOpen {
            evidence.isOurPurchaseOpenThere =
                pair.theirs?.holdings.contains {
                    $0.givesAccess && ours.transaction != nil && $0.transaction == ours.transaction
                        && !$0.entitlements.contains(entitlement)
                } ?? false
            evidence.idWithAccessThere = try await idWithAccessThere(pair, entitlement)
            try await addOwner(to: &evidence, pair, ours, theirs)
        }
        return evidence
    }

    private func idWithAccessHere(
        _ pair: Pair, _ entitlement: EntitlementID
    ) async throws -> CustomerID? {
        let others = pair.aliasesThere.subtracting(pair.ours.ids).subtracting([pair.id])
        for id in others.sorted().prefix(Self.otherIDsMax) {
            let other = try await engine.rehearsals.customer(id, app: app, in: environment)
            if other.opinions[entitlement]?.isOpen == true { return id }
        }
        return nil
    }

    private func idWithAccessThere(
        _ pair: Pair, _ entitlement: EntitlementID
    ) async throws -> CustomerID? {
        let others = Set(pair.ours.ids).subtracting(pair.aliasesThere).subtracting([pair.id])
        for id in others.sorted().prefix(Self.otherIDsMax) {
            if try await client.customer(id, catalogue)?.active[entitlement] != nil { return id }
        }
        return nil
    }

    /// If RevenueCat does not list one of our purchases for the customer, asks RevenueCat for the
    /// purchase's owner.
    private func addOwner(
        to evidence: inout RehearsalEvidence, _ pair: Pair, _ ours: RehearsalOpinion,
        _ theirs: RehearsalOpinion
    ) async throws {
        guard ours.basis == .payment, theirs.transaction == nil, evidence.idWithAccessThere == nil,
            let transaction = ours.transaction,
            let owner = try await client.owner(of: transaction), owner != pair.id
        else { return }
        if pair.ours.ids.contains(owner) {
            evidence.idWithAccessThere = owner
        } else {
            evidence.isOwnedByAnother = !pair.aliasesThere.contains(owner)
        }
    }

    // MARK: - After all customers

    /// Compares again the customers whose differences may have disappeared by now.
    private mutating func repeatComparisons() async throws {
        let open = findings.filter(\.cause.deservesSecondLook)
        guard let secondLookAfter, !open.isEmpty else { return }
        try await sleep(secondLookAfter)
        let again = Dictionary(grouping: open, by: \.customer).sorted { $0.key < $1.key }
            .prefix(Self.secondLooksMax).map { ($0.key, Set($0.value.map(\.entitlement))) }
        let first = Dictionary(grouping: findings, by: \.customer)
        var second: [CustomerID: [RehearsalDifference]] = [:]
        for (id, entitlements) in again {
            let pair = try await pair(id)
            var kept = (first[id] ?? []).filter { !entitlements.contains($0.entitlement) }
            for entitlement in entitlements.sorted() {
                let (ours, theirs) = opinions(of: pair, about: entitlement)
                kept += RehearsalDifference.confirmed(
                    (first[id] ?? []).filter { $0.entitlement == entitlement },
                    by: try await differences(of: pair, about: entitlement, ours, theirs),
                    at: engine.context.serverTime)
            }
            second[id] = kept
        }
        findings = findings.filter { second[$0.customer] == nil } + second.values.joined()
    }

    /// Finds purchases for which RevenueCat gives access, but which this server has in the sandbox,
    /// for another owner, or without an owner.
    private mutating func findOwners() async throws {
        let sought = Set(findings.compactMap(\.transactionWithoutOwner))
        for (place, cause) in [
            (environment, RehearsalCause.ownerDiffers), (.sandbox, .sandbox),
        ] {
            let known = try await engine.rehearsals.known(sought, app: app, in: place)
            for index in findings.indices {
                guard let transaction = findings[index].transactionWithoutOwner,
                    known.contains(transaction)
                else { continue }
                findings[index].cause = cause
            }
        }
    }
}
