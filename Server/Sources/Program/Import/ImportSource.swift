import Crypto
import Foundation

/// The text of an import file, decompressed if the file is gzip.
final class ImportSource {
    private static let chunkBytes = 65_536
    /// The file is identified by this number of bytes at its start and at its end.
    private static let markBytes = 1_048_576
    /// The first bytes of each kind of file that cannot be imported, and a description of that
    /// kind.
    private static let foreign: [(bytes: [UInt8], form: String)] = [
        (Array("PK".utf8) + [3, 4], "a ZIP archive"), ([0x28, 0xB5, 0x2F, 0xFD], "a zstd file"),
        (Array("BZh".utf8), "a bzip2 file"), ([0xFD] + Array("7zXZ".utf8), "an xz file"),
        (Array("PAR1".utf8), "a Parquet file"),
    ]

    private let url: URL
    private let handle: FileHandle
    /// The size of the stored file.
    let storedBytes: Int64
    let isCompressed: Bool
    /// Whether ``read()`` has failed because the file ends within its compressed text.
    private(set) var isTruncated = false
    private var gzip: GzipReader?
    private var storedBytesRead: Int64 = 0
    /// The decompressed bytes after the position of ``start(at:)``.
    private var ready: [UInt8] = []

    init(_ url: URL) throws {
        self.url = url
        do { handle = try FileHandle(forReadingFrom: url) } catch {
            throw StartFailure(
                "\(url.path) cannot be read: \(error.localizedDescription).",
                remedy: "Use a file that this user may read.")
        }
        storedBytes = Int64(try handle.seekToEnd())
        try handle.seek(toOffset: 0)
        let first = Array(try handle.read(upToCount: 16) ?? Data())
        if let found = Self.foreign.first(where: { first.starts(with: $0.bytes) }) {
            throw StartFailure(
                "\(url.path) is \(found.form).",
                remedy: "Import a CSV file, or one JSON object per line, plain or with gzip.")
        }
        isCompressed = GzipReader.isCompressed(first)
        try start(at: 0)
    }

    func close() { handle.closeFile() }

    /// Identifies the file by its size and its first and last bytes. Call ``start(at:)`` next.
    func mark() throws -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Data("\(storedBytes)".utf8))
        try handle.seek(toOffset: 0)
        hash.update(data: try handle.read(upToCount: Self.markBytes) ?? Data())
        try handle.seek(toOffset: UInt64(max(0, storedBytes - Int64(Self.markBytes))))
        hash.update(data: try handle.read(upToCount: Self.markBytes) ?? Data())
        return Array(hash.finalize())
    }

    /// Continues at a position in the text, in bytes. In a gzip file, everything before the
    /// position is decompressed again.
    func start(at position: Int64) throws {
        ready = []
        guard isCompressed else {
            try handle.seek(toOffset: UInt64(position))
            storedBytesRead = position
            return
        }
        try handle.seek(toOffset: 0)
        (storedBytesRead, isTruncated) = (0, false)
        gzip = try GzipReader()
        var rest = position
        while rest > 0 {
            let part = try read()
            guard !part.isEmpty else { return }
            if part.count > rest { ready = Array(part[Int(rest)...]) }
            rest -= Int64(part.count)
        }
    }

    /// The next part of the text. Empty at its end. If the file is truncated, everything that can
    /// be decompressed is returned before the error is thrown.
    func read() throws -> [UInt8] {
        if !ready.isEmpty {
            defer { ready = [] }
            return ready
        }
        guard let gzip else { return try readStored() }
        do { return try gzip.next(from: readStored) } catch let defect as GzipReader.Defect {
            isTruncated = defect == .truncated
            throw failure(defect)
        }
    }

    /// How many bytes of the stored file were read to reach a position in the text.
    func storedBytes(at position: Int64) -> Int64 {
        isCompressed ? storedBytesRead : position
    }

    private func readStored() throws -> [UInt8] {
        // Frees Foundation's data immediately instead of at the end of the import.
        let chunk = try autoreleased {
            Array(try handle.read(upToCount: Self.chunkBytes) ?? Data())
        }
        storedBytesRead += Int64(chunk.count)
        return chunk
    }

    private func autoreleased<Value>(_ body: () throws -> Value) rethrows -> Value {
        #if canImport(Darwin)
            try autoreleasepool(invoking: body)
        #else
            try body()
        #endif
    }

    private func failure(_ defect: GzipReader.Defect) -> StartFailure {
        switch defect {
        case .truncated:
            StartFailure(
                "\(url.path) ends within its compressed text.",
                remedy: "Download the file again, and import it: rows that are known change "
                    + "nothing.")
        case .damaged:
            StartFailure(
                "\(url.path) is damaged: it is not gzip from the first to the last byte.",
                remedy: "Download the file again, or unpack it and import the text.")
        case .tooLarge(let bytesMax):
            StartFailure(
                "\(url.path) has more than \(bytesMax) bytes when it is unpacked.",
                remedy: "Unpack it, and import it in parts, each with the header line.")
        case .ratioTooHigh(let ratioMax):
            StartFailure(
                "\(url.path) becomes more than \(ratioMax) times larger when it is unpacked, as no "
                    + "export does.",
                remedy: "If you trust the file, unpack it and import the text.")
        }
    }
}
