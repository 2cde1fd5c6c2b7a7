import Foundation

/// The file that tells of each row that could not be used: its line, whose it was, and why. No
/// receipt stands in it.
struct ImportReport {
    private static let header = "line,customer_id,reason\n"
    /// Characters of a customer's id that are written.
    private static let shownCharactersMax = 255

    let url: URL
    private let file: FileHandle
    /// Up to here it is written.
    private(set) var bytes: Int64

    /// Opens it, and cuts off what was written of rows that will be read again. A file that is no
    /// report stays as it is, and is refused.
    ///
    /// - Parameter bytes: that tell of rows already read; 0 begins anew.
    init(url: URL, keeping bytes: Int64) throws {
        self.url = url
        if !FileManager.default.fileExists(atPath: url.path) {
            guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
                throw StartFailure(
                    "The report \(url.path) cannot be written.",
                    remedy: "Name another with --report, in a folder that this user may write.")
            }
        }
        file = try FileHandle(forUpdating: url)
        let present = Int64(try file.seekToEnd())
        if present > 0 { try Self.requireReport(file, at: url) }
        let kept = min(bytes, present)
        try file.truncate(atOffset: UInt64(kept))
        self.bytes = kept
        if kept == 0 { try add(text: Self.header) }
    }

    private static func requireReport(_ file: FileHandle, at url: URL) throws {
        try file.seek(toOffset: 0)
        let first = try file.read(upToCount: header.utf8.count)
        guard first == Data(header.utf8) else {
            throw StartFailure(
                "\(url.path) is there already, and is no report of an import.",
                remedy: "Name another with --report, or move this one away.")
        }
    }

    /// Adds rows; on disk when it returns.
    mutating func add(_ rows: [(line: Int64, customer: String?, reason: String)]) throws {
        guard !rows.isEmpty else { return }
        try add(
            text: rows.map { row in
                let customer = String((row.customer ?? "").prefix(Self.shownCharactersMax))
                return "\(row.line),\(Self.quoted(customer)),\(Self.quoted(row.reason))\n"
            }.joined())
    }

    private mutating func add(text: String) throws {
        let added = Data(text.utf8)
        try file.write(contentsOf: added)
        try file.synchronize()
        bytes += Int64(added.count)
    }

    func close() throws { try file.close() }

    private static func quoted(_ text: String) -> String {
        guard text.contains(where: { [",", "\"", "\n", "\r", ";"].contains($0) }) else {
            return text
        }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
