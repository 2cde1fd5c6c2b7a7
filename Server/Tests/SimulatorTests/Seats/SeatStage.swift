import AppStoreFormats
import Testing

@testable import Simulator

/// A shop that sells a month in seats: five cost 9.99 each, and each further one 7.99.
extension Stage {
    static func withSeats(
        _ invitations: SeatInvitations = .apple, _ habits: Set<Quirk> = []
    ) throws -> Stage {
        try Stage { settings in
            settings.rules.seatInvitations = invitations
            settings.quirks = habits
            let tiers = SeatPrices.Tiers(everywhere: [.init(from: 6, price: 7_990)])
            for product in ["pro.monthly", "premium.monthly", "plus.monthly"] {
                settings.rules.seats.set(tiers, of: product)
            }
        }
    }

    /// Anna orders seats on her first device. Creates the device if she has none.
    @discardableResult
    func order(
        _ seats: Int64?, _ product: String = "pro.monthly",
        in environment: SimulatedEnvironment = .production
    ) async throws -> PurchasedTransaction {
        try await addAccounts(["anna"], in: environment)
        return try await simulator.purchase(PurchaseOrder(product, seats: seats), on: "anna-1")
    }

    func addAccounts(
        _ names: [String], in environment: SimulatedEnvironment = .production
    ) async throws {
        for name in names where await simulator.world.devices["\(name)-1"] == nil {
            try await simulator.addDevice(account: name, environment: environment)
        }
    }

    func refusal(ofSeats seats: Int64, _ product: String = "pro.monthly") async throws -> String? {
        do {
            try await order(seats, product)
            return nil
        } catch let problem as SimulatorProblem {
            return problem.code
        }
    }

    /// A transaction as Apple signs it now.
    func transaction(_ id: String) async throws -> TransactionPayload {
        try await simulator.signedTransaction(id)
    }

    var lastLetter: Letter {
        get async throws { try require(try await letters().last, "no notification") }
    }
}

extension AppStoreSimulator {
    fileprivate func signedTransaction(_ id: String) throws -> TransactionPayload {
        for environment in [SimulatedEnvironment.production, .sandbox] {
            if let found = try? world.transaction(id, in: environment) {
                return world.payload(of: found, at: clock.now)
            }
        }
        throw Missing(description: "no transaction \(id)")
    }
}

extension TransactionPayload {
    /// The tiers as `seats × price`, the most expensive first.
    var tiers: [String] { multiSeatInfo?.priceTiers.map(Self.lines) ?? [] }

    static func lines(_ tiers: [SeatPriceTier]) -> [String] {
        tiers.sorted { ($0.price ?? 0) > ($1.price ?? 0) }
            .map { "\($0.quantity ?? 0) × \($0.price ?? 0)" }
    }
}

extension RenewalPayload {
    var tiers: [String] {
        multiSeatInfo?.renewalPriceTiers.map(TransactionPayload.lines) ?? []
    }
}
