import AppStoreFormats

/// The addresses of the production and sandbox environments.
package struct AppStoreHosts: Hashable, Sendable {
    package let production: String
    package let sandbox: String

    /// - Parameters: addresses, such as `https://api.storekit.apple.com`; a trailing slash is
    ///   removed.
    package init(production: String, sandbox: String) {
        self.production = Self.withoutSlash(production)
        self.sandbox = Self.withoutSlash(sandbox)
    }

    /// Apple's host names since May 2026.
    package static let apple = Self(
        production: "https://api.storekit.apple.com",
        sandbox: "https://api.storekit-sandbox.apple.com")
    /// Apple's earlier host names, which still work. They are for firewalls that allow only them.
    package static let appleBefore2026 = Self(
        production: "https://api.storekit.itunes.apple.com",
        sandbox: "https://api.storekit-sandbox.itunes.apple.com")

    /// The host name of the App Store Connect API, which has no sandbox.
    package static let appleConnect = Self(
        production: "https://api.appstoreconnect.apple.com",
        sandbox: "https://api.appstoreconnect.apple.com")

    /// The host names of verifyReceipt.
    package static let appleReceipts = Self(
        production: "https://buy.itunes.apple.com", sandbox: "https://sandbox.itunes.apple.com")

    /// The addresses of a simulator. The simulator serves its sandbox under another path.
    package static func simulator(_ url: String) -> Self {
        let url = withoutSlash(url)
        return Self(production: url, sandbox: url + "/sandbox")
    }

    func url(of environment: StoreEnvironment) -> String {
        environment == .production ? production : sandbox
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
