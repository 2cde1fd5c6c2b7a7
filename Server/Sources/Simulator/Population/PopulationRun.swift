import AppStoreFormats

/// A population too large for one world, simulated district by district. Each district is a
/// separate world, so memory use stays small however many customers there are. Districts share no
/// ids.
package struct PopulationRun: Sendable {
    /// The number of customers in one district.
    static let districtAccounts = 1000
    package static let accountsMax = 1_000_000
    package static let monthsMax = 120

    package let accounts: Int
    package let months: Int
    package let settings: SimulatorSettings

    /// Counts over all districts.
    package struct Tally: Sendable {
        package init() {}

        package var accounts = 0
        package var transactions = 0
        package var notifications = 0
        package var refusals = 0
        /// How many times each row of the lifecycle table occurred, by the row's number.
        package var rows: [Int: Int] = [:]
        /// Charged and refunded amounts by currency, in thousandths of the currency unit.
        package var money: [String: (charged: Int64, refunded: Int64)] = [:]
        package var signatures = 0
        package var signedBytes = 0
    }

    /// - Throws: ``SimulatorProblem`` if a number is out of range.
    package init(
        accounts: Int, months: Int, _ settings: SimulatorSettings
    ) throws(SimulatorProblem) {
        guard (1...Self.accountsMax).contains(accounts) else {
            throw .badRequest(
                "The population is \(accounts).", remedy: "Choose 1 to \(Self.accountsMax).")
        }
        guard (1...Self.monthsMax).contains(months) else {
            throw .badRequest("The months are \(months).", remedy: "Choose 1 to \(Self.monthsMax).")
        }
        self.accounts = accounts
        self.months = months
        self.settings = settings
    }

    /// The number of districts, which are simulated independently.
    package var districts: Int {
        (accounts + Self.districtAccounts - 1) / Self.districtAccounts
    }

    /// Simulates one district, numbered from 0. Adds to the tally, and passes on each account's
    /// ground truth at the end and each signed notification.
    package func simulate(
        _ district: Int, _ tally: inout Tally, signedBy authority: SigningAuthority? = nil,
        books: (GroundTruth) throws -> Void, signed: (String) throws -> Void = { _ in }
    ) throws {
        var world = World(settings, district: district)
        let end = world.calendar.moment(settings.now, plus: .months(months))
        let first = district * Self.districtAccounts
        var population = Population(
            min(Self.districtAccounts, accounts - first), first: first + 1, seed: settings.seed,
            within: settings.now..<end, world.calendar)
        try population.simulate(&world, until: end) { notice in
            tally.notifications += 1
            guard let authority else { return }
            let document = try notice.signed(by: authority, settings)
            tally.signatures += notice.signatureCount
            tally.signedBytes += document.utf8.count
            try signed(document)
        }
        tally.add(population, world)
        for name in population.names where world.has(account: name) {
            let account = try TrueBooks(world).groundTruth(of: name, at: end)
            tally.add(account)
            try books(account)
        }
    }
}

extension PopulationRun.Tally {
    fileprivate mutating func add(_ population: Population, _ world: World) {
        refusals += population.refusals
        for row in LifecycleRow.allCases where world.rowCounts[row.rawValue] > 0 {
            rows[row.rawValue, default: 0] += world.rowCounts[row.rawValue]
        }
    }

    fileprivate mutating func add(_ books: GroundTruth) {
        accounts += 1
        for charge in books.purchases.flatMap(\.charges) {
            transactions += 1
            var sum = money[charge.currency] ?? (0, 0)
            sum.charged += charge.amount
            sum.refunded += charge.refunded
            money[charge.currency] = sum
        }
    }

    /// The last line of a population's ground truth.
    package var json: JSON {
        let rows = self.rows.sorted { $0.key < $1.key }
        let money = self.money.sorted { $0.key < $1.key }
        return [
            "accounts": .integer(Int64(accounts)), "transactions": .integer(Int64(transactions)),
            "notifications": .integer(Int64(notifications)),
            "refusals": .integer(Int64(refusals)),
            "signatures": .integer(Int64(signatures)),
            "signed_bytes": .integer(Int64(signedBytes)),
            "rows": .object(rows.map { .init("\($0.key)", .integer(Int64($0.value))) }),
            "money": .object(
                money.map { currency, sum in
                    .init(
                        currency,
                        [
                            "charged_milliunits": .integer(sum.charged),
                            "refunded_milliunits": .integer(sum.refunded),
                        ])
                }),
        ]
    }
}

extension NotificationDraft {
    /// The number of signatures: one for the notification, and one for each document inside it.
    fileprivate var signatureCount: Int {
        switch content {
        case .purchase(let snapshot): snapshot.chain == nil ? 2 : 3
        case .app: 2
        case .summary, .externalPurchaseToken, .unclaim, .test: 1
        }
    }
}

extension World {
    fileprivate func has(account name: String) -> Bool {
        [SimulatedEnvironment.production, .sandbox].contains {
            accounts[Account.Key(name: name, environment: $0)] != nil
        }
    }
}
