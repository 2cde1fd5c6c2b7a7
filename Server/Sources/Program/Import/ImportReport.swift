import Foundation
import HTTPServer

/// The report of an import: one line for each row that could not be used, with its line number, its
/// customer, and the reason. The report contains no receipts.
struct ImportReport {
    private static let header = "line,customer_id,reason\n"
    /// The maximum number of characters of a customer id in the report.
    private static let shownCharactersMax = 255

    let url: URL
    private let file: FileHandle
    /// The size of the report so far, in bytes.
    private(set) var bytes: Int64

    /// Opens the report, and cuts off the lines about rows that will be read again. A file that is
    /// not a report is refused and not changed.
    ///
    /// - Parameter bytes: the size of the part about rows that were already read; 0 for a new
    ///   report.
    init(url: URL, keeping bytes: Int64) throws {
        self.url = url
        if !FileManager.default.fileExists(atPath: url.path) {
            // Only this user can read the report, because it contains ids of customers.
            do { try Disk.make(url.path) } catch {
                throw StartFailure(
                    "The report \(url.path) cannot be written.",
                    remedy: "Name another with --report, in a folder where this user may write.")
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
                "\(url.path) exists already and is not an import report.",
                remedy: "Name another with --report, or move this file away.")
        }
    }

    /// Appends rows. The rows are on disk when the function returns.
    mutating func add(_ rows: [(line: Int64, customer: String?, reason: String)]) throws {
        guard !rows.isEmpty else { return }
        try add(
            text: CSVText.text(
                rows.map { row in
                    let customer = String((row.customer ?? "").prefix(Self.shownCharactersMax))
                    return ["\(row.line)", customer, row.reason]
                }))
    }

    private mutating func add(text: String) throws {
        let added = Data(text.utf8)
        try file.write(contentsOf: added)
        try file.synchronize()
        bytes += Int64(added.count)
    }

    func close() throws { try file.close() }
}
