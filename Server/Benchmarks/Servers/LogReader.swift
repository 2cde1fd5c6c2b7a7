import AppStoreFormats
import Foundation

/// Reads an app's log by cursor, from one server after the other, while notifications are posted.
final class LogReader: @unchecked Sendable {
    private static let pageEvents = 500
    /// The maximum number of failed attempts. Servers that are killed leave the reader without an
    /// answer for a while.
    private static let attemptsMax = 10_000
    private static let pauseSeconds = 0.01

    private let ports: [UInt16]
    private let key: String
    private let lock = NSLock()
    private var isLast = false
    private var failure: (any Error)?
    private var count = 0
    private var purchases: Set<String> = []
    private let ended = DispatchSemaphore(value: 0)

    init(ports: [UInt16], key: String) {
        (self.ports, self.key) = (ports, key)
        Thread.detachNewThread { [self] in
            do { try readAll() } catch { failure = error }
            ended.signal()
        }
    }

    /// Reads to the end of the log. Throws if an event was missing, or was read twice.
    func finish() throws -> (count: Int, purchases: Int) {
        lock.withLock { isLast = true }
        ended.wait()
        if let failure { throw failure }
        return (count, purchases.count)
    }

    private func readAll() throws {
        var cursor = ""
        var (turn, failures) = (0, 0)
        while true {
            let wasLast = lock.withLock { isLast }
            turn += 1
            guard let page = try? page(after: cursor, at: ports[turn % ports.count]) else {
                failures += 1
                guard failures < Self.attemptsMax else { throw BenchFailure("no server answers") }
                Thread.sleep(forTimeInterval: Self.pauseSeconds)
                continue
            }
            let items = page["items"]?.array ?? []
            for item in items {
                count += 1
                guard item["sequence"]?.integer == Int64(count) else {
                    throw BenchFailure("event \(count) is \(item["sequence"]?.text ?? "missing")")
                }
                if let purchase = item["purchase_id"]?.string { purchases.insert(purchase) }
            }
            guard let next = page["next_cursor"]?.string else {
                throw BenchFailure("a page has no cursor")
            }
            cursor = next
            if items.isEmpty {
                if wasLast { return }
                Thread.sleep(forTimeInterval: Self.pauseSeconds)
            }
        }
    }

    private func page(after cursor: String, at port: UInt16) throws -> JSON {
        let load = try Load(port: port, connections: 1)
        let answer = try load.exchange(1) { _ in
            HTTPRequestBytes.get(
                "/v1/events?after=\(cursor)&limit=\(Self.pageEvents)", key: key)
        }
        return try JSON(parsing: Array(HTTPResponseBytes.body(answer)))
    }
}
