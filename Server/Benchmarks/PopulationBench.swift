import AppStoreFormats
import Crypto
import Foundation
import Simulator

/// A year of random customers in the simulator: their books alone, and with every document signed,
/// against the bare signatures of the same bytes.
struct PopulationBench {
    private static let months = 12
    private static let mebibyte = 1_048_576.0

    let bench: BenchFolder
    private let settings: SimulatorSettings

    init(_ bench: BenchFolder) throws {
        self.bench = bench
        settings = SimulatorSettings(seed: 7, shop: try FullShop.file())
    }

    func measure() throws -> [Measured] { [try books(), try signed()] }

    /// Seconds of one core for a hundred thousand customers, whatever the number measured.
    private func books() throws -> Measured {
        let accounts = bench.count(100_000, quick: 5000)
        let run = try PopulationRun(accounts: accounts, months: Self.months, settings)
        var tally = PopulationRun.Tally()
        var bytes = 0
        let before = try Effort.memory(of: getpid()).now
        var most = before
        let start = Effort.ofThisThread
        for district in 0..<run.districts {
            try run.play(district, &tally, books: { bytes += $0.json.bytes.count })
            most = max(most, try Effort.memory(of: getpid()).now)
        }
        let seconds = (Effort.ofThisThread - start) * 100_000 / Double(accounts)
        return Measured(
            line: .population, value: seconds,
            behind: "\(tally.accounts) accounts, \(tally.transactions) transactions, "
                + "\(tally.notifications) notifications, \(Int(most - before)) MiB more memory, "
                + "\(Int(Double(bytes) / Self.mebibyte)) MiB of books")
    }

    private func signed() throws -> Measured {
        let accounts = bench.count(1000, quick: 200)
        let run = try PopulationRun(accounts: accounts, months: Self.months, settings)
        let key = P256.Signing.PrivateKey()
        // The same population makes the same documents each time: here they are kept, below not.
        var tally = PopulationRun.Tally()
        var documents: [String] = []
        try run.play(
            0, &tally, signedBy: bench.authority, books: { _ in },
            signed: { documents.append($0) })
        let bytes = try documents.flatMap(Self.signedBytes)
        guard bytes.count == tally.signatures else {
            throw BenchFailure("\(bytes.count) documents, \(tally.signatures) signatures")
        }
        let length = documents.reduce(0) { $0 + $1.utf8.count }
        var (ratios, ours, limits): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<bench.count(9, quick: 3) {
            var tally = PopulationRun.Tally()
            var written = 0
            let start = Effort.ofThisThread
            try run.play(
                0, &tally, signedBy: bench.authority, books: { _ in },
                signed: { written += $0.utf8.count })
            let middle = Effort.ofThisThread
            guard written == length else {
                throw BenchFailure("\(written) bytes were signed, and before \(length)")
            }
            let again = Effort.ofThisThread
            for document in bytes { _ = try key.signature(for: document) }
            let end = Effort.ofThisThread
            ratios.append((middle - start) / (end - again))
            ours.append((middle - start) / Double(bytes.count))
            limits.append((end - again) / Double(bytes.count))
        }
        return Measured(
            line: .populationSigned, value: ratios.median,
            behind: "\(ours.median.microseconds) ÷ \(limits.median.microseconds) for each document")
    }

    /// What was signed in a notification: the documents inside, then the whole.
    private static func signedBytes(_ notification: String) throws -> [[UInt8]] {
        guard let whole = CompactJWS(notification), let payload = whole.payload else {
            throw BenchFailure("a notification of ours is no JWS")
        }
        let json = try JSON(parsing: payload)
        let parts = [json["data"], json["appData"]].compactMap { $0?.members }.flatMap { $0 }
        let inner = parts.filter { $0.key.hasPrefix("signed") }
            .compactMap { $0.value.string.flatMap { CompactJWS($0) } }
        return inner.map { Array($0.signedBytes) } + [Array(whole.signedBytes)]
    }
}
