import Crypto
import Engine
import Ledger

/// The keys of `perennial dev`: everybody can read them here, so no real server lets anybody in by
/// them.
enum DevelopmentKeys {
    static func keys(of app: AppID) -> [(key: String, kind: KeyKind)] {
        [("pk_dev_\(app)", .app), ("sk_dev_\(app)", .secret)]
    }

    /// What a server of these apps refuses, whatever its database holds.
    static func all(of apps: [AppID]) -> Set<String> {
        Set((apps + ["birds"]).flatMap { keys(of: $0).map(\.key) })
    }

    /// How the hash of a key begins, as `perennial keys list` shows it.
    static func hashBeginning(of key: String) -> String {
        SHA256.hash(data: Array(key.utf8)).prefix(4)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
