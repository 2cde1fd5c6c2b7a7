import AppStoreFormats
import Dice
import Engine
import Ledger
import Logging
import Storage
import Testing

@testable import Program

/// A buyer and thieves act on one purchase in random order. The buyer has devices of the store
/// account, signs in and out, and deletes the app. The thieves have the public app key and copies
/// of all documents that the buyer's app has posted.
///
/// The checks do not depend on how ownership is decided. The buyer has access as soon as they
/// restore with a newly signed document. Thieves get only the access that a recent copy gives.
struct OwnershipLife {
    let simulator: Wire
    let seed: UInt64
    let app: AppConfiguration
    let clock = StoryClock()
    let assembly: Assembly
    var dice: Dice
    /// The id under which the buyer's app currently posts.
    var buyer: CustomerID
    /// All ids that the buyer's apps have used.
    var buyers: Set<CustomerID> = []
    let token: CustomerID?
    /// Whether the buyer was erased, so that the token no longer names anybody.
    var isTokenErased = false
    let purchase: PurchaseID
    var copies: [(signed: String, at: Instant)] = []
    var devices = 0
    /// The acts so far, for the message of a failure.
    var acts: [String] = []

    static let places = 3
    static let person: CustomerID = "anna"
    static let personToken = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
    static let thieves: [CustomerID] = ["thief", "thief-2"]
    static let stolenDevices = (0..<6).map { device("thief", $0) }

    static func device(_ whose: String, _ number: Int) -> CustomerID {
        CustomerID(
            rawValue: "anon_\(whose)\(number)".padding(
                toLength: 40, withPad: "x", startingAt: 0))
    }

    /// Whom the account token of the purchase names.
    enum Naming: CaseIterable { case nobody, device, person }

    /// Begins a new world on the simulator, with a purchase that the buyer has posted.
    init(seed: UInt64, beside shop: Shop, at address: String) async throws {
        (simulator, self.seed) = (shop.simulator, seed)
        dice = Dice(seed: seed)
        var app = birds
        let policies: [OwnershipClaim.RestorePolicy] = [.keep, .keep, .transferIfInactive, .share]
        app.settings.restorePolicies = [
            .production: policies.randomElement(using: &dice) ?? .keep
        ]
        app.settings.shareRules = [
            .production: OwnershipClaim.ShareRules(most: 2, anonymousMost: Self.places)
        ]
        self.app = app
        try await simulator.post("/_sim/reset", ["seed": .integer(Int64(seed % 1_000_000))])
        try await simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
        assembly = try await Assembly(
            apps: [app], databaseAddress: address, simulatorRoot: shop.authority.rootDER,
            receiptRoot: try shop.authority.receipts.rootDER, now: { [clock] in clock.now },
            logger: Logger(label: "life") { _ in SwiftLogNoOpLogHandler() })
        buyer = Self.device("buyer", 0)
        buyers = [buyer]
        switch Naming.allCases.randomElement(using: &dice) ?? .nobody {
        case .nobody: token = nil
        case .device:
            token = try await assembly.engine.ownership.accountToken(for: buyer, app: "birds")
        case .person:
            token = CustomerID(rawValue: Self.personToken)
            buyer = CustomerID(rawValue: Self.personToken)
            buyers = [buyer]
        }
        try await shop.addDevice(
            "a", token.map { ["app_account_token": .string($0.rawValue)] } ?? [:])
        let bought = try await simulator.post(
            "/_sim/devices/a-1/purchases", ["product_id": "pro.monthly"])
        purchase = PurchaseID(
            TransactionID(rawValue: try bought.text("original_transaction_id")), in: .production)
        try await post(.purchase)
    }

    mutating func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &dice) }

    private mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &dice)
    }

    // MARK: - Acts

    mutating func act() async throws {
        switch number(0...99) {
        case ..<14: try await pass(.seconds(number(1...86_400)))
        case ..<22: try await pass(.days(number(1...35)))
        case ..<32: try await post(.sync)
        case ..<46: try await restore()
        case ..<52: try await useNewDevice()
        case ..<58: try await signIn()
        case ..<61: try await eraseBuyer()
        case ..<80: try await stealAsDevice()
        case ..<92: try await stealAsPerson()
        case ..<97: try await stealByAlias()
        default: try await eraseThief()
        }
    }

    private mutating func pass(_ duration: Duration) async throws {
        let seconds = duration.components.seconds
        try await simulator.post("/_sim/clock", ["advance": .string("PT\(seconds)S")])
        clock.pass(duration)
        acts.append("\(seconds / 3600) hours")
    }

    /// The app posts newly signed documents. Returns the verdicts.
    @discardableResult
    private mutating func post(
        _ intent: OwnershipClaim.Intent
    ) async throws -> [OwnershipResult] {
        try await pass(.seconds(60))
        let restored = try await simulator.post("/_sim/devices/a-1/restore")
        let signed = (restored["signed_transactions"]?.array ?? []).compactMap(\.string)
        let result = try await assembly.engine.recording.post(
            PurchaseEvidence(signedTransactions: signed), of: buyer, intent: intent, app: "birds",
            isByApp: true)
        if let last = signed.last { copies.append((last, clock.now)) }
        acts.append("\(buyer) posts for \(intent.rawValue): \(result.ownerships.map(\.kind))")
        return result.ownerships
    }

    /// The buyer restores. Expects that the buyer then has the purchase.
    private mutating func restore() async throws {
        _ = try await post(.restore)
        let owner = try await owner()
        let has = try await isOpen(buyer)
        // On a device without log-in, a purchase that belongs to her as a person stays with the
        // person.
        let isHers = owner.map { buyers.contains($0) && !$0.isAnonymous } ?? false
        try #require(
            has || isHers, "\(buyer) has no access, the owner is \(owner as Any). \(story)")
        let isThiefs = owner.map(Self.thieves.contains) ?? false
        try #require(!isThiefs, "a thief is the owner. \(story)")
    }

    private mutating func useNewDevice() async throws {
        devices += 1
        buyer = Self.device("buyer", devices)
        buyers.insert(buyer)
        acts.append("a new device")
        try await post(.sync)
    }

    private mutating func signIn() async throws {
        guard buyer.isAnonymous else {
            // The buyer signs out.
            devices += 1
            buyer = Self.device("buyer", devices)
            buyers.insert(buyer)
            return acts.append("signs out")
        }
        if Bool.random(using: &dice) {
            let alias = try await refusal {
                _ = try await assembly.engine.customers.alias(
                    buyer, to: Self.person, app: "birds", environment: .production, proofs: [])
            }
            acts.append("\(buyer) is anna: \(alias.map { "\($0)" } ?? "done")")
        }
        buyer = Self.person
        buyers.insert(buyer)
        try await post(.sync)
    }

    private mutating func eraseBuyer() async throws {
        _ = try await assembly.engine.customers.erase(buyer, app: "birds")
        acts.append("erase \(buyer)")
        isTokenErased = true
        if buyer.rawValue == Self.personToken {
            buyer = Self.person
            buyers.insert(buyer)
        }
        try await post(.restore)
    }

    /// Returns a recent copy or an older one.
    private mutating func copy() -> (signed: String, at: Instant)? {
        Bool.random(using: &dice) ? copies.last : pick(copies)
    }

    private mutating func intent() -> OwnershipClaim.Intent? {
        pick([nil, .restore, .restore, .purchase, .sync]) ?? nil
    }

    private mutating func stealAsDevice() async throws {
        guard let copy = copy(), let thief = pick(Self.stolenDevices) else { return }
        let age = clock.now - copy.at
        let had = try await hasShare(thief)
        try await steal(copy.signed, as: thief)
        guard try await isOpen(thief) else { return }
        try #require(age <= .days(30) || had, "\(thief) has access by an old copy. \(story)")
        var users = 0
        for device in Self.stolenDevices where try await isOpen(device) { users += 1 }
        try #require(users <= Self.places, "\(users) devices have access. \(story)")
    }

    private mutating func stealAsPerson() async throws {
        guard let copy = copy(), let thief = pick(Self.thieves) else { return }
        // A purchase that names nobody goes to the first customer who shows it.
        guard let before = try await owner() else { return }
        let age = clock.now - copy.at
        try await steal(copy.signed, as: thief)
        guard try await owner() == thief, before != thief else { return }
        // Between two persons this policy does not require a recent document.
        let isByPolicy =
            app.settings.restorePolicies[.production] == .transferIfInactive && !before.isAnonymous
        try #require(
            age <= .days(30) || isByPolicy, "\(thief) took the purchase by an old copy. \(story)")
    }

    private mutating func steal(_ signed: String, as thief: CustomerID) async throws {
        let intent = intent()
        let evidence = PurchaseEvidence(signedTransactions: [signed])
        let result = try await assembly.engine.recording.post(
            evidence, of: thief, intent: intent, app: "birds", isByApp: true)
        acts.append(
            "\(thief) posts for \(intent?.rawValue ?? "nothing"): "
                + "\(result.ownerships.map(\.kind))")
    }

    private mutating func stealByAlias() async throws {
        guard let thief = pick(Self.thieves + Self.stolenDevices) else { return }
        var victims = [Self.person, CustomerID(rawValue: Self.personToken)]
        if let token, !isTokenErased {
            victims += [token, CustomerID(rawValue: token.rawValue.uppercased())]
        }
        guard let victim = pick(victims) else { return }
        // Anybody who knows a person's id may add an anonymous id to that person. Only proofs can
        // prevent that.
        guard !thief.isAnonymous || victim == token && token?.rawValue != Self.personToken else {
            return
        }
        for (other, id) in [(victim, thief), (thief, victim)] {
            let refusal = try await refusal {
                _ = try await assembly.engine.customers.alias(
                    other, to: id, app: "birds", environment: .production, proofs: [])
            }
            acts.append("\(other) is \(id): \(refusal.map { "\($0)" } ?? "done")")
            try #require(refusal != nil, "\(other) is \(id). \(story)")
        }
    }

    /// Anybody who knows an anonymous id may erase its customer.
    private mutating func eraseThief() async throws {
        guard let thief = pick(Self.stolenDevices) else { return }
        guard try await assembly.engine.customers.isOnlyAnonymous(thief, app: "birds") else {
            return
        }
        _ = try await assembly.engine.customers.erase(thief, app: "birds")
        acts.append("erase \(thief)")
    }

    private func refusal(_ body: () async throws -> Void) async throws -> EngineFailure? {
        do {
            try await body()
            return nil
        } catch let failure as EngineFailure {
            switch failure {
            case .aliasNotProven, .aliasJoinsTwoPeople: return failure
            default: throw failure
            }
        }
    }

    // MARK: - Checks

    var story: String {
        "PERENNIAL_SEED=\(seed) \(app.settings.restorePolicy(in: .production)), "
            + "names \(token?.rawValue ?? "nobody"): " + acts.joined(separator: "; ")
    }

    func isOpen(_ id: CustomerID) async throws -> Bool {
        try await assembly.engine.customers.find(id, app: "birds", environment: .production)
            .entitlements["pro"]?.isOpen == true
    }

    /// The customer to whom the purchase is linked, as the customer's first id.
    private func owner() async throws -> CustomerID? {
        try await Database(assembly.database).read { [purchase] tx in
            try tx.links.find(of: purchase, in: "birds")?.customer
        }
    }

    private func hasShare(_ id: CustomerID) async throws -> Bool {
        try await Database(assembly.database).read { [purchase] tx in
            try tx.shares.exists(in: purchase, id, in: "birds")
        }
    }
}
