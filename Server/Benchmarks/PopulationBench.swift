import AppStoreFormats
import Crypto
import Foundation
import Simulator

/// Measures a year of random customers in the simulator: the ground truth alone, and the ground
/// truth with every document signed. The signing is compared with bare signatures of the same
/// bytes. It is measured with keys from a seed, as with `--deterministic`, and with keys that come
/// from no seed. Signing with keys from a seed is faster.
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

    /// Returns the seconds of one core for a hundred thousand customers, scaled from the measured
    /// number of customers.
    private func books() throws -> Measured {
        let accounts = bench.count(100_000, quick: 5000)
        let run = try PopulationRun(accounts: accounts, months: Self.months, settings)
        var tally = PopulationRun.Tally()
        var bytes = 0
        let before = try Effort.memory(of: getpid()).now
        var most = before
        let start = Effort.ofThisThread
        for district in 0..<run.districts {
            try run.simulate(district, &tally, books: { bytes += $0.json.bytes.count })
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
        // The same population makes the same documents each time. They are collected only here.
        var tally = PopulationRun.Tally()
        var documents: [String] = []
        try run.simulate(
            0, &tally, signedBy: bench.authority, books: { _ in },
            signed: { documents.append($0) })
        let bytes = try documents.flatMap(Self.signedBytes)
        guard bytes.count == tally.signatures else {
            throw BenchFailure("\(bytes.count) documents, \(tally.signatures) signatures")
        }
        let hasty = try SigningAuthority(seed: settings.seed).fast
        var (seeded, own, limits): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<bench.count(9, quick: 3) {
            seeded.append(try seconds(of: run, signedBy: hasty, signing: bytes.count))
            own.append(try seconds(of: run, signedBy: bench.authority, signing: bytes.count))
            let start = Effort.ofThisThread
            for document in bytes { _ = try key.signature(for: document) }
            limits.append(Effort.ofThisThread - start)
        }
        let each = { (seconds: [Double]) in (seconds.median / Double(bytes.count)).microseconds }
        let ownRatio = zip(own, limits).map { $0 / $1 }.median
        return Measured(
            line: .populationSigned, value: zip(seeded, limits).map { $0 / $1 }.median,
            behind: "\(each(seeded)) ÷ \(each(limits)) for each document; "
                + String(format: "with keys from no seed \(each(own)), %.2f", ownRatio))
    }

    /// Returns the seconds of one thread for playing a district and signing everything.
    private func seconds(
        of run: PopulationRun, signedBy authority: SigningAuthority, signing count: Int
    ) throws -> Double {
        var tally = PopulationRun.Tally()
        let start = Effort.ofThisThread
        try run.simulate(
            0, &tally, signedBy: authority, books: { _ in }, signed: { _ in })
        let seconds = Effort.ofThisThread - start
        guard tally.signatures == count else {
            throw BenchFailure("\(tally.signatures) were signed, but \(count) the first time")
        }
        return seconds
    }

    /// The signed bytes of a notification: the inner documents, then the whole.
    private static func signedBytes(_ notification: String) throws -> [[UInt8]] {
        guard let whole = CompactJWS(notification), let payload = whole.payload else {
            throw BenchFailure("a notification we made is not a JWS")
        }
        let json = try JSON(parsing: payload)
        let parts = [json["data"], json["appData"]].compactMap { $0?.members }.flatMap { $0 }
        let inner = parts.filter { $0.key.hasPrefix("signed") }
            .compactMap { $0.value.string.flatMap { CompactJWS($0) } }
        return inner.map { Array($0.signedBytes) } + [Array(whole.signedBytes)]
    }
}
