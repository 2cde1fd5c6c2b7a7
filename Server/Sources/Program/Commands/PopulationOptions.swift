import AppStoreFormats
import ArgumentParser
import Foundation
import Simulator

/// Plays hundreds of thousands of random customers without a server, and writes the ground truth to
/// a file.
struct PopulationOptions: ParsableArguments {
    @Option(help: "Play this many random customers, write the ground truth, and exit.")
    var population: Int?
    @Option(help: "How many months to play (default: 12).") var months: Int?
    @Option(help: "The file for the ground truth: one account per line, then a line of sums.")
    var out: String?
    @Flag(help: "Also sign every document of the customers' notifications.") var sign = false
    @Option(help: "The file for the signed notifications, one per line.")
    var notifications: String?

    private static let monthsDefault = 12

    /// Throws if an option for a population is set without `--population`.
    func check() throws(StartFailure) {
        guard population == nil else { return }
        let flags = [
            ("--months", months != nil), ("--out", out != nil), ("--sign", sign),
            ("--notifications", notifications != nil),
        ]
        guard let (flag, _) = flags.first(where: \.1) else { return }
        throw StartFailure(
            "\(flag) needs --population.",
            remedy: "Add --population with a number, or leave out \(flag).")
    }

    /// Plays the customers and prints progress to standard error. If a seed is given, signatures
    /// are made by a faster method that does not protect the keys, because anyone can derive the
    /// keys from the seed.
    func play(
        _ accounts: Int, _ settings: SimulatorSettings, signedBy authority: SigningAuthority
    ) throws {
        let run = try PopulationRun(
            accounts: accounts, months: months ?? Self.monthsDefault, settings)
        let books = try out.map { try LineFile(path: $0) }
        let letters = try notifications.map { try LineFile(path: $0) }
        let signs = sign || letters != nil
        let authority = settings.isDeterministic ? authority.fast : authority
        var tally = PopulationRun.Tally()
        let started = ContinuousClock.now
        for district in 0..<run.districts {
            try run.simulate(
                district, &tally, signedBy: signs ? authority : nil,
                books: { try books?.write($0.json.bytes) },
                signed: { try letters?.write(Array($0.utf8)) })
            let seconds = (ContinuousClock.now - started).components.seconds
            Outcome.printError(
                "\(tally.accounts) of \(accounts.counted("account")), "
                    + "\(tally.notifications.counted("notification")), \(seconds) s")
        }
        let sums = tally.json.bytes
        try books?.write(sums)
        try books?.close()
        try letters?.close()
        print(String(decoding: sums, as: UTF8.self))
    }
}

/// A file that is written line by line. A buffer collects lines into large pieces.
private final class LineFile {
    private static let pieceBytes = 1_048_576

    private let file: FileHandle
    private var piece: [UInt8] = []

    init(path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else {
            throw StartFailure(
                "\(path) cannot be written.", remedy: "Name a file in an existing folder.")
        }
        self.file = file
        piece.reserveCapacity(2 * Self.pieceBytes)
    }

    func write(_ line: [UInt8]) throws {
        piece += line
        piece.append(UInt8(ascii: "\n"))
        if piece.count >= Self.pieceBytes { try flush() }
    }

    func close() throws {
        try flush()
        try file.close()
    }

    private func flush() throws {
        try file.write(contentsOf: piece)
        piece.removeAll(keepingCapacity: true)
    }
}
