import AppStoreFormats
import Foundation

/// Notifications, and functions that send them.
enum Stream {
    private static let senders = 8
    /// The maximum number of attempts to get one notification acknowledged.
    private static let attemptsMax = 600

    /// The payloads of all notifications about two hundred subscribers and ten months of renewals.
    static func notifications(from simulator: Wire) async throws -> [String] {
        for number in 1...200 {
            try await simulator.post("/_sim/devices", ["account": .string("c\(number)")])
            try await simulator.post(
                "/_sim/devices/c\(number)-1/purchases", ["product_id": "pro.monthly"])
        }
        try await simulator.post("/_sim/clock", ["advance": "P310D"])
        let sent = try await simulator.get("/_sim/notifications")
        return (sent["notifications"]?.array ?? []).compactMap { $0["signed_payload"]?.string }
    }

    /// Sends each notification once. Stops when no server responds.
    static func sendOnce(
        _ notifications: [String], to server: Wire, _ acknowledged: Acknowledged
    ) async {
        await withTaskGroup { group in
            for sender in 0..<senders {
                group.addTask {
                    for index in stride(from: sender, to: notifications.count, by: senders) {
                        guard let status = await status(of: notifications[index], at: server)
                        else { return }
                        if status == 200 { acknowledged.add(notifications[index]) }
                    }
                }
            }
        }
    }

    /// Sends each notification to the servers in turn, until one acknowledges it.
    static func send(
        _ notifications: [String], to servers: [Wire], _ acknowledged: Acknowledged
    ) async {
        await withTaskGroup { group in
            for sender in 0..<senders {
                group.addTask {
                    for index in stride(from: sender, to: notifications.count, by: senders) {
                        await insist(on: notifications[index], index, servers, acknowledged)
                    }
                }
            }
        }
    }

    private static func insist(
        on payload: String, _ number: Int, _ servers: [Wire], _ acknowledged: Acknowledged
    ) async {
        for attempt in 0..<attemptsMax {
            let server = servers[(number + attempt) % servers.count]
            let status = await status(of: payload, at: server)
            if status == 200 { return acknowledged.add(payload) }
            if let status { acknowledged.add(refusal: status) }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Sends each notification once, to the servers in turn. Returns how often each status was the
    /// response. The status is nil if no server responded.
    static func statuses(of notifications: [String], at servers: [Wire]) async -> [Int?: Int] {
        await withTaskGroup(of: [Int?: Int].self) { group in
            for sender in 0..<2 * senders {
                group.addTask {
                    var found: [Int?: Int] = [:]
                    for index in stride(from: sender, to: notifications.count, by: 2 * senders) {
                        let server = servers[index / (2 * senders) % servers.count]
                        let status = await status(of: notifications[index], at: server)
                        found[status, default: 0] += 1
                    }
                    return found
                }
            }
            return await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
    }

    /// Returns nil if the server did not respond.
    private static func status(of payload: String, at server: Wire) async -> Int? {
        let body: JSON = ["signedPayload": .string(payload)]
        return try? await server.send("POST", "/apple/notifications", body: body.bytes).status
    }
}
