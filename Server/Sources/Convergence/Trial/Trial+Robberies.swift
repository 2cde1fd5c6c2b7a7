import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage

// Thieves have the public app key, and copies of documents that the apps of others have posted.
// Thieves may get only the access that docs/identity.md describes. A buyer gets a taken purchase
// back with a document that is signed now.

/// A copy of a transaction that somebody else's app has posted.
struct CopiedDocument: Sendable {
    var account: String
    var letter: ObservedDocument
    var signedAt: Instant
    var purchase: PurchaseID

    /// Returns nil if the document is not a signed transaction, because other copies are useless.
    init?(_ letter: ObservedDocument, of account: String) {
        guard let transaction = letter.transaction, !letter.isLegacy, letter.uuid == nil,
            let signed = transaction.signedDate, let original = letter.original
        else { return nil }
        self.account = account
        self.letter = letter
        signedAt = Instant(milliseconds: signed.milliseconds)
        purchase = PurchaseID(
            TransactionID(rawValue: original),
            in: transaction.environment == .sandbox ? .sandbox : .production)
    }

    var evidence: PurchaseEvidence { PurchaseEvidence(signedTransactions: [letter.payload]) }
    var namesSomebody: Bool { letter.transaction?.appAccountToken != nil }
}

extension Trial {
    private static let robberiesMax = 10
    private static let copiesMax = 300
    private static let robbers: [CustomerID] = ["robber", "robber-2"]
    private static let devicesMax = 9
    private static let devicesAtOnceMax = 5
    private static let triesAgainMax = 4
    private static let signInOdds = 0.4
    /// The maximum difference between the clocks of servers.
    private static let tolerance = Duration.seconds(600)
    private static let hour: Int64 = 3_600_000

    private var hasRobbers: Bool {
        plan.has(.thieves) && plan.clientEra == .modern && sabotage == nil
    }

    /// The id of a thief's device on which nobody has signed in.
    private static func device(_ number: Int) -> CustomerID {
        let filled =
            "robber" + String(repeating: "\(number)", count: CustomerID.anonymousCharactersMin)
        return CustomerID(rawValue: CustomerID.anonymousPrefix + filled)
    }

    func scheduleRobberies(_ start: Int64, _ length: Int64) {
        guard hasRobbers else { return }
        func moment() -> Int64 {
            plan.moment(start + Int64(robberRandom.fraction() * Double(length)))
        }
        for _ in 0..<robberRandom.number(in: 1...Self.robberiesMax) {
            schedule.add(.rob, at: moment())
        }
        for account in accounts.indices where robberRandom.happens(Self.signInOdds) {
            schedule.add(.signIn(account: account), at: moment())
        }
    }

    /// Copies the documents that the server has accepted from an app.
    func copy(_ letters: [ObservedDocument], of account: String) {
        guard hasRobbers, isStormy else { return }
        copies += letters.compactMap { CopiedDocument($0, of: account) }
        copies.removeFirst(max(0, copies.count - Self.copiesMax))
    }

    // MARK: - What they do

    func rob() async throws {
        guard let server = anyServer() else { return }
        switch robberRandom.number(in: 0...5) {
        case 0: try await robByAlias(at: server)
        case 1, 2: try await robAsDevices(at: server)
        default: try await robAsPerson(at: server)
        }
        await scheduleRestarts()
    }

    /// Tries to join an id of the thieves with the account token of a purchase, or with an id that
    /// the purchase's customer may use later.
    private func robByAlias(at server: Server) async throws {
        guard let name = robberRandom.pick(accounts) else { return }
        let buyer = await customer(of: name)
        guard !erased.contains(buyer) else { return }
        var victim = buyer
        if buyer.isAnonymous {
            // The token is in every purchase that the app makes for this customer.
            guard
                let token = try await auditor.ownership.accountToken(
                    for: buyer, app: TrialFixture.app, isByApp: true)
            else { return }
            victim = token
        }
        let upper = CustomerID(rawValue: victim.rawValue.uppercased())
        let spellings = victim.accountToken == nil ? [victim] : [victim, upper]
        for id in spellings {
            for thief in Self.robbers.prefix(1) + (buyer.isAnonymous ? [Self.device(0)] : []) {
                for (other, path) in [(id, thief), (thief, id)] {
                    try await expectRefusal(of: other, to: path, at: server)
                }
            }
        }
    }

    private func expectRefusal(
        of other: CustomerID, to id: CustomerID, at server: Server
    ) async throws {
        do {
            _ = try await server.engine.customers.alias(
                other, to: id, app: TrialFixture.app, environment: .production, proofs: [])
        } catch {
            switch error {
            case .aliasNotProven, .aliasJoinsTwoPeople:
                return report.tally.add("alias by a thief refused")
            default: return try requireCrashed(error, server)
            }
        }
        throw violation("ownership", "a thief joined \(other) with \(id)")
    }

    /// Posts a copy from devices on which nobody has signed in.
    private func robAsDevices(at server: Server) async throws {
        guard let copy = robberRandom.pick(copies), copy.signedAt.milliseconds < now,
            let owner = try await link(of: copy.purchase)
        else { return }
        let isAnonymous = try await isAnonymous(owner.customer)
        for _ in 0..<robberRandom.number(in: 1...Self.devicesAtOnceMax) {
            let device = Self.device(robberRandom.number(in: 0...Self.devicesMax))
            let had = try await hasShare(in: copy.purchase, device)
            let intent = robberRandom.pick([nil] + OwnershipClaim.Intent.allCases) ?? nil
            try await post(copy, as: device, intent, to: server)
            guard try await hasShare(in: copy.purchase, device), !had else {
                report.tally.add("copy refused to a device")
                continue
            }
            guard isAnonymous, isRecent(copy) else {
                throw violation("ownership", "\(device) shares \(copy.purchase) by an old copy")
            }
            report.tally.add("copy shared with a device")
        }
        let shares = try await shares(of: copy.purchase)
        guard shares.count <= TrialFixture.shareRules.anonymousMost else {
            throw violation("ownership", "\(shares.count) customers share \(copy.purchase)")
        }
        try await postBesideAgain(copy.account)
    }

    /// The second device of the account has posted purchases before. Lets it post the same
    /// purchases again, with documents that the store signs now. The device must then have these
    /// purchases, even if thieves have posted many copies. The device posts no other purchase.
    /// Otherwise the device would own that purchase. A person who then signs in on the first device
    /// would not get the purchase back, because the app names no intent.
    private func postBesideAgain(_ name: String) async throws {
        guard let posted = besidePosted[name], !posted.isEmpty else { return }
        let signed = try await simulator.restore(on: name + "-1").signedTransactions
        let letters = signed.compactMap { ObservedDocument(transaction: $0) }
        let fresh = letters.compactMap { CopiedDocument($0, of: name) }
            .filter { $0.signedAt.milliseconds == now && posted.contains($0.purchase) }
        besidePosted[name] = nil
        guard !fresh.isEmpty else { return }
        for letter in letters { evidence.recordPossible(letter, at: now) }
        let result = try await auditor.recording.post(
            PurchaseEvidence(signedTransactions: fresh.map(\.letter.payload)),
            of: anonymousID(name, device: 2), intent: .sync, app: TrialFixture.app)
        for document in fresh { evidence.recordAccepted(document.letter, at: now) }
        for one in result.ownerships where posted.contains(one.purchase) {
            switch one.kind {
            case .theirs, .shared, .linked:
                besidePosted[name, default: []].insert(one.purchase)
            case .another, .refused, .moved:
                throw violation("ownership", "copies keep out a second device: \(one)")
            }
        }
    }

    /// Posts a copy as a person.
    private func robAsPerson(at server: Server) async throws {
        guard let copy = robberRandom.pick(copies), copy.signedAt.milliseconds < now,
            let robber = robberRandom.pick(Self.robbers)
        else { return }
        // If a purchase has no owner and names no customer, the first customer who posts the
        // purchase gets it.
        let owner = try await link(of: copy.purchase)
        let buyer = await customer(of: copy.account)
        let isNamed = copy.namesSomebody && !erased.contains(buyer)
        guard owner != nil || isNamed else { return }
        let intents: [OwnershipClaim.Intent?] = [.restore, .restore, .purchase, .sync, nil]
        let intent = robberRandom.pick(intents) ?? nil
        let isAllowed = try await mayTake(copy, from: owner, intent)
        try await post(copy, as: robber, intent, to: server)
        guard try await link(of: copy.purchase)?.customer == robber, owner?.customer != robber
        else { return report.tally.add("copy refused to a person") }
        guard isAllowed else {
            throw violation(
                "ownership", "\(robber) took \(copy.purchase) by a copy of \(copy.signedAt)")
        }
        report.tally.add("purchase taken by a copy")
        try await recordTaken(copy)
    }

    /// Whether the documentation says that the copy takes the purchase.
    private func mayTake(
        _ copy: CopiedDocument, from owner: Link?, _ intent: OwnershipClaim.Intent?
    ) async throws -> Bool {
        guard let owner, isRecent(copy), intent != .sync else { return false }
        if try await isAnonymous(owner.customer) {
            return intent != nil && owner.document.map { copy.signedAt >= $0.signedAt } ?? true
        }
        return owner.evidence == .device && owner.document?.isConfirming == false
            && copy.signedAt > owner.since
    }

    private func recordTaken(_ copy: CopiedDocument) async throws {
        guard let account = accounts.firstIndex(of: copy.account) else { return }
        taken[copy.account, default: []].insert(copy.purchase)
        linked.remove(copy.purchase.original.rawValue)
        besidePosted[copy.account] = nil
        let pause = Self.hour / 4 + Int64(robberRandom.number(in: 0...2_000_000))
        schedule.add(.winBack(account: account), at: now + pause)
    }

    /// Posts a copy. If the server crashes, the caller must read afterwards whether the copy was
    /// recorded.
    private func post(
        _ copy: CopiedDocument, as thief: CustomerID, _ intent: OwnershipClaim.Intent?,
        to server: Server
    ) async throws {
        do {
            _ = try await server.engine.recording.post(
                copy.evidence, of: thief, intent: intent, app: TrialFixture.app, isByApp: true)
            evidence.recordAccepted(copy.letter, at: now)
        } catch {
            guard server.process.isOn, error.isPermanent, !plan.has(.skew) else { return }
            throw violation("verbs", "a copy was rejected: \(error)")
        }
    }

    // MARK: - What buyers do

    /// Lets the buyer ask for the purchases that were taken, with documents that are signed now.
    func winBack(account: Int) async throws {
        let name = accounts[account]
        guard let missing = taken[name], !missing.isEmpty else { return }
        let later = now + Self.hour
        let signed = try await simulator.restore(on: name + "-1").signedTransactions
        let letters = signed.compactMap { ObservedDocument(transaction: $0) }
        let fresh = letters.compactMap { CopiedDocument($0, of: name) }
            .filter { $0.signedAt.milliseconds == now }
        guard missing.isSubset(of: fresh.map(\.purchase)), let server = anyServer() else {
            return schedule.add(.winBack(account: account), at: later)
        }
        for letter in letters { evidence.recordPossible(letter, at: now) }
        let buyer = await customer(of: name)
        let result: PostingResult
        do {
            result = try await server.engine.recording.post(
                PurchaseEvidence(signedTransactions: fresh.map(\.letter.payload)), of: buyer,
                intent: .restore, app: TrialFixture.app, isByApp: true)
        } catch {
            try requireCrashed(error, server)
            schedule.add(.winBack(account: account), at: later)
            return await scheduleRestarts()
        }
        for document in fresh { evidence.recordAccepted(document.letter, at: now) }
        for one in result.ownerships where missing.contains(one.purchase) {
            switch one.kind {
            case .moved, .theirs, .linked, .shared: continue
            case .another, .refused:
                throw violation("ownership", "a new document does not win back: \(one)")
            }
        }
        taken[name] = nil
        linked.formUnion(missing.map(\.original.rawValue))
        report.tally.add("taken purchase won back")
        try await expectCopiesTakeNothing(missing, from: buyer)
        await scheduleRestarts()
    }

    /// Expects that earlier copies take nothing from a buyer who has posted a document that is
    /// signed now.
    private func expectCopiesTakeNothing(
        _ purchases: Set<PurchaseID>, from buyer: CustomerID
    ) async throws {
        for copy in copies.filter({ purchases.contains($0.purchase) }).suffix(Self.triesAgainMax)
        where copy.signedAt.milliseconds < now {
            for robber in Self.robbers {
                _ = try await auditor.recording.post(
                    copy.evidence, of: robber, intent: .restore, app: TrialFixture.app,
                    isByApp: true)
                guard try await link(of: copy.purchase)?.customer != robber else {
                    throw violation("ownership", "\(robber) took \(copy.purchase) again")
                }
            }
        }
    }

    /// Signs a customer in on the device on which they have bought before.
    func signIn(account: Int) async throws {
        let name = accounts[account]
        let anonymous = await customer(of: name)
        // The token of an account is known only once the account has bought something.
        guard anonymous.isAnonymous, !(await groundTruth(of: name)).isEmpty,
            !erased.contains(anonymous), let server = anyServer()
        else { return }
        let person = CustomerID(rawValue: "person-\(name)")
        do {
            _ = try await server.engine.customers.alias(
                anonymous, to: person, app: TrialFixture.app, environment: .production, proofs: [])
        } catch {
            try requireCrashed(error, server)
            _ = try await auditor.customers.alias(
                anonymous, to: person, app: TrialFixture.app, environment: .production, proofs: [])
        }
        customers[name] = person
        besidePosted[name] = nil
        report.tally.add("person signed in")
        await scheduleRestarts()
    }

    // MARK: - Expectations

    /// Expects that no purchase belongs to a thief once every buyer has posted a new document.
    func expectRobbersOwnNothing() async throws {
        guard hasRobbers, hasConverged else { return }
        for robber in Self.robbers {
            for environment in Ledger.Environment.allCases {
                let state = try await auditor.customers.find(
                    robber, app: TrialFixture.app, environment: environment)
                guard state.purchases.allSatisfy({ $0.sharedBy != nil }) else {
                    throw violation("ownership", "\(robber) has \(state.purchases)")
                }
            }
        }
    }

    private func isRecent(_ copy: CopiedDocument) -> Bool {
        let days = OwnershipClaim.ShareRules.documentDaysMax
        return Instant(milliseconds: now) - copy.signedAt <= .days(days) + Self.tolerance
    }

    private func isAnonymous(_ customer: CustomerID) async throws -> Bool {
        try await auditor.customers.find(customer, app: TrialFixture.app, environment: .production)
            .isAnonymous
    }

    private func link(of purchase: PurchaseID) async throws -> Link? {
        try await Database(database).read { try $0.links.find(of: purchase, in: TrialFixture.app) }
    }

    private func shares(of purchase: PurchaseID) async throws -> [Share] {
        try await Database(database).read { try $0.shares.all(of: purchase, in: TrialFixture.app) }
    }

    private func hasShare(
        in purchase: PurchaseID, _ customer: CustomerID
    ) async throws -> Bool {
        try await Database(database).read {
            try $0.shares.exists(in: purchase, customer, in: TrialFixture.app)
        }
    }
}
