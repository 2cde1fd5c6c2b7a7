extension CustomerID {
    package static let anonymousPrefix = "anon_"
    /// The beginning of the ids that RevenueCat's SDK makes for users who have not signed in.
    package static let revenueCatAnonymousPrefix = "$RCAnonymousID:"
    /// The minimum number of characters after the prefix, so that ids cannot be guessed.
    package static let anonymousCharactersMin = 32

    /// Whether an app created the id for a user who has not signed in. Anyone who knows such an id
    /// may act as its customer.
    package var isAnonymous: Bool {
        isLong(after: Self.anonymousPrefix) || isLong(after: Self.revenueCatAnonymousPrefix)
    }

    private func isLong(after prefix: String) -> Bool {
        rawValue.hasPrefix(prefix)
            && rawValue.utf8.count >= prefix.utf8.count + Self.anonymousCharactersMin
    }
}
