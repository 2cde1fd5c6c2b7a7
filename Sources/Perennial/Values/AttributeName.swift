extension Perennial {
    /// The name of an attribute of a customer: a name of your own, or a reserved name, which begins
    /// with `$`. At most 40 characters of ASCII: first a letter, or `$` and a letter; then letters,
    /// digits, `_` and `-`.
    public struct AttributeName: RawRepresentable, Hashable, Sendable, Codable,
        ExpressibleByStringLiteral
    {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }

        /// The mail address, by which support finds the customer.
        public static let email: Self = "$email"
        public static let displayName: Self = "$displayName"
        public static let phoneNumber: Self = "$phoneNumber"
        /// The tokens for push messages by Apple.
        public static let apnsTokens: Self = "$apnsTokens"
        /// The tokens for push messages by Firebase.
        public static let fcmTokens: Self = "$fcmTokens"
    }
}
