import AppStoreFormats
import Dice
import Eventually
import Foundation
import Testing

@testable import Program

/// The webhooks of servers that are killed, and of several servers on one database.
@Suite(.serialized) struct WebhookClusterStories {
    /// The number of customers. Each customer causes a few events. PERENNIAL_WEBHOOK_CUSTOMERS sets
    /// another number, such as 10000.
    private static let customers =
        ProcessInfo.processInfo.environment["PERENNIAL_WEBHOOK_CUSTOMERS"].flatMap(Int.init) ?? 300
    private static let eventsPerCustomer = 3
    private static let writers = 12

    private static func configuration(
        _ receiver: Receiver, in folder: TemporaryFolder
    ) throws -> String {
        try Data(webhookSecret.utf8).write(to: URL(filePath: folder.path + "/webhook.secret"))
        return """
                webhooks:
                  allow_private: [127.0.0.1]
                  endpoints:
                    - name: crm
                      url: \(receiver.url)
                      secret_file: webhook.secret

            """
    }

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `if a server is killed while it posts webhooks, no event is lost, and the order is kept`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await database.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: database, address,
                    more: try Self.configuration(receiver, in: folder))
                for round in 1...3 {
                    let server = try await program.start()
                    var wire = server.wire
                    wire.bearer = program.key
                    let count = receiver.arrivals.count
                    try await Self.give(1...20, at: [wire])
                    // The kill comes while the server reads the log, renders, posts or records.
                    try await eventually("webhooks of round \(round)", within: 120) {
                        receiver.arrivals.count >= count + round * 3
                    }
                    server.kill()
                }
                let last = try await program.start()
                try await Self.expectAll(receiver, program, at: last.wire)
                last.kill()
            }
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `if one of three servers is killed, each customer's events all arrive, in order`()
        async throws
    {
        let receiver = try Receiver()
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.postgres.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .postgres, address,
                    more: try Self.configuration(receiver, in: folder))
                let servers = [
                    try await program.start(), try await program.start(),
                    try await program.start(),
                ]
                let wires = servers.map { server in
                    var wire = server.wire.impatient
                    wire.bearer = program.key
                    return wire
                }
                async let giving: Void = Self.give(1...Self.customers, at: wires)
                try await eventually("a third of the webhooks", within: 600) {
                    receiver.arrivals.count > Self.customers / 3
                }
                servers[0].kill()
                try await giving
                try await Self.expectAll(receiver, program, at: servers[1].wire)
                for server in servers.dropFirst() { server.kill() }
                try await program.expectClean()
            }
        }
    }

    /// In a new database, the first notifications find no statistics, and all rows are on the same
    /// pages.
    @Test(.timeLimit(.minutes(10)))
    func `two servers accept every notification while they post webhooks and answer requests`()
        async throws
    {
        let receiver = try Receiver()
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.postgres.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .postgres, address,
                    more: try Self.configuration(receiver, in: folder))
                let notifications = try await Stream.notifications(from: shop.simulator)
                let servers = [try await program.start(), try await program.start()]
                let statuses = await withTaskGroup(of: [Int?: Int].self) { group in
                    group.addTask {
                        await Stream.statuses(of: notifications, at: servers.map(\.wire))
                    }
                    group.addTask {
                        await Self.read(notifications.count, program.key, servers.map(\.wire))
                    }
                    return await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
                }
                #expect(statuses == [200: 2 * notifications.count])
                try await Self.expectAll(receiver, program, at: servers[1].wire)
                for server in servers { server.kill() }
                try await program.expectClean()
            }
        }
    }

    /// Requests customers from one server after the other. Returns how many responses had a status.
    private static func read(
        _ count: Int, _ key: String, _ wires: [Wire]
    ) async -> [Int?: Int] {
        var found: [Int?: Int] = [:]
        for number in 0..<count {
            var wire = wires[number % wires.count]
            wire.bearer = key
            let answer = try? await wire.send("GET", "/v1/customers/c\(number % 200)")
            found[answer?.status, default: 0] += 1
        }
        return found
    }

    /// Causes events of each customer. If a server is gone, repeats the request: the idempotency
    /// key makes it one grant.
    private static func give(_ customers: ClosedRange<Int>, at wires: [Wire]) async throws {
        await withTaskGroup { group in
            for writer in 0..<writers {
                group.addTask {
                    for number in customers where number % writers == writer {
                        for event in 1...eventsPerCustomer {
                            await insist(number, event, wires)
                        }
                    }
                }
            }
        }
    }

    private static func insist(_ number: Int, _ event: Int, _ wires: [Wire]) async {
        let order: JSON = ["entitlement": "pro", "reason": "story"]
        for attempt in 0..<600 {
            let wire = wires[(number + attempt) % wires.count]
            let answer = try? await wire.send(
                "POST", "/v1/customers/c\(number)/grants", body: order.bytes,
                headers: ["Idempotency-Key": "c\(number)-\(event)-\(UUID().uuidString)"])
            if answer?.status == 200 { return }
        }
    }

    /// Waits until every event of the log has arrived, in each customer's order.
    private static func expectAll(
        _ receiver: Receiver, _ program: ServerProgram, at wire: Wire
    ) async throws {
        var wire = wire
        wire.bearer = program.key
        var (ids, cursor): (Set<String>, String) = ([], "")
        while true {
            let page = try await wire.get("/v1/events?limit=500&after=\(cursor)")
            let items = page["items"]?.array ?? []
            ids.formUnion(try items.map { "birds_\(try $0.text("id"))" })
            if items.count < 500 { break }
            cursor = page["next_cursor"]?.string ?? ""
        }
        let wanted = ids
        // A killed server's leases must expire first.
        try await eventually("each event was delivered", within: 1_800) {
            Set(receiver.heads.compactMap { $0["webhook-id"] }) == wanted
        }
        var last: [String: Int64] = [:]
        var seen: Set<String> = []
        for posting in receiver.postings where seen.insert(posting.id).inserted {
            #expect(posting.isSigned(with: webhookSecret))
            guard let customer = posting.customer, let sequence = posting.sequence else { continue }
            #expect(sequence > last[customer, default: 0], "\(customer)")
            last[customer] = sequence
        }
    }
}
