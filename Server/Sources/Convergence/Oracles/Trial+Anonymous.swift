import Engine
import Ledger
import Simulator

// Customers of an app without log-in: each device has an anonymous id, and all devices of a store
// account have its purchases.

extension Trial {
    private static let besideOdds = 0.4
    /// The odds that a check before the end compares the devices. The odds are low, because each
    /// comparison reads two customers per account.
    private static let comparisonOdds = 0.1

    /// The anonymous id of a device of an account. The second device posts after the first.
    func anonymousID(_ name: String, device: Int = 1) -> CustomerID {
        let filled = name + String(repeating: "\(device)", count: CustomerID.anonymousCharactersMin)
        return CustomerID(rawValue: CustomerID.anonymousPrefix + filled)
    }

    /// Sometimes lets the second device of the account find and post the same purchases.
    func postBeside(_ posted: PurchaseEvidence, of name: String, at server: Server) async throws {
        guard plan.has(.anonymousDevices), sabotage == nil,
            await customer(of: name).isAnonymous, intentRandom.happens(Self.besideOdds)
        else { return }
        let result: PostingResult
        do {
            result = try await server.engine.recording.post(
                posted, of: anonymousID(name, device: 2), intent: .sync, app: TrialFixture.app)
        } catch {
            guard server.process.isOn, error.isPermanent, !plan.has(.skew) else { return }
            throw violation("ownership", "a second device's purchases were rejected: \(error)")
        }
        for one in result.ownerships {
            switch one.kind {
            case .theirs, .shared, .linked: besidePosted[name, default: []].insert(one.purchase)
            // Consumables are credited once, to the first device.
            case .another(.usedUp), .another(.needsRestore): continue
            // The receipt of one transaction only says when it was bought. Later the app posts its
            // whole receipt, which contains the time when the receipt itself was made.
            case .another(.documentTooOld) where posted.transactionReceipt != nil: continue
            // A thief has taken the purchase with a copy. The buyer will ask for it.
            case .another where taken[name]?.contains(one.purchase) == true: continue
            case .another, .refused, .moved:
                throw violation("ownership", "a second device got \(one)")
            }
        }
        report.tally.add("second device posted")
    }

    /// Expects that the second device of each account has the purchases that it posted, with the
    /// same access as the first device.
    func expectSecondDevicesHaveAccess() async throws {
        guard !besidePosted.isEmpty,
            hasConverged || intentRandom.happens(Self.comparisonOdds)
        else { return }
        for (name, purchases) in besidePosted.sorted(by: { $0.key < $1.key }) {
            let books = await groundTruth(of: name)
            let first = try await response(to: name, books)
            let second = try await auditor.customers.find(
                anonymousID(name, device: 2), app: TrialFixture.app,
                environment: Ledger.Environment(books))
            for purchase in purchases.sorted() {
                let ours = second.purchases.first { $0.timeline.purchase == purchase }
                let others = first.purchases.first { $0.timeline.purchase == purchase }
                guard let ours, ours.access == others?.access else {
                    throw violation(
                        "ownership", "the second device has \(ours?.access as Any) of \(purchase)")
                }
            }
        }
    }
}
