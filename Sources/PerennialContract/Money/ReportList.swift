/// All reports: `GET /v1/reports`.
public struct ReportList: Hashable, Sendable, Codable {
    public var items: [Definition]

    public init(items: [Definition]) { self.items = items }

    /// One report, without its numbers.
    public struct Definition: Hashable, Sendable, Codable {
        /// A name that is unique among all definitions, such as `perennial.mrr` or
        /// `revenuecat.mrr`.
        public var id: String
        public var name: String
        public var version: Int
        /// The service whose definition the report uses: `revenuecat` or `apphud`. Nil for
        /// Perennial's definition.
        public var profile: String?
        public var title: String
        public var sentence: String
        public var columns: [Report.Column]

        public init(
            id: String, name: String, version: Int, profile: String?, title: String,
            sentence: String, columns: [Report.Column]
        ) {
            self.id = id
            self.name = name
            self.version = version
            self.profile = profile
            self.title = title
            self.sentence = sentence
            self.columns = columns
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case id
            case name
            case version
            case profile
            case title
            case sentence
            case columns
        }
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
    }
}
