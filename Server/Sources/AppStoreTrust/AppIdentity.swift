import AppStoreFormats

/// The app that a document is expected to be for. Our configuration chooses it, never the sender of
/// the document.
package struct AppIdentity: Hashable, Sendable {
    package var bundleID: String
    /// Apple's number for the app. Nil if documents are not checked for it.
    package var appAppleID: Int64?
    /// The environments from which documents are accepted. Environments other than production and
    /// sandbox are refused, even if they are listed here.
    package var environments: Set<StoreEnvironment>

    package init(bundleID: String, appAppleID: Int64?, environments: Set<StoreEnvironment>) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environments = environments
    }
}

extension AppIdentity {
    /// Apple's two environments. In any other environment, anybody can sign documents.
    static let trustedEnvironments: Set<StoreEnvironment> = [.production, .sandbox]

    func requireBundle(_ found: String?) throws(Refusal) {
        guard let found else { throw .missing("bundleId") }
        guard found == bundleID else {
            throw Refusal(.wrongBundle, expected: bundleID, found: found)
        }
    }

    /// Checks Apple's number only in production, as Apple's own libraries do: in the sandbox it is
    /// absent or made up.
    func requireAppleID(_ found: Int64?, in environment: StoreEnvironment?) throws(Refusal) {
        guard environment == .production, let appAppleID, found != appAppleID else { return }
        throw Refusal(
            .wrongAppAppleID, expected: "\(appAppleID)", found: found.map { "\($0)" } ?? "none")
    }

    func requireEnvironment(_ found: StoreEnvironment?) throws(Refusal) -> StoreEnvironment {
        guard let found else { throw .missing("environment") }
        guard Self.trustedEnvironments.contains(found) else {
            throw Refusal(
                .environmentNeverTrusted, expected: "Production or Sandbox", found: found.rawValue)
        }
        guard environments.contains(found) else {
            throw Refusal(.wrongEnvironment, expected: environmentNames, found: found.rawValue)
        }
        return found
    }

    /// The environment that is assumed for a document without an environment: production if the app
    /// accepts production, otherwise the sandbox.
    func usualEnvironment() throws(Refusal) -> StoreEnvironment {
        try requireEnvironment(environments.contains(.production) ? .production : .sandbox)
    }

    private var environmentNames: String {
        let names = environments.intersection(Self.trustedEnvironments).map(\.rawValue).sorted()
        return names.isEmpty ? "none" : names.joined(separator: " or ")
    }
}

extension Refusal {
    static func missing(_ field: String) -> Refusal {
        Refusal(.fieldMissing, expected: "one", found: "no \(field)")
    }
}
