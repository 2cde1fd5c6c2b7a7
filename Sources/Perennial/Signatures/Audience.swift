internal import PerennialContract

/// The app and the environment for which a signed text must have been made.
struct Audience: Hashable, Sendable {
    /// The suffix that follows the issuer, and the app's name, in texts that are signed for the
    /// sandbox.
    static let sandboxSuffix = "/sandbox"

    /// The app's name in the server's configuration. Nil if the name is not known yet.
    var app: String?
    var environment: StoreEnvironment

    /// The app's name in the claims. Nil if the claims `iss`, `aud` and `environment` are not for
    /// this audience.
    func app(of claims: SignedJSON) -> String? {
        guard claims["environment"]?.string == environment.rawValue,
            Self.name(claims["iss"]?.string, in: environment) != nil,
            let name = Self.name(claims["aud"]?.string, in: environment)
        else { return nil }
        return app == nil || app == name ? name : nil
    }

    /// The name in a claim, without the suffix. Nil unless the suffix is present in the sandbox,
    /// and absent in production.
    private static func name(_ text: String?, in environment: StoreEnvironment) -> String? {
        guard let text, text.hasSuffix(sandboxSuffix) == (environment == .sandbox) else {
            return nil
        }
        let name = environment == .sandbox ? String(text.dropLast(sandboxSuffix.count)) : text
        return name.isEmpty ? nil : name
    }
}
