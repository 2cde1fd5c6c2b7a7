import AppStoreFormats
import Testing

@testable import Simulator

/// Payment sheets and password prompts, whose outcome an app's purchase call cannot choose.
@Suite struct SheetTests {
    private let device = "/_sim/devices/anna-1"

    private func stage() async throws -> Stage {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.simulator.addDevice(account: "anna")
        return stage
    }

    @Test func `a test chooses the outcome of the next payment sheet before the app buys`()
        async throws
    {
        let device = device
        try await stage().withClient { client in
            let bodies = [
                #"{"choice":"cancel"}"#, #"{"choice":"ask"}"#, #"{"choice":"fail"}"#,
                #"{"error":"product_unavailable"}"#, #"{"choice":"confirm"}"#,
            ]
            for (index, body) in bodies.enumerated() {
                let answer = try await client.json("\(device)/next-sheet", body)
                #expect(answer["waiting"]?.integer == Int64(index + 1))
            }
            // If a purchase request itself says what the customer does, no prepared outcome is used
            // up.
            let path = "\(device)/purchases"
            let own = try await client.json(path, #"{"product_id":"gem","choice":"cancel"}"#)
            #expect(own["result"] == "cancelled")
            var results: [JSON?] = []
            for _ in bodies {
                let answer = try await client.json(path, #"{"product_id":"gem"}"#)
                results += [answer["result"], answer["error"]]
            }
            #expect(
                results == [
                    "cancelled", nil, "pending", nil, "failed", "unknown", "failed",
                    "product_unavailable", "purchased", nil,
                ])
        }
    }

    @Test
    func `if the sheet of a purchase is held, the purchase is made when the sheet is released`()
        async throws
    {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            _ = try await client.json("\(device)/next-sheet", #"{"hold":true}"#)
            async let answer = client.json("\(device)/purchases", #"{"product_id":"gem"}"#)
            let open = try await client.json("\(device)/prompts?count=1")["prompts"]?.array
            #expect(open?.map { $0["held"] } == [true])
            #expect(try await stage.simulator.groundTruth(of: "anna").purchases.isEmpty)
            // Meanwhile, a second tap shows a separate sheet.
            let tap = try await client.json(
                "\(device)/purchases", #"{"product_id":"gem","choice":"cancel"}"#)
            #expect(tap["result"] == "cancelled")
            #expect(try await client.json("\(device)/let-go", "{}")["let_go"] == 1)
            #expect(try await answer["result"] == "purchased")
            let all = try await client.json("\(device)/prompts")["prompts"]?.array
            #expect(all?.map { $0["held"] } == [false, false])
            #expect(try await client.json("\(device)/let-go", "{}")["let_go"] == 0)
        }
        #expect(try await stage.simulator.groundTruth(of: "anna").purchases.count == 1)
    }

    @Test func `if a sheet is never released, it fails after a time limit, and nothing is bought`()
        async throws
    {
        let stage = try await stage()
        await stage.simulator.limitSheets(to: .milliseconds(1))
        let device = device
        try await stage.withClient { client in
            _ = try await client.json("\(device)/next-sheet", #"{"hold":true}"#)
            let late = try await client.json(
                "\(device)/purchases", #"{"product_id":"gem"}"#, status: 408)
            #expect(late["code"] == "sheet_not_let_go")
            let all = try await client.json("\(device)/prompts")["prompts"]?.array
            #expect(all?.map { $0["held"] } == [false])
        }
        #expect(try await stage.simulator.groundTruth(of: "anna").purchases.isEmpty)
    }

    @Test func `a reset cancels a purchase whose sheet is held`() async throws {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            _ = try await client.json("\(device)/next-sheet", #"{"hold":true}"#)
            async let answer = client.json(
                "\(device)/purchases", #"{"product_id":"gem"}"#, status: 408)
            _ = try await client.json("\(device)/prompts?count=1")
            _ = try await client.json("/_sim/reset", "{}")
            #expect(try await answer["code"] == "sheet_not_let_go")
        }
    }

    @Test func `the numbers of prepared and held sheets are limited`() throws {
        var queue = SheetQueue()
        for _ in 0..<SheetQueue.waitingMax { try queue.append(NextSheet()) }
        #expect(throws: SimulatorProblem.self) { try queue.append(NextSheet()) }
        var prompts = PromptList()
        let now = AppStoreDate(milliseconds: 0)
        let held = Prompt(
            cause: .purchase, productID: "gem", at: now, choice: .confirm, isHeld: true)
        for _ in 0..<PromptList.heldMax {
            let gate = try prompts.add(held)
            #expect(gate != nil)
        }
        #expect(throws: SimulatorProblem.self) { try prompts.add(held) }
        let count = prompts.letGo()
        #expect(count == PromptList.heldMax)
        let brief = Prompt(
            cause: .purchase, productID: "gem", at: now, choice: .confirm, isHeld: false)
        for _ in 0...PromptList.listedMax {
            let gate = try prompts.add(brief)
            #expect(gate == nil)
        }
        #expect(prompts.all.count == PromptList.listedMax)
        #expect(prompts.count == PromptList.heldMax + PromptList.listedMax + 1)
    }

    @Test func `each prompt names the call that caused it, and reading the cache causes no prompt`()
        async throws
    {
        let device = device
        try await stage().withClient { client in
            for read in ["transactions", "entitlements", "unfinished", "statuses"] {
                _ = try await client.json("\(device)/\(read)")
            }
            _ = try await client.json("\(device)/app-transaction")
            _ = try await client.json("\(device)/restore", "{}")
            #expect(try await client.json("\(device)/prompts")["prompts"] == [])
            _ = try await client.json("\(device)/sync", "{}")
            _ = try await client.json("\(device)/app-transaction/refresh", "{}")
            _ = try await client.json("\(device)/purchases", #"{"product_id":"gem"}"#)
            _ = try await client.json(
                "\(device)/purchases", #"{"product_id":"nothing"}"#, status: 404)
            let prompts = try await client.json("\(device)/prompts")["prompts"]?.array ?? []
            #expect(prompts.map { $0["cause"] } == ["sync", "refresh", "purchase"])
            #expect(prompts.map { $0["kind"] } == ["password", "password", "sheet"])
            #expect(prompts.map { $0["product_id"] } == [.null, .null, "gem"])
        }
    }

    @Test func `if the customer refuses the password, the sync is cancelled`() async throws {
        let device = device
        try await stage().withClient { client in
            _ = try await client.json("\(device)/next-sheet", #"{"choice":"cancel"}"#)
            let refused = try await client.json("\(device)/sync", "{}", status: 409)
            #expect(refused["code"] == "storekit_error" && refused["error"] == "user_cancelled")
        }
    }
}

extension AppStoreSimulator {
    fileprivate func limitSheets(to limit: Duration) { sheetLimit = limit }
}
