import Dispatch
import Eventually
import Ledger
import PostgresCluster
import StoragePostgres
import Testing

@testable import Engine
@testable import Storage

/// Stops a transaction between its last statement and its commit.
private final class Gate: Sendable {
    let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let semaphore = DispatchSemaphore(value: 0)

    init() { (arrivals, arrived) = AsyncStream.makeStream() }

    /// Is called within the transaction, and blocks its thread.
    func pass() throws {
        arrived.yield()
        try semaphore.wait(for: "the opening of the gate")
        semaphore.signal()
    }

    func waitForArrival() async throws {
        try await arrivals.first("a transaction at the gate")
    }

    func open() { semaphore.signal() }
}

/// A connection that is lost after a number of statements.
private final class LostConnection: Connection {
    private let real: any Connection
    private var statementsLeft: Int

    init(_ real: any Connection, after statements: Int) {
        self.real = real
        statementsLeft = statements
    }

    var dialect: Dialect { real.dialect }

    private func next() throws(StorageFailure) {
        guard statementsLeft > 0 else { throw StorageFailure("killed") }
        statementsLeft -= 1
    }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try next()
        return try real.rows(sql, values)
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try next()
        return try real.run(sql, values)
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        try next()
        return try real.rowsEach(sql, sets)
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        try next()
        return try real.runEach(sql, sets)
    }
}

/// Several servers on one PostgreSQL database.
@Suite struct SequencerTests {
    @Test func `an event that is committed late gets a number after the events already numbered`()
        async throws
    {
        try await Driver.withServers { servers in
            let gate = Gate()
            // This event gets its position before the other events.
            async let slow: Void = servers[0].transaction { tx in
                try tx.events.append([numberedEntry(0, of: "anna")])
                try gate.pass()
            }
            try await gate.waitForArrival()
            for number in 1...3 { try await servers[1].tell(number, of: "anna") }
            try await servers[2].numberEvents()
            let early = try await servers[2].numbered()
            #expect(early.map(\.number) == [1, 2, 3])
            gate.open()
            try await slow
            try await servers[1].tell(4, of: "anna")
            try await servers[1].numberEvents()
            let late = try await servers[2].numbered(after: early.last?.sequence ?? 0)
            #expect(late.map(\.number) == [0, 4])
            #expect(late.map(\.sequence) == [4, 5])
            expectCounted(early + late)
        }
    }

    @Test func `a long transaction does not delay writers of other purchases`() async throws {
        try await Driver.withServers { servers in
            // This stores the certificates, which all documents share.
            try await servers[0].keep(9, about: PurchaseID("9", in: .production))
            let gate = Gate()
            async let slow: Void = servers[0].transaction { tx in
                _ = try DocumentRecorder(tx).record(DocumentWithFacts(document(1), [fact("1000")]))
                try gate.pass()
            }
            try await gate.waitForArrival()
            for number in UInt8(2)...5 {
                let other = PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
                try await servers[1].keep(number, about: other)
            }
            let told = try await servers[2].readingLog {
                try $0.events.all(of: app, after: 0, limit: 500).map(\.entry.purchase?.original)
            }
            #expect(Set(told) == ["9", "2", "3", "4", "5"])
            gate.open()
            try await slow
            expectCounted(
                try await servers[2].readingLog { try $0.events.all(of: app, after: 0, limit: 500) }
            )
        }
    }

    @Test func `concurrent sequencers number every event once`() async throws {
        try await Driver.withServers { servers in
            let done = Tally()
            let customers: [CustomerID?] = ["anna", "ben", "cleo", nil]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<12 {
                    group.addTask {
                        for step in 0..<60 {
                            let number = writer * 60 + step
                            try await servers[writer % 3].tell(number, of: customers[writer % 4])
                        }
                        _ = done.next()
                    }
                }
                for (number, server) in servers.enumerated() {
                    group.addTask {
                        while done.count < 12 {
                            try await server.numberEvents(isWaiting: number > 0)
                        }
                        try await server.numberEvents()
                    }
                }
                try await group.waitForAll()
            }
            let all = try await servers[0].numbered()
            #expect(all.map(\.number).sorted() == Array(0..<720))
            expectCounted(all)
            // Each writer awaits each of its commits.
            for writer in 0..<12 {
                let own = all.map(\.number).filter { $0 / 60 == writer }
                #expect(own == own.sorted())
            }
            #expect(try await servers[0].pendingCount() == 0)
        }
    }

    @Test
    func `a sequencer that may not wait leaves the events to the running sequencer`()
        async throws
    {
        try await Driver.withServers { servers in
            try await servers[0].tell(0, of: "anna")
            try await servers[0].numberEvents()
            try await servers[0].tell(1, of: "anna")
            let gate = Gate()
            async let first = servers[1].driver.write { connection in
                let count = try DatabaseSession(connection).pendingEvents.numberEvents(of: app)
                try gate.pass()
                return count
            }
            try await gate.waitForArrival()
            #expect(try await servers[2].numberEvents(isWaiting: false) == 0)
            async let second = servers[2].numberEvents()
            gate.open()
            #expect(try await first == 1)
            #expect(try await second == 0)
            expectCounted(try await servers[0].numbered())
        }
    }

    @Test func `events of successive transactions are numbered in the order of the transactions`()
        async throws
    {
        try await Driver.withServers { servers in
            for number in 0..<120 { try await servers[number % 3].tell(number, of: "anna") }
            try await servers[0].numberEvents()
            #expect(try await servers[0].numbered().map(\.number) == Array(0..<120))
        }
    }

    @Test func `if a sequencer is killed before one of its steps, no event is numbered`()
        async throws
    {
        try await Driver.withServers { servers in
            let store = servers[0]
            for number in 0..<5 { try await store.tell(number, of: "anna") }
            var steps = 0
            while true {
                let statements = steps
                do {
                    let count = try await store.driver.write { connection in
                        try DatabaseSession(LostConnection(connection, after: statements))
                            .pendingEvents.numberEvents(of: app)
                    }
                    #expect(count == 5)
                    break
                } catch let failure as StorageFailure {
                    #expect(failure.message == "killed")
                    #expect(try await store.numbered().isEmpty)
                    #expect(try await store.pendingCount() == 5)
                    #expect(try await store.read { try $0.events.lastSequence(of: app) } == 0)
                }
                steps += 1
            }
            // The steps: the lock, its row, and the lock again; reading the events, the last number
            // of the app and those of the customers; inserting, counting and deleting.
            #expect(steps == 9)
            expectCounted(try await store.numbered())
            #expect(try await store.pendingCount() == 0)
        }
    }

    @Test
    func `if an event is written while its customer is erased, it does not name the customer`()
        async throws
    {
        try await Driver.withServers { servers in
            _ = try await servers[0].transaction {
                try IdentityUpdates($0).customer("anna", in: app, at: now)
            }
            let gate = Gate()
            let runs = Tally()
            async let writer: Void = servers[0].transaction { tx in
                _ = runs.next()
                guard try tx.customers.find(known: "anna", in: app) != nil else { return }
                try tx.events.append([numberedEntry(0, of: "anna")])
                try gate.pass()
            }
            try await gate.waitForArrival()
            _ = try await servers[1].transaction { tx in
                try CustomerErasure(tx).erase(
                    StoredCustomer(customer: "anna", ids: ["anna"]), names: ["anna": "erased_1"],
                    hashes: [Array(repeating: 1, count: 32)], in: app, at: now)
            }
            gate.open()
            try await writer
            let log = try await servers[2].readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            #expect(!log.contains { $0.entry.customer == "anna" })
            #expect(runs.count == 2, "the writer is run again")
        }
    }
}
