extension CustomerID {
    package static let anonymousPrefix = "anon_"
    /// The minimum number of characters after the prefix, so that ids cannot be guessed.
    package static let anonymousCharactersMin = 32

    /// Whether an app created the id for a user who has not signed in. Anyone who knows such an id
    /// may speak for it.
    package var isAnonymous: Bool {
        rawValue.hasPrefix(Self.anonymousPrefix)
            && rawValue.utf8.count >= Self.anonymousPrefix.utf8.count + Self.anonymousCharactersMin
    }
}
