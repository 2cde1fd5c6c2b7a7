import Foundation
import Testing

@testable import Program

@Suite struct DevShopTests {
    @Test func `a new simulated world continues with the time and the numbers of the last world`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let shop = DevShop(folder: folder)
            let first = try shop.nextWorld()
            #expect(first.seed == 1)
            try shop.save(.init(seed: first.seed, now: first.now + 5))
            #expect(try shop.nextWorld() == .init(seed: 2, now: first.now + 5))
        }
    }

    @Test func `the saved time of the simulated world never decreases`() async throws {
        try await TemporaryFolder.with { folder in
            let shop = DevShop(folder: folder)
            let world = try shop.nextWorld()
            try shop.save(world)
            let keeper = WorldTimeFile(world, in: shop)
            for (moment, expected) in [(7, 7), (5, 7), (9, 9)] as [(Int64, Int64)] {
                try keeper.save(until: .init(milliseconds: world.now + moment))
                #expect(try shop.lastWorld()?.now == world.now + expected)
            }
            #expect(try shop.lastWorld()?.seed == world.seed)
            #expect(FileStatus(path: folder + "/simulator-world")?.permissions == 0o600)
        }
    }

    @Test func `a reset deletes the database and the world, and nothing else`() async throws {
        try await TemporaryFolder.with { folder in
            let shop = DevShop(folder: folder)
            let root = try shop.authority().rootDER
            try shop.save(shop.nextWorld())
            for name in ["dev.sqlite", "dev.sqlite-wal", "mine.txt", "perennial.sqlite"] {
                try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            try shop.reset()
            let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(Set(left) == ["mine.txt", "perennial.sqlite", "simulator-authority"])
            #expect(try shop.authority().rootDER == root)
            #expect(try shop.nextWorld().seed == 1)
        }
    }

    @Test func `in the example shop, a product id begins with the name of its entitlement`() throws
    {
        let entitlements = try DevShop.birds.settings.entitlements
        #expect(entitlements["pro"] == ["pro.monthly", "pro.yearly"])
        #expect(entitlements["plus"] == ["plus.monthly"])
    }
}
