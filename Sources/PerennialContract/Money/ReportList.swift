/// The reports there are: `GET /v1/reports`.
public struct ReportList: Hashable, Sendable, Codable {
    public var items: [Definition]

    public init(items: [Definition]) { self.items = items }

    /// One report, without its numbers.
    public struct Definition: Hashable, Sendable, Codable {
        public var name: String
        public var version: Int
        public var title: String
        public var sentence: String
        public var columns: [Report.Column]

        public init(
            name: String, version: Int, title: String, sentence: String, columns: [Report.Column]
        ) {
            self.name = name
            self.version = version
            self.title = title
            self.sentence = sentence
            self.columns = columns
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case name
            case version
            case title
            case sentence
            case columns
        }
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
    }
}
