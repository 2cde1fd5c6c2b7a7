import AppStoreFormats

/// Where the two stores listen.
package struct AppStoreHosts: Hashable, Sendable {
    package let production: String
    package let sandbox: String

    /// - Parameters: addresses, such as `https://api.storekit.apple.com`; a slash at the end is
    ///   left out.
    package init(production: String, sandbox: String) {
        self.production = Self.withoutSlash(production)
        self.sandbox = Self.withoutSlash(sandbox)
    }

    /// Apple's names since May 2026.
    package static let apple = Self(
        production: "https://api.storekit.apple.com",
        sandbox: "https://api.storekit-sandbox.apple.com")
    /// Apple's names before, which still answer: for a firewall that knows only them.
    package static let appleBefore2026 = Self(
        production: "https://api.storekit.itunes.apple.com",
        sandbox: "https://api.storekit-sandbox.itunes.apple.com")

    /// Where verifyReceipt is.
    package static let appleReceipts = Self(
        production: "https://buy.itunes.apple.com", sandbox: "https://sandbox.itunes.apple.com")

    /// A simulator, which has its sandbox in a folder.
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
