internal import Foundation
internal import PerennialContract

/// Purchases that began outside the app, until the app takes them: in a file, because the app may
/// be ended before it is ready for them. What was taken is not kept.
struct RequestFile: Sendable {
    static let name = "requests-1"
    static let bytesMax = 16_384
    /// The most that are kept. The oldest one goes.
    static let waitingMax = 20
    /// Nobody expects a payment sheet for what was tapped longer ago. Milliseconds; three days.
    static let ageMax: Int64 = 3 * 86_400_000

    private let path: String
    private var waiting: [Waiting] = []

    private struct Waiting: Hashable, Sendable, Codable {
        var product: String
        var offerID: String?
        /// Milliseconds since 1970.
        var since: Int64
    }

    init(folder: DeviceFolder) { path = folder.path(Self.name) }

    /// Reads what an earlier process has left. A file that is damaged is as good as none.
    mutating func read() {
        guard let bytes = try? FileBytes.read(path, bytesMax: Self.bytesMax),
            let kept = try? JSONDecoder().decode([Waiting].self, from: Data(bytes))
        else { return }
        for request in kept.reversed() where !contains(request) { waiting.insert(request, at: 0) }
        limit()
    }

    /// Writes it down. A request that waits already is not added once more.
    mutating func add(_ request: Perennial.PurchaseRequest, at now: Timestamp) throws {
        let added = Waiting(
            product: request.product.rawValue, offerID: request.offerID, since: now.milliseconds)
        guard !contains(added) else { return }
        waiting.append(added)
        limit()
        try write()
    }

    /// The oldest one. From now on it is the app's affair.
    mutating func removeFirst(at now: Timestamp) throws -> Perennial.PurchaseRequest? {
        waiting.removeAll { now.milliseconds - $0.since > Self.ageMax }
        guard !waiting.isEmpty else { return nil }
        let taken = waiting.removeFirst()
        try write()
        return Perennial.PurchaseRequest(
            product: .init(rawValue: taken.product), offerID: taken.offerID)
    }

    private func contains(_ request: Waiting) -> Bool {
        waiting.contains { $0.product == request.product && $0.offerID == request.offerID }
    }

    private mutating func limit() {
        waiting.removeFirst(max(0, waiting.count - Self.waitingMax))
    }

    private func write() throws {
        if waiting.isEmpty { return try FileBytes.delete(path) }
        try FileBytes.replace(path, with: Array(try JSONEncoder().encode(waiting)))
    }
}
