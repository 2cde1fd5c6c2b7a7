extension Perennial {
    /// The name of an entitlement in `perennial.yaml`. Declare the name once in an extension, and
    /// use it everywhere:
    ///
    ///     extension Perennial.EntitlementID { static let pro: Self = "pro" }
    public struct EntitlementID: RawRepresentable, Hashable, Sendable, Codable,
        ExpressibleByStringLiteral
    {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }
    }

    /// The id of a product in App Store Connect.
    public struct ProductID: RawRepresentable, Hashable, Sendable, Codable,
        ExpressibleByStringLiteral
    {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }
    }

    /// The name of a placement in `perennial.yaml`: a place in the app where products are offered.
    public struct PlacementID: RawRepresentable, Hashable, Sendable, Codable,
        ExpressibleByStringLiteral
    {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }
    }

    /// The name of a wallet in `perennial.yaml`.
    public struct WalletID: RawRepresentable, Hashable, Sendable, Codable,
        ExpressibleByStringLiteral
    {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }
    }
}
