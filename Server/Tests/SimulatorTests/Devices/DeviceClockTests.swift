import AppStoreFormats
import Testing

@testable import Simulator

/// A device has a clock of its own, which its customer can set to any time.
@Suite struct DeviceClockTests {
    private let clock = "/_sim/devices/anna-1/clock"

    private func stage() async throws -> Stage {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.simulator.addDevice(account: "anna")
        return stage
    }

    @Test func `a device shows the App Store's time until the device's clock is set`() async throws
    {
        let stage = try await stage()
        let clock = clock
        try await stage.withClient { client in
            #expect(try await client.json(clock)["now"] == "2026-01-10T20:00:00.000Z")
            let set = try await client.json(clock, #"{"set":"2026-03-01T08:00:00Z"}"#)
            #expect(set["now"] == "2026-03-01T08:00:00.000Z")
            try await stage.advance("P1D")
            #expect(try await client.json(clock)["now"] == "2026-03-02T08:00:00.000Z")
            // The App Store's clock is not affected.
            #expect(
                try await client.json("/_sim/clock")["now"] == "2026-01-11T20:00:00.000Z")
            let automatic = try await client.json(clock, #"{"automatic":true}"#)
            #expect(automatic["now"] == "2026-01-11T20:00:00.000Z")
            #expect(automatic["offset_milliseconds"] == 0)
        }
    }

    @Test func `setting the device's clock back does not change the time since boot`() async throws
    {
        let stage = try await stage()
        let clock = clock
        try await stage.withClient { client in
            try await stage.advance("PT1H")
            let before = try await client.json(clock)
            #expect(before["monotonic_milliseconds"] == 3_600_000)
            let back = try await client.json(clock, #"{"back":"P31D"}"#)
            #expect(back["now"] == "2025-12-10T21:00:00.000Z")
            #expect(back["monotonic_milliseconds"] == 3_600_000)
            #expect(back["boot_id"] == before["boot_id"])
            let forward = try await client.json(clock, #"{"forward":"P31D"}"#)
            #expect(forward["offset_milliseconds"] == 0)
        }
    }

    @Test func `a reboot restarts the uptime under a new boot id, and keeps the clock setting`()
        async throws
    {
        let stage = try await stage()
        let clock = clock
        try await stage.withClient { client in
            let before = try await client.json(clock, #"{"forward":"P1Y"}"#)
            try await stage.advance("P1D")
            let after = try await client.json("/_sim/devices/anna-1/reboot", "{}")
            #expect(after["monotonic_milliseconds"] == 0)
            #expect(after["boot_id"] != before["boot_id"])
            #expect(after["offset_milliseconds"] == before["offset_milliseconds"])
            #expect(after["now"] == "2027-01-11T20:00:00.000Z")
        }
    }

    @Test(arguments: [
        "{}", #"{"set":"2026-03-01T08:00:00Z","back":"P1D"}"#, #"{"set":"2327-01-01T00:00:00Z"}"#,
        #"{"automatic":false}"#,
    ])
    func `an invalid request to set the device's clock leaves the clock unchanged`(body: String)
        async throws
    {
        let stage = try await stage()
        let clock = clock
        try await stage.withClient { client in
            _ = try await client.json(clock, body, status: 400)
            #expect(try await client.json(clock)["offset_milliseconds"] == 0)
        }
    }
}
