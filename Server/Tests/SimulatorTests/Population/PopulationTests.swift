import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct PopulationTests {
    private func run(
        _ accounts: Int, months: Int = 12, seed: UInt64 = 7, shop: StoreKitFile? = nil,
        sellsSeats: Bool = false, signedBy authority: SigningAuthority? = nil
    ) throws -> (books: [JSON], letters: [String], tally: PopulationRun.Tally) {
        var settings = SimulatorSettings(
            seed: seed, now: try moment("2027-09-15T12:00:00Z"), shop: try shop ?? FullShop.file())
        settings.renewsEarlySeconds = 3600
        // Payments fail in both possible ways.
        settings.graceForPaidOnly = true
        if sellsSeats { settings.rules.seats = FullShop.seats }
        let run = try PopulationRun(accounts: accounts, months: months, settings)
        var tally = PopulationRun.Tally()
        var (books, letters): ([JSON], [String]) = ([], [])
        for district in 0..<run.districts {
            try run.simulate(
                district, &tally, signedBy: authority, books: { books.append($0.json) },
                signed: { letters.append($0) })
        }
        return (books, letters, tally)
    }

    @Test func `random histories cover every row of Apple's table`() throws {
        let played = try run(2500).tally.rows
        let missing = LifecycleRow.allCases.filter {
            played[$0.rawValue] == nil
        }
        #expect(missing == [])
    }

    @Test func `equal seeds give equal populations, and different seeds differ`() throws {
        let authority = try SigningAuthority(seed: 7)
        let (one, other) = try (run(60, signedBy: authority), run(60, signedBy: authority))
        #expect(one.books == other.books && one.books.count == 60)
        #expect(one.letters == other.letters && one.letters.count > 200)
        #expect(one.tally.json == other.tally.json)
        let third = try run(60, seed: 8)
        #expect(third.books != one.books)
    }

    @Test
    func `random customers share no id, and a history does not depend on the population's size`()
        throws
    {
        let (books, _, tally) = try run(2100, months: 1)
        let ids = books.flatMap { $0["purchases"]?.array ?? [] }
            .compactMap { $0["original_transaction_id"]?.string }
        #expect(Set(ids).count == ids.count && ids.count > 1000)
        #expect(tally.accounts == books.count)
        let alone = try run(1, months: 1).books
        let withoutIDs = { (books: JSON) in
            books["purchases"]?.array?.filter { $0["ownership"] == "PURCHASED" }
                .map { [$0["product_id"], $0["period"], $0["state"]] }
        }
        #expect(alone.first.map(withoutIDs) == books.first.map(withoutIDs))
    }

    @Test func `random histories use every seat feature if seats are sold`() throws {
        let (books, letters, _) = try run(
            900, sellsSeats: true, signedBy: try SigningAuthority(seed: 7).fast)
        let purchases = books.flatMap { $0["purchases"]?.array ?? [] }
        let charges = purchases.flatMap { $0["charges"]?.array ?? [] }
        #expect(charges.count { ($0["seats"]?.integer ?? 0) > 1 } > 100)
        #expect(charges.count { ($0["refunded_seats"]?.integer ?? 0) > 0 } > 10)
        #expect(purchases.count { $0["ownership"] == "ASSIGNED" } > 20)
        #expect(purchases.contains { $0["seats"]?["members"]?.array?.isEmpty == false })
        var told: [String: Int] = [:]
        for letter in letters {
            let payload = try NotificationPayload(parsing: CompactJWS(letter)?.payload ?? [])
            told[payload.subtype?.rawValue ?? "", default: 0] += 1
        }
        for subtype in ["INCREASE_QUANTITY", "DECREASE_QUANTITY", "SEATS"] {
            #expect(told[subtype, default: 0] > 5, "\(subtype)")
        }
    }

    @Test func `the totals of a population equal the sums over its customers`() throws {
        let (books, _, tally) = try run(200)
        let charges = books.flatMap { $0["purchases"]?.array ?? [] }
            .flatMap { $0["charges"]?.array ?? [] }
        #expect(charges.count == tally.transactions)
        for (currency, sum) in tally.money {
            let ours = charges.filter { $0["currency"]?.string == currency }
            let charged = ours.compactMap { $0["amount_milliunits"]?.integer }.reduce(0, +)
            let refunded = ours.compactMap { $0["refunded_milliunits"]?.integer }.reduce(0, +)
            #expect(charged == sum.charged && refunded == sum.refunded)
            #expect(refunded <= charged)
        }
        #expect(tally.money.count > 3)
    }

    @Test func `some customers arrive on 29 February, or when the clocks change`() throws {
        let span = try moment("2027-09-15T12:00:00Z")..<moment("2028-09-15T12:00:00Z")
        let edges = EdgeMoments.within(span, StoreCalendar()).map(RFC3339.text)
        // Noon of 29 February, and the hours that nights in March and November skip or repeat.
        #expect(edges.contains("2028-02-29T20:00:00.000Z"))
        #expect(edges.contains("2028-03-12T10:00:00.000Z"))
        #expect(edges.contains("2027-11-07T08:30:00.000Z"))
        let population = Population(500, seed: 7, within: span, StoreCalendar())
        let arrivals = population.arrivals.map(RFC3339.text)
        #expect((50...200).contains(arrivals.filter(edges.contains).count))
        #expect(Set(arrivals.filter(edges.contains)).count > 20)
    }

    @Test func `no customer arrives in the last month, and no action begins after the end`() throws
    {
        let span = try moment("2027-09-15T12:00:00Z")..<moment("2028-09-15T12:00:00Z")
        var population = Population(300, seed: 7, within: span, StoreCalendar())
        let edges = Set(EdgeMoments.within(span, StoreCalendar()))
        let last = try moment("2028-08-17T12:00:00Z")
        #expect(population.arrivals.filter { !edges.contains($0) }.allSatisfy { $0 < last })
        #expect(population.arrivals.contains { $0 > (try? moment("2028-07-15T12:00:00Z")) ?? $0 })
        var world = World(SimulatorSettings(now: span.lowerBound, shop: try FullShop.file()))
        population.simulate(&world, until: span.upperBound) { _ in }
        #expect(population.nextDue == nil && world.rowCounts.contains { $0 > 0 })
    }

    @Test func `a population in a running simulator gives the same bytes in each run`()
        async throws
    {
        let (one, other) = (try await log(), try await log())
        #expect(one.books == other.books && one.log == other.log && one.posted == other.posted)
        #expect(one.posted.count > 300)
    }

    private struct Run {
        var books: [String]
        var log: [String]
        var posted: [[UInt8]]
    }

    /// Half a year of eighty customers, with every notification fault.
    private func log() async throws -> Run {
        let stage = try Stage(shop: FullShop.file())
        var settings = await stage.simulator.settings
        settings.isDeterministic = true
        settings.seed = 11
        let simulator = stage.simulator
        try await simulator.reset(settings)
        await simulator.setFaults { faults in
            for fault in NotificationFault.allCases { faults.notifications.odds[fault] = 0.05 }
            faults.delay = Faults.Delay(seconds: 86_400, isMaximum: true)
        }
        stage.letterBox.answer(Array(repeating: PostResult(status: 500), count: 20))
        let names = try await simulator.populate(80, within: .months(6))
        try await stage.advance("P6M")
        let struck = await simulator.faults.notifications.struck
        #expect(Set(struck.keys) == Set(NotificationFault.allCases))
        var books: [String] = []
        for name in names {
            if let account = try? await simulator.groundTruth(of: name) {
                books.append(account.json.text)
            }
        }
        #expect(books.count > 60)
        return Run(
            books: books, log: await simulator.log.map(\.text), posted: stage.letterBox.bodies)
    }
}
