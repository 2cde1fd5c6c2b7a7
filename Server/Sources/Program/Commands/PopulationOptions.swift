import AppStoreFormats
import ArgumentParser
import Foundation
import Simulator

/// Random customers by the hundred thousand, without a server: their books go to a file.
struct PopulationOptions: ParsableArguments {
    @Option(help: "Play so many random customers, write their books, and end.")
    var population: Int?
    @Option(help: "How many months the customers live (default: 12).") var months: Int?
    @Option(help: "The file for the books: one account a line, and a line of sums at the end.")
    var out: String?
    @Flag(help: "Sign every document of the customers' notifications, too.") var sign = false
    @Option(help: "The file for the signed notifications, one a line.")
    var notifications: String?

    private static let monthsDefault = 12

    /// Throws where something is asked of a population and there is to be none.
    func check() throws(StartFailure) {
        guard population == nil else { return }
        let flags = [
            ("--months", months != nil), ("--out", out != nil), ("--sign", sign),
            ("--notifications", notifications != nil),
        ]
        guard let (flag, _) = flags.first(where: \.1) else { return }
        throw StartFailure(
            "\(flag) is of a population.",
            remedy: "Add --population with a number, or leave it out.")
    }

    /// Plays so many customers. Says on standard error how far it has come. The keys of a seed are
    /// anybody's, so that their signatures may be hasty.
    func play(
        _ accounts: Int, _ settings: SimulatorSettings, signedBy authority: SigningAuthority
    ) throws {
        let run = try PopulationRun(
            accounts: accounts, months: months ?? Self.monthsDefault, settings)
        let books = try out.map { try LineFile(path: $0) }
        let letters = try notifications.map { try LineFile(path: $0) }
        let signs = sign || letters != nil
        let authority = settings.isDeterministic ? authority.hasty : authority
        var tally = PopulationRun.Tally()
        let started = ContinuousClock.now
        for district in 0..<run.districts {
            try run.play(
                district, &tally, signedBy: signs ? authority : nil,
                books: { try books?.write($0.json.bytes) },
                signed: { try letters?.write(Array($0.utf8)) })
            let seconds = (ContinuousClock.now - started).components.seconds
            Outcome.toStandardError(
                "\(tally.accounts) of \(accounts) accounts, \(tally.notifications) notifications,"
                    + " \(seconds) s")
        }
        let sums = tally.json.bytes
        try books?.write(sums)
        try books?.close()
        try letters?.close()
        print(String(decoding: sums, as: UTF8.self))
    }
}

/// A file that is written line by line, in large pieces.
private final class LineFile {
    private static let pieceBytes = 1_048_576

    private let file: FileHandle
    private var piece: [UInt8] = []

    init(path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else {
            throw StartFailure(
                "\(path) cannot be written.", remedy: "Name a file in a folder that is there.")
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
