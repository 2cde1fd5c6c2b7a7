import AppStoreFormats

/// The app on a device: which version, and where it was installed from.
struct InstalledApp: Hashable, Sendable {
    /// Where a copy of the app comes from. Purchases of different sources are separate.
    enum Source: String, Hashable, Sendable, CaseIterable {
        case store
        /// A copy from TestFlight, which buys in the sandbox. Its subscriptions renew daily.
        case testFlight = "testflight"
        /// A copy from Xcode, which buys from a file in Xcode: no notifications are sent, and
        /// documents say `Xcode`.
        case xcode
    }

    var version = World.bundleVersion
    /// The bundle id of another app; nil for the world's own app.
    var bundleID: String?
    var appAppleID: Int64?
    var source: Source?
    /// How many times the app was reinstalled.
    var reinstallCount = 0
    var launchCount = 1

    /// The suffix of the accounts whose purchases belong to this copy of the app. Empty for copies
    /// of the world's app from the App Store and TestFlight.
    var accountSuffix: String {
        (bundleID.map { "+" + $0 } ?? "") + (source == .xcode ? "+xcode" : "")
    }
}

/// A change of the app on a device. A member that is nil changes nothing.
struct AppChange: Sendable {
    var version: String?
    /// The version that the account first obtained.
    var originalVersion: String?
    var source: InstalledApp.Source?
    var bundleID: String?
    var appAppleID: Int64?
    var reinstalls = false
}
