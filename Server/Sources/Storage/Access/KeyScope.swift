/// What a secret key may be used for. A key may have several scopes.
package enum KeyScope: String, Hashable, Sendable, CaseIterable {
    /// Reads customers, history, events, and everything else that changes nothing.
    case read
    /// Support actions: grants, transfers, blocks, aliases, and purchases posted for a customer.
    case support
    /// Spends a wallet's balance, and signs offers.
    case money
    /// Everything, including operations that no other scope covers, such as the erasure of a
    /// person.
    case admin
}

extension Set<KeyScope> {
    /// Whether these scopes permit an operation that needs the given scope.
    package func permit(_ needed: KeyScope) -> Bool { contains(.admin) || contains(needed) }

    /// The scopes in a fixed order, separated by commas.
    package var text: String {
        KeyScope.allCases.filter(contains).map(\.rawValue).joined(separator: ",")
    }

    /// Parses scopes as stored in the database.
    static func stored(_ text: String) throws(StorageFailure) -> Self {
        var scopes: Self = []
        for word in text.split(separator: ",") {
            guard let scope = KeyScope(rawValue: String(word)) else {
                throw StorageFailure("unknown scope of a key: use a newer version of Perennial")
            }
            scopes.insert(scope)
        }
        return scopes
    }
}
