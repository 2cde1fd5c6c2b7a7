internal import Foundation
internal import PerennialContract

/// Purchase requests that began outside the app. A file stores each request until the app takes it,
/// because the app may end before it is ready for the request.
struct RequestFile: Sendable {
    static let name = "requests-1"
    static let bytesMax = 16_384
    /// The maximum number of requests that are stored. A further request replaces the oldest one.
    static let waitingMax = 20
    /// The age, in milliseconds, at which a request is dropped: three days. By then, a customer no
    /// longer expects a payment sheet for it.
    static let ageMax: Int64 = 3 * 86_400_000

    private let path: String
    private var waiting: [Waiting] = []

    private struct Waiting: Hashable, Sendable, Codable {
        var product: String
        var offerID: String?
        /// When the request arrived, in milliseconds since 1970.
        var since: Int64
    }

    init(folder: DeviceFolder) { path = folder.path(Self.name) }

    /// Reads the requests of an earlier process. A damaged file counts as empty.
    mutating func read() {
        guard let bytes = try? FileBytes.read(path, bytesMax: Self.bytesMax),
            let kept = try? JSONDecoder().decode([Waiting].self, from: Data(bytes))
        else { return }
        for request in kept.reversed() where !contains(request) { waiting.insert(request, at: 0) }
        limit()
    }

    /// Saves a request. A request that already waits is not added again.
    mutating func add(_ request: Perennial.PurchaseRequest, at now: Timestamp) throws {
        let added = Waiting(
            product: request.product.rawValue, offerID: request.offerID, since: now.milliseconds)
        guard !contains(added) else { return }
        waiting.append(added)
        limit()
        try write()
    }

    /// Removes and returns the oldest request. From then on the app is responsible for the request.
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
