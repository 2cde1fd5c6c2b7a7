import AppStoreFormats
import Testing

@testable import Simulator

/// Random customers meet every fault, in each layer.
@Suite struct SometimesTests {
    private static let customers = 140
    private static let months = 6

    @Test func `a random population with devices and a server encounters every fault`() async throws
    {
        let stage = try Stage(shop: FullShop.file())
        let simulator = stage.simulator
        await simulator.setFaults { faults in
            for fault in NotificationFault.allCases { faults.notifications.odds[fault] = 0.15 }
            for fault in APIFault.allCases { faults.api.odds[fault] = 0.05 }
            for fault in DeviceFault.allCases { faults.devices.odds[fault] = 0.2 }
            (faults.slowSeconds, faults.staleSeconds) = (0, 40 * 86_400)
        }
        let names = try await simulator.populate(Self.customers, within: .months(Self.months))
        for _ in 1...2 * Self.months {
            try await stage.advance("P15D")
            for name in names where await simulator.world.devices["\(name)-1"] != nil {
                try await look(at: name, stage)
            }
        }
        let struck = await simulator.faults
        #expect(Set(struck.notifications.struck.keys) == Set(NotificationFault.allCases))
        #expect(Set(struck.api.struck.keys) == Set(APIFault.allCases))
        #expect(Set(struck.devices.struck.keys) == Set(DeviceFault.allCases))
    }

    /// What an app does at launch, and what its server then requests.
    private func look(at name: String, _ stage: Stage) async throws {
        let simulator = stage.simulator
        let device = "\(name)-1"
        _ = try await simulator.transactions(on: device)
        _ = try await simulator.entitlements(on: device)
        _ = try await simulator.statuses(on: device)
        _ = try await simulator.unfinished(on: device)
        let owner = try await simulator.world.device(device)
        _ = await simulator.introductoryEligibility(on: owner)
        let all = await simulator.world.transactions(of: owner.account)
        for transaction in all.prefix(1) {
            try await simulator.finish(transaction.id, on: device)
            let environment = owner.account.environment
            _ = try await stage.answer(
                Ask("GET v1/subscriptions/\(transaction.id)", in: environment))
            _ = try await stage.answer(
                Ask("POST v1/notifications/history", [("paginationToken", "x")], in: environment))
        }
        // A product that can be bought at any time.
        try await simulator.purchase(PurchaseOrder("seeds"), on: device)
    }
}
