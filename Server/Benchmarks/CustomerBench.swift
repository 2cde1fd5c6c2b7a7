import Foundation

/// Measures the response about a customer on a database of a million customers, and the resources
/// that the server needs.
struct CustomerBench {
    private static let connections = 32
    /// The maximum duration of a round, in seconds of wall-clock time.
    private static let roundSeconds = 5.0
    /// The step from one customer to the next. It is a prime number, so that the steps reach every
    /// customer before repeating any.
    private static let step = 7_368_787

    let bench: BenchFolder
    let programs: Programs

    init(_ bench: BenchFolder) throws {
        self.bench = bench
        programs = try Programs(bench)
    }

    private var customers: Int { bench.count(1_000_000, quick: 20_000) }

    func measure() async throws -> [Measured] {
        let full = try await PopulationDatabase(programs, customers: customers).path()
        let empty = try bench.freshDatabase("empty.sqlite")
        _ = try programs.createKey(empty)
        let clock = try programs.simulate()
        defer { clock.stop() }
        let start = try start(full, empty, clock: clock)
        let server = try programs.serve(full, clock: clock)
        defer { server.stop() }
        let reading = try await Floor.reading(
            full, of: (0..<2000).map { Population.id(of: $0 * Self.step % customers) })
        let answer = try answers(server, key: try programs.createKey(full), reading: reading)
        let memory = try Effort.memory(of: server.id)
        return [
            answer,
            Measured(
                line: .memory, value: memory.now,
                behind: "after those answers, \(customers) customers, "
                    + "\(customers * Population.documentsEach) documents; "
                    + "at most \(Table.number(memory.most))"),
            start,
        ]
    }

    private func start(
        _ full: String, _ empty: String, clock: RunningProgram
    ) throws -> Measured {
        var (ratios, ours, limits): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<bench.count(15, quick: 5) {
            let one = try seconds(full, clock)
            let other = try seconds(empty, clock)
            ratios.append(one / other)
            ours.append(one)
            limits.append(other)
        }
        return Measured(
            line: .start, value: ratios.median,
            behind: String(format: "%.0f ÷ %.0f ms", ours.median * 1000, limits.median * 1000))
    }

    private func seconds(_ database: String, _ clock: RunningProgram) throws -> Double {
        let server = try programs.serve(database, clock: clock)
        defer { server.stop() }
        return server.startSeconds
    }

    /// Measures the responses about customers.
    ///
    /// - Parameter reading: the minimum time for reading one customer's rows, in seconds.
    private func answers(
        _ server: RunningProgram, key: String, reading: Double
    ) throws -> Measured {
        let load = try Load(port: server.port, connections: Self.connections)
        let sample = try load.exchange(1) { _ in Self.request(0, key) }
        let bytes = HTTPResponseBytes.body(sample).count
        let count = try count(load, key)
        let constant = try programs.constantServer(bytes: bytes)
        defer { constant.stop() }
        let limit = try Load(port: constant.port, connections: Self.connections)
        let bare = try programs.bareServer(bytes: bytes)
        defer { bare.stop() }
        let bareLoad = try Load(port: bare.port, connections: Self.connections)
        var (ratios, ours, limits): ([Double], [Double], [Double]) = ([], [], [])
        var sockets: [Double] = []
        for round in 0...bench.count(7, quick: 3) {
            let requests = (0..<requestsMax).map {
                Self.request((round * requestsMax + $0) * Self.step % customers, key)
            }
            let one = try effort(of: server, load, Array(requests.prefix(count)))
            let other = try effort(of: constant, limit, requests)
            // The first round is for warming up both.
            guard round > 0 else { continue }
            ratios.append(one / other)
            ours.append(one)
            limits.append(other)
            sockets.append(try effort(of: bare, bareLoad, requests))
            Progress.report("  round \(round): \(one.microseconds) ÷ \(other.microseconds)")
        }
        return Measured(
            line: .customer, value: ratios.median,
            floor: (sockets.median + reading) / limits.median,
            behind: "\(ours.median.microseconds) ÷ \(limits.median.microseconds), "
                + "\(bytes) bytes of JSON, \(Self.connections) connections; floor: "
                + "the sockets \(sockets.median.microseconds), and reading the rows "
                + "\(reading.microseconds)")
    }

    /// The number of requests in one round.
    private var requestsMax: Int { bench.count(12_000, quick: 3000) }

    /// The number of requests sent to Perennial. It is lower if each request takes long.
    private func count(_ load: Load, _ key: String) throws -> Int {
        let start = ContinuousClock.now
        try load.exchange(Self.connections) { Self.request($0, key) }
        let each = (ContinuousClock.now - start) / Duration.seconds(Self.connections)
        return max(1, min(requestsMax, Int(Self.roundSeconds / each)))
    }

    private static func request(_ number: Int, _ key: String) -> [UInt8] {
        HTTPRequestBytes.get("/v1/customers/\(Population.id(of: number))", key: key)
    }

    private func effort(
        of program: RunningProgram, _ load: Load, _ requests: [[UInt8]]
    ) throws -> Double {
        let before = try Effort.of(process: program.id)
        try load.exchange(requests.count) { requests[$0] }
        return (try Effort.of(process: program.id) - before) / Double(requests.count)
    }
}
