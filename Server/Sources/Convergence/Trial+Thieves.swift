import Engine
import Ledger
import Simulator

// What a purchase names is its customer's, whoever posts it first.

extension Trial {
    /// What our servers call the owner of an account: the account token of its devices, where they
    /// have one, as an app does whose tokens are its customers' ids.
    func customer(of name: String) async -> CustomerID {
        if let known = customers[name] { return known }
        guard let token = await simulator.accountToken(on: name + "-1") else {
            return CustomerID(rawValue: name)
        }
        let customer = CustomerID(rawValue: token)
        customers[name] = customer
        return customer
    }

    private static let thefts = 0.1
    private static let thief: CustomerID = "thief"

    /// Nothing that was refused ever becomes the thief's.
    func expectNothingOfThief() async throws {
        for environment in Ledger.Environment.allCases {
            let state = try await auditor.customer(
                Self.thief, app: House.app, environment: environment)
            guard state.purchases.isEmpty, state.entitlements.isEmpty else {
                throw breach("ownership", "the thief has \(state.purchases.map(\.timeline))")
            }
        }
    }

    /// Now and then somebody else has copies of the transactions, and posts them before their
    /// owner does. Where each names its owner, all are refused; what they attest is kept.
    func letThiefTry(
        _ posted: PurchaseEvidence, saying letters: [Letter], at server: Server
    ) async throws {
        let stolen = PurchaseEvidence(signedTransactions: posted.signedTransactions)
        let told = letters.filter { $0.transaction != nil && !$0.isLegacy }
        // The token of an erased customer names nobody.
        guard isStormy, sabotage == nil, erased.isEmpty, thiefLots.happens(Self.thefts),
            !stolen.isEmpty,
            told.count == stolen.signedTransactions.count,
            told.allSatisfy({ $0.transaction?.appAccountToken != nil })
        else { return }
        do {
            _ = try await server.engine.record(stolen, of: Self.thief, app: House.app)
        } catch {
            guard case .belongsToAnotherCustomer(_, let why) = error else { return }
            guard why == .namesAnother else {
                throw breach("ownership", "somebody else's posting was refused: \(why)")
            }
            for letter in told { evidence.take(letter, at: now) }
            report.tally.add("theft refused")
            return
        }
        throw breach("ownership", "what names its owner was taken by somebody else")
    }
}
