import Foundation
import Perennial
import Testing

@testable import PerennialTesting

/// The features of a world that are for tests of apps, and that the stories do not use.
@Suite(
    .serialized, .timeLimit(.minutes(2)), .enabled(if: World.isAvailable, "skipped: no program"))
struct WorldTests {
    @Test(.world) func `a test can move the clock of its world`() async throws {
        let world = try World.current
        let phone = try await world.device(of: "anna")
        let perennial = phone.perennial()
        try await perennial.purchase("pro.monthly")
        try await phone.change("pro.monthly", "cancel")
        let before = perennial.now
        try await world.advance(.seconds(40 * 86_400))
        try await perennial.until { !$0["pro"].isActive }
        #expect(perennial.now.timeIntervalSince(before) > 39 * 86_400)
    }

    @Test(
        .world(
            storekit: "PerennialTests/Tables/Club.storekit",
            configuration: "PerennialTests/Tables/club.yaml"))
    func `an app's world is defined by files in a folder above the test`() async throws {
        let phone = try await World.current.device(of: "anna")
        let products = try await phone.perennial().offering().products
        #expect(Set(products.map(\.id)) == ["club.monthly", "promise.yearly", "coins.10"])
    }

    @Test(.world) func `a redeemed code becomes a purchase, and an unknown code is refused`()
        async throws
    {
        let world = try World.current
        let phone = try await world.device(of: "anna")
        await #expect(throws: WorldFailure.self) {
            try await phone.redeem(code: "never-made", for: "pro.monthly")
        }
        #expect(try await world.truth(of: "anna").purchases.isEmpty)
    }

    @Test(.world)
    func `if the server answers too late for the app, a purchase succeeds without the server`()
        async throws
    {
        let world = try World.current
        let phone = try await world.device(of: "anna")
        // With bundled offerings the product's entitlements are known, however slow the first
        // responses are.
        let offerings = try await world.bundledOfferings()
        let perennial = phone.perennial {
            $0.bundledOfferings = offerings
            $0.patience = 1
        }
        try await perennial.until(\.isKnown)
        await world.serverIs(.slow(30))
        let purchase = try await perennial.purchase("guide")
        #expect(purchase.outcome == .bought && !purchase.isKeptByServer)
        #expect(perennial["guide"].isActive)
        await world.serverIs(.up)
        await perennial.enterForeground()
        try await perennial.until { $0["guide"].basis == .server }
    }

    @Test(.world) func `a prompt has its product and the customer's choice`() async throws {
        let phone = try await World.current.device(of: "anna")
        let perennial = phone.perennial()
        try await phone.nextSheet(.cancel)
        try await phone.nextSheet(.hold)
        #expect(try await perennial.purchase("guide").outcome == .cancelled)
        let buying = Task { try await perennial.purchase("seeds.100") }
        try await phone.untilPrompts(2)
        let prompts = try await phone.prompts()
        #expect(prompts.map(\.productId) == ["guide", "seeds.100"])
        #expect(prompts.map(\.kind) == ["sheet", "sheet"])
        #expect(prompts.first?.choice == "cancel")
        #expect(prompts.map(\.held) == [false, true])
        try await phone.letGo()
        #expect(try await buying.value.outcome == .bought)
    }

    @Test(.world) func `if the store answers slowly, a purchase still succeeds`()
        async throws
    {
        let phone = try await World.current.device(of: "anna")
        let perennial = phone.perennial()
        try await perennial.until(\.isKnown)
        try await phone.storeIs(.slow(0.5))
        #expect(try await perennial.purchase("guide").outcome == .bought)
        #expect(perennial["guide"].isActive)
    }

    @Test(.world) func `PERENNIAL_WORLD names a running world, which keeps running afterwards`()
        async throws
    {
        let world = try World.current
        let name = "\(world.simulator.absoluteString) \(world.server.absoluteString) \(world.key)"
        let connected = try World.connect(named: name)
        let phone = try await connected.device(of: "anna")
        try await phone.perennial().purchase("guide")
        await connected.stop()
        #expect(try await world.truth(of: "anna").isOpen("guide"))
        let second = try await world.device(of: "anna")
        try await second.perennial().until { $0["guide"].isActive }
    }

    @Test(arguments: ["", "http://127.0.0.1:8090", "here there pk_dev_birds"])
    func `the error about an invalid PERENNIAL_WORLD says what to write`(name: String) {
        let failure = #expect(throws: WorldFailure.self) { try World.connect(named: name) }
        #expect(failure?.description.contains("an app key") == true)
    }

    @Test func `a test without the trait has no world, and the failure names the trait`() {
        let failure = #expect(throws: WorldFailure.self) { try World.current }
        #expect(failure?.description.contains(".world") == true)
    }

    @Test func `the error about a missing world file names the file`() {
        let files = WorldTrait.Files(
            storekit: "No.storekit", configuration: "no.yaml", source: #filePath)
        #expect(throws: WorldFailure.self) { try files.url(of: files.storekit) }
    }
}
