import AppStoreFormats
import Engine
import Testing

/// A rebuild beside servers that work.
@Suite(.serialized) struct RebuildStories {
    @Test(.timeLimit(.minutes(45)), arguments: [true, false])
    func `a rebuild ends while documents go on to arrive that were signed before the last`(
        verifyOnly: Bool
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let notifications = Array(
                try await Stream.notifications(from: shop.simulator).reversed())
            let first = notifications.prefix(300)
            for payload in first { try await Self.post(payload, to: shop) }
            async let arriving = Self.postAll(notifications.dropFirst(300), to: shop)
            let report = try await shop.engine.rebuild(verifyOnly: verifyOnly)
            #expect(report.isClean, "\(report)")
            #expect(report.documents < notifications.count, "it waited for the last one")
            try await arriving
            let quiet = try await shop.engine.rebuild(verifyOnly: true)
            #expect(quiet.isClean && quiet.documents == notifications.count, "\(quiet)")
        }
    }

    private static func post(_ payload: String, to shop: Shop) async throws {
        let body: JSON = ["signedPayload": .string(payload)]
        _ = try await shop.engine.record(notification: body.bytes)
    }

    private static func postAll(
        _ payloads: ArraySlice<String>, to shop: Shop
    ) async throws {
        for payload in payloads {
            try await post(payload, to: shop)
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
