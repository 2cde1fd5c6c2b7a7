import Crypto
import Engine
import Ledger
import Storage

/// The keys of `perennial dev`. These keys are public, so real servers never accept them.
enum DevelopmentKeys {
    static func keys(of app: AppID) -> [(key: String, kind: KeyKind)] {
        [("pk_dev_\(app)", .app), ("sk_dev_\(app)", .secret)]
    }

    /// The keys that a server of these apps rejects, even if its database contains them.
    static func all(of apps: [AppID]) -> Set<String> {
        Set((apps + ["birds"]).flatMap { keys(of: $0).map(\.key) })
    }

    /// The start of a key's hash, as shown by `perennial keys list`.
    static func hashBeginning(of key: String) -> String {
        Hexadecimal.text(Array(SHA256.hash(data: Array(key.utf8)).prefix(4)))
    }
}
