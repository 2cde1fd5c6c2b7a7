import Ledger
import Storage
import Testing

@testable import Engine

/// Concurrent changes of one webhook.
@Suite struct WebhookChangeTests {
    private static let now = Instant(milliseconds: 1_795_248_000_000)
    private static let birds = AppSettings(
        id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]])

    @Test func `two concurrent changes to different settings of a webhook both take effect`()
        async throws
    {
        let engine = try await Engine.empty(Self.birds, at: Self.now)
        let id = try await engine.webhooks.add(
            WebhookSettings(url: "https://example.com/"), secret: nil, isPaused: true, of: "birds"
        ).id
        // One task changes only the URL, the other only the authorization.
        async let urls: Void = {
            for round in 0..<2_000 {
                let url = "https://example.com/\(round)"
                let changed = try await engine.webhooks.change(id, .url(url), of: "birds")
                #expect(changed.settings.url == url)
            }
        }()
        async let authorizations: Void = {
            for round in 0..<2_000 {
                let value = "Bearer \(round)"
                let changed = try await engine.webhooks.change(
                    id, .authorization(value), of: "birds")
                #expect(changed.settings.authorization == value)
            }
        }()
        _ = try await (urls, authorizations)
        let settings = try await engine.webhooks.find(id, of: "birds").settings
        #expect(settings.url.hasSuffix("/1999") && settings.authorization == "Bearer 1999")
    }
}

extension WebhookChange {
    fileprivate static func url(_ url: String) -> Self {
        var change = Self()
        change.url = url
        return change
    }

    fileprivate static func authorization(_ value: String) -> Self {
        var change = Self()
        change.authorization = value
        return change
    }
}
