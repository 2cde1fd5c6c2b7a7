import AppStoreClient
import AppStoreFormats
import Ledger

/// Whether the App Store accepts an app's key, for `check`.
struct KeyCheck: Hashable, Sendable {
    let isOK: Bool
    let text: String

    /// Tries the key with both environments of the App Store. Returns nil if the app has no key.
    static func of(_ app: AppConfiguration, _ stores: AppStores) async -> Self? {
        guard let access = app.appStore, let client = stores.client(of: app.settings.id) else {
            return nil
        }
        async let production = failure(client, in: .production)
        async let sandbox = failure(client, in: .sandbox)
        return Self(
            app.settings.id, keyID: access.credentials.keyID, production: await production,
            sandbox: await sandbox)
    }

    private static func failure(
        _ client: AppStoreClient, in environment: StoreEnvironment
    ) async -> AppStoreFailure? {
        do { try await client.verifyKey(in: environment) } catch { return error }
        return nil
    }

    /// - Parameters:
    ///   - production: why production rejected the key; nil if production accepted the key.
    ///   - sandbox: why the sandbox rejected the key; nil if the sandbox accepted the key.
    init(
        _ app: AppID, keyID: String, production: AppStoreFailure?, sandbox: AppStoreFailure?
    ) {
        switch (production, sandbox) {
        case (nil, nil):
            isOK = true
            text = "App Store of \(app): key \(keyID) is accepted"
        case (.unauthorized, nil):
            isOK = true
            text =
                "App Store of \(app): key \(keyID) is accepted by the sandbox, and will be by "
                + "production once the app has been released"
        case (let failure?, _):
            isOK = false
            text = "App Store of \(app): \(failure)\n  \(failure.remedy)"
        case (nil, let failure?):
            isOK = false
            text = "App Store of \(app), sandbox: \(failure)\n  \(failure.remedy)"
        }
    }
}
