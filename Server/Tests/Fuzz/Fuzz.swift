import Dice
import Foundation

/// Sends damaged documents to every reader of documents from outside, and measures the cost of
/// each. A crash ends the program; a run with the same seed repeats the last input.
///
/// Arguments: `--rounds N`, `--seed S`, `--corpus FOLDER`.
@main
struct Fuzz {
    private static let roundsUsual = 100_000
    /// One input in this many also has its signatures verified.
    private static let verifiesOneOf = 64
    private static let progressEvery = 1_000_000

    static func main() async throws {
        let seed = number("--seed").map(UInt64.init) ?? UInt64.random(in: 0...(.max >> 1))
        let rounds = number("--rounds") ?? roundsUsual
        print("Fuzz: \(rounds) rounds, --seed \(seed)")
        let corpus = try Corpus(folder: value("--corpus"))
        let reader = try Reader(trusting: corpus.roots)
        try await requireReadable(corpus, reader)
        var run = Run(corpus: corpus, reader: reader, seed: seed)
        for round in 1...max(1, rounds) {
            do { try await run.next() } catch {
                print("round \(round) of --seed \(seed): \(error)")
                exit(1)
            }
            if round.isMultiple(of: progressEvery) { print(run.summary(round)) }
        }
        print(run.summary(rounds))
        try run.requireEnough()
    }

    /// Throws if a document of the simulator cannot be read, because then its damage would test
    /// nothing.
    private static func requireReadable(_ corpus: Corpus, _ reader: Reader) async throws {
        for document in corpus.documents
        where await !reader.reads(document.bytes, as: document.form, verifies: true) {
            throw Finding("\(document.name) of the corpus cannot be read")
        }
    }

    private static func value(_ name: String) -> String? {
        let arguments = CommandLine.arguments
        guard let place = arguments.firstIndex(of: name), place + 1 < arguments.count else {
            return nil
        }
        return arguments[place + 1]
    }

    private static func number(_ name: String) -> Int? { value(name).flatMap { Int($0) } }

    /// One run over damaged documents.
    struct Run {
        let corpus: Corpus
        let reader: Reader
        var mutator: Mutator
        var watch = Watch()
        var tried: [Form: Int] = [:]
        var readable: [Form: Int] = [:]

        init(corpus: Corpus, reader: Reader, seed: UInt64) {
            self.corpus = corpus
            self.reader = reader
            mutator = Mutator(dice: Dice(seed: seed))
        }

        mutating func next() async throws {
            guard let document = corpus.documents.randomElement(using: &mutator.dice) else {
                throw Finding("the corpus is empty")
            }
            var bytes = mutator.damaged(document.bytes, as: document.form)
            while bytes.count > document.form.bytesMax {
                bytes = mutator.damaged(document.bytes, as: document.form)
            }
            let verifies = Int.random(in: 0..<verifiesOneOf, using: &mutator.dice) == 0
            var (isReadable, cost) = await read(bytes, document.form, verifies)
            for _ in 0..<Watch.repeats where cost > Watch.nanosecondsMax {
                let again = await read(bytes, document.form, verifies)
                cost = min(cost, again.cost)
                isReadable = again.isReadable
            }
            tried[document.form, default: 0] += 1
            if isReadable { readable[document.form, default: 0] += 1 }
            watch.note(nanoseconds: cost)
            guard cost <= Watch.nanosecondsMax else {
                throw Finding("\(document.name), \(bytes.count) bytes: \(cost) ns")
            }
            guard watch.bytes <= Watch.bytesMax else {
                throw Finding(
                    "\(document.name), \(bytes.count) bytes: memory grew by \(watch.bytes)")
            }
        }

        private func read(
            _ bytes: [UInt8], _ form: Form, _ verifies: Bool
        ) async -> (isReadable: Bool, cost: Int64) {
            let start = Watch.processorNanoseconds()
            let isReadable = await reader.reads(bytes, as: form, verifies: verifies)
            return (isReadable, Watch.processorNanoseconds() - start)
        }

        func summary(_ rounds: Int) -> String {
            let forms = Form.allCases.map { form in
                "\(form.rawValue) \(readable[form] ?? 0)/\(tried[form] ?? 0)"
            }
            return "\(rounds) inputs, the slowest \(watch.slowest / 1000) µs, memory grew by "
                + "\(watch.bytes / 1024) KiB; readable: \(forms.joined(separator: ", "))"
        }

        /// Throws unless some damaged documents of each form can be read and some cannot.
        /// Otherwise the mutator does too much damage or too little.
        func requireEnough() throws {
            for form in Form.allCases {
                let (all, some) = (tried[form] ?? 0, readable[form] ?? 0)
                guard all < 1_000 || (some > 0 && some < all) else {
                    throw Finding("of \(form.rawValue) \(some) of \(all) could be read")
                }
            }
        }
    }
}

/// A defect of a reader that the run has found.
struct Finding: Error, CustomStringConvertible {
    var description: String

    init(_ what: String) { description = what }
}
