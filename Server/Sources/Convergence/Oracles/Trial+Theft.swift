import Engine
import Ledger
import Simulator

// Checks that a purchase belongs to the customer whom it names, even if another customer posts it
// first.

extension Trial {
    /// The customer id of the owner of an account. If the devices of the account have an account
    /// token, the id is this token, as in an app that uses its customers' ids as tokens.
    func customer(of name: String) async -> CustomerID {
        if let known = customers[name] { return known }
        guard let token = await simulator.accountToken(on: name + "-1") else {
            return plan.has(.anonymousDevices) ? anonymousID(name) : CustomerID(rawValue: name)
        }
        let customer = CustomerID(rawValue: token)
        customers[name] = customer
        return customer
    }

    private static let thefts = 0.1
    private static let thief: CustomerID = "thief"

    /// Expects that the thief has neither purchases nor entitlements.
    func expectThiefOwnsNothing() async throws {
        for environment in Ledger.Environment.allCases {
            let state = try await auditor.customers.find(
                Self.thief, app: TrialFixture.app, environment: environment)
            guard state.purchases.isEmpty, state.entitlements.isEmpty else {
                throw violation("ownership", "the thief has \(state.purchases.map(\.timeline))")
            }
        }
    }

    /// Sometimes lets somebody else post copies of the transactions before their owner does. If
    /// each transaction names its owner, all are rejected, but the facts in them are recorded.
    func attemptTheft(
        _ posted: PurchaseEvidence, saying letters: [ObservedDocument], at server: Server
    ) async throws {
        let stolen = PurchaseEvidence(signedTransactions: posted.signedTransactions)
        let told = letters.filter { $0.transaction != nil && !$0.isLegacy }
        // The token of an erased customer identifies nobody.
        guard isStormy, sabotage == nil, erased.isEmpty, thiefRandom.happens(Self.thefts),
            !stolen.isEmpty,
            told.count == stolen.signedTransactions.count,
            told.allSatisfy({ $0.transaction?.appAccountToken != nil })
        else { return }
        do {
            _ = try await server.engine.recording.record(
                stolen, of: Self.thief, app: TrialFixture.app)
        } catch {
            guard case .belongsToAnotherCustomer(_, let why) = error else { return }
            guard why == .namesAnother else {
                throw violation("ownership", "the thief was rejected, but because of: \(why)")
            }
            for letter in told { evidence.recordAccepted(letter, at: now) }
            report.tally.add("theft rejected")
            return
        }
        throw violation("ownership", "a purchase that names its owner was linked to the thief")
    }
}
