import CZlib
import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// Import files that are compressed with gzip.
@Suite struct GzipReaderTests {
    /// A gzip file of one member (RFC 1952).
    static func gzip(_ text: [UInt8]) -> [UInt8] {
        var size = compressBound(uLong(text.count))
        var packed = [UInt8](repeating: 0, count: Int(size))
        precondition(compress2(&packed, &size, text, uLong(text.count), 6) == Z_OK)
        // zlib writes 2 bytes before the compressed text, and 4 after it.
        let deflated = packed[2..<Int(size) - 4]
        let check = UInt32(crc32(0, text, uInt(text.count)))
        let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
        return header + deflated + littleEndian(check) + littleEndian(UInt32(text.count))
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Lines that compress about as well as an export.
    private static let text = (0..<20_000).reduce(into: [UInt8]()) { text, line in
        text += Array("\(line),anna,\(line &* 7_919 % 10_007),app_store\n".utf8)
    }

    private static func decompress(
        _ file: [UInt8], by count: Int = 1000, _ reader: GzipReader? = nil
    ) throws -> [UInt8] {
        let reader = try reader ?? GzipReader()
        var rest = file[...]
        var text: [UInt8] = []
        while true {
            let part = try reader.next {
                defer { rest = rest.dropFirst(count) }
                return Array(rest.prefix(count))
            }
            if part.isEmpty { return text }
            text += part
        }
    }

    @Test(arguments: [1, 7, 65_536, 10_000_000])
    func `a compressed file gives the same text for any size of its chunks`(count: Int) throws {
        let file = Self.gzip(Self.text)
        #expect(file.count < Self.text.count / 2)
        #expect(try Self.decompress(file, by: count) == Self.text)
        let two = Self.gzip(Array("a,b\n".utf8)) + Self.gzip([]) + Self.gzip(Array("c,d\n".utf8))
        let joined = Array("a,b\nc,d\n".utf8)
        #expect(try Self.decompress(two, by: count) == joined)
        #expect(try Self.decompress(two + [0, 0, 0], by: count) == joined)
    }

    @Test func `a file cut off at any byte is truncated, and is never accepted as complete`()
        throws
    {
        let file = Self.gzip(Array("a,b\nc,d\n".utf8))
        for count in 0..<file.count {
            #expect(throws: GzipReader.Defect.truncated) {
                try Self.decompress(Array(file.prefix(count)), by: 3)
            }
        }
    }

    @Test func `a file with a changed byte, or with extra bytes at its end, is damaged`() throws {
        let file = Self.gzip(Self.text)
        for place in [2, 40, file.count / 2, file.count - 6, file.count - 1] {
            var damaged = file
            damaged[place] ^= 0x55
            #expect(throws: GzipReader.Defect.self) { try Self.decompress(damaged) }
        }
        #expect(throws: GzipReader.Defect.damaged) { try Self.decompress(file + [1]) }
        #expect(throws: GzipReader.Defect.damaged) {
            try Self.decompress(file + Array("a,b\n".utf8))
        }
    }

    @Test func `a small file that contains a huge text is refused before the text is read`() throws
    {
        let bomb = Self.gzip([UInt8](repeating: 0x61, count: 4_000_000))
        #expect(throws: GzipReader.Defect.ratioTooHigh(ratioMax: 400)) {
            try Self.decompress(bomb, try GzipReader(ratioFreeBytes: 100_000))
        }
        #expect(throws: GzipReader.Defect.tooLarge(bytesMax: 1_000_000)) {
            try Self.decompress(bomb, try GzipReader(textBytesMax: 1_000_000))
        }
        #expect(try Self.decompress(bomb).count == 4_000_000)
    }

    @Test func `reading a compressed file can continue from any position`() async throws {
        try await TemporaryFolder.with { folder in
            let url = URL(fileURLWithPath: folder + "/text.csv.gz")
            try Data(Self.gzip(Self.text)).write(to: url)
            let source = try ImportSource(url)
            defer { source.close() }
            for position in [0, 1, 65_535, 65_536, 65_537, Self.text.count - 1, Self.text.count] {
                try source.start(at: Int64(position))
                var text: [UInt8] = []
                while true {
                    let part = try source.read()
                    if part.isEmpty { break }
                    text += part
                }
                #expect(text == Array(Self.text[position...]))
            }
        }
    }

    @Test(arguments: [
        ("PK\u{3}\u{4}zip", "a ZIP archive"), ("BZh9", "a bzip2 file"), ("PAR1", "a Parquet file"),
    ])
    func `a file in another compression format is refused, and the message names the format`(
        bytes: String, form: String
    ) async throws {
        try await TemporaryFolder.with { folder in
            let url = URL(fileURLWithPath: folder + "/file")
            try Data(bytes.utf8).write(to: url)
            let failure = #expect(throws: StartFailure.self) { try ImportSource(url) }
            #expect(failure?.message.contains(form) == true)
            #expect(failure?.remedy.contains("CSV") == true)
        }
    }

    @Test func `a truncated import file stops the import with a remedy`() async throws {
        try await TemporaryFolder.with { folder in
            let url = URL(fileURLWithPath: folder + "/file.gz")
            try Data(Self.gzip(Self.text).dropLast(9)).write(to: url)
            let source = try ImportSource(url)
            defer { source.close() }
            let failure = #expect(throws: StartFailure.self) {
                while try !source.read().isEmpty { continue }
            }
            #expect(failure?.message.contains("ends within its compressed text") == true)
            #expect(failure?.remedy.contains("Download") == true)
        }
    }

    @Test(arguments: [12, 400, 30_000, 90_000])
    func `all complete rows of a truncated file are read before the error is reported`(
        bytes: Int
    ) async throws {
        try await TemporaryFolder.with { folder in
            let url = URL(fileURLWithPath: folder + "/file.gz")
            let text = Array("original_transaction_id,customer_id\n".utf8) + Self.text
            let file = Self.gzip(text)
            try #require(bytes < file.count)
            try Data(file.prefix(bytes)).write(to: url)
            var known: [UInt8] = []
            let reader = try GzipReader()
            var rest = file.prefix(bytes)
            #expect(throws: GzipReader.Defect.truncated) {
                while true {
                    known += try reader.next {
                        defer { rest = [] }
                        return Array(rest)
                    }
                }
            }
            let complete = known.count { $0 == UInt8(ascii: "\n") } - 1
            let source = try ImportSource(url)
            defer { source.close() }
            var rows = 0
            let failure = #expect(throws: StartFailure.self) {
                var batches = try ImportBatches(
                    source, kind: .originalTransactionIDs, environment: .production,
                    from: ImportPosition())
                while let batch = try batches.next() { rows += batch.count }
            }
            #expect(failure?.message.contains("ends within") == true)
            #expect(rows == max(0, complete))
        }
    }

    @Test(arguments: [(false, "were processed"), (true, "were checked, and nothing was imported")])
    func `an import of a truncated file says how many lines were read, and whether it was a trial`(
        isTrial: Bool, done: String
    ) async throws {
        try await TemporaryFolder.with { folder in
            let url = URL(fileURLWithPath: folder + "/file.gz")
            let text = Array("receipt\n".utf8) + Self.text
            // Without the check value and the size, the whole text can still be read.
            try Data(Self.gzip(text).dropLast(8)).write(to: url)
            let assembly = try await Assembly(
                apps: [
                    AppConfiguration(
                        settings: AppSettings(
                            id: "birds", bundleID: "com.example.birds", entitlements: [:]),
                        extraRoots: [])
                ], databaseAddress: folder + "/p.sqlite",
                now: { Instant(milliseconds: 1_795_248_000_000) }, logger: .quiet)
            defer { assembly.database.close() }
            let run = ImportRun(
                engine: assembly.engine, app: "birds", kind: .receipts, file: url,
                report: URL(fileURLWithPath: folder + "/report.csv"), isTrial: isTrial)
            let failure = await #expect(throws: StartFailure.self) { try await run.run() }
            #expect(
                failure?.message.hasSuffix("The first 20001 lines of the text \(done).") == true,
                "\(failure?.message ?? "")")
        }
    }
}
