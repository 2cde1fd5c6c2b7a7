/// A report about money or subscriptions: `GET /v1/reports/{name}`.
public struct Report: Hashable, Sendable, Codable {
    /// A name that is unique among all definitions, such as `perennial.mrr` or `revenuecat.mrr`.
    public var id: String
    public var name: String
    /// The version of the definition. Do not compare numbers of different versions.
    public var version: Int
    /// The service whose definition the report uses: `revenuecat` or `apphud`. Nil for Perennial's
    /// definition.
    public var profile: String?
    public var title: String
    /// The question that the report answers.
    public var sentence: String
    public var environment: StoreEnvironment
    /// The first and the last day of the report in its time zone, such as `2026-11-21`.
    public var from: String
    public var to: String
    /// The length of a row's period: `day`, `week`, `month`, `quarter` or `year`.
    public var by: String
    public var timeZone: String
    /// The property by which rows are divided: `product`, `group`, `country`, `offer` or `price`.
    /// Nil if they are not divided.
    public var segment: String?
    /// The currency to which amounts are converted. Nil if each currency is shown separately.
    public var currency: String?
    /// The day of the first exchange rate that was used. ``ratesTo`` has the day of the last rate.
    /// Nil if no rate was used.
    public var ratesFrom: String?
    public var ratesTo: String?
    /// Currencies without a rate. Their rows are not converted.
    public var unconverted: [String]
    /// The past time whose state of knowledge the report uses. Nil if the report uses all that is
    /// known now.
    public var asKnownAt: Timestamp?
    /// Whether refunds that were reversed are left out, as if they had never been given. Nil in
    /// responses of earlier versions.
    public var isRestated: Bool?
    /// Whether rows of earlier purchases are still being derived. If true, the numbers are too
    /// small.
    public var isFilling: Bool
    /// The report contains all changes that the server knew at this time, or earlier. This is the
    /// time when the report was made, unless it was read from a standby that is behind, or
    /// ``asKnownAt`` is earlier. Nil while ``isFilling`` is true, and in responses of earlier
    /// versions.
    public var completeUntil: Timestamp?
    public var columns: [Column]
    public var rows: [Row]

    public init(
        id: String, name: String, version: Int, profile: String?, title: String,
        sentence: String, environment: StoreEnvironment, from: String, to: String, by: String,
        timeZone: String,
        segment: String?, currency: String?, ratesFrom: String?, ratesTo: String?,
        unconverted: [String], asKnownAt: Timestamp?, isRestated: Bool? = nil, isFilling: Bool,
        completeUntil: Timestamp? = nil, columns: [Column], rows: [Row]
    ) {
        self.id = id
        self.name = name
        self.version = version
        self.profile = profile
        self.title = title
        self.sentence = sentence
        self.environment = environment
        self.from = from
        self.to = to
        self.by = by
        self.timeZone = timeZone
        self.segment = segment
        self.currency = currency
        self.ratesFrom = ratesFrom
        self.ratesTo = ratesTo
        self.unconverted = unconverted
        self.asKnownAt = asKnownAt
        self.isRestated = isRestated
        self.isFilling = isFilling
        self.completeUntil = completeUntil
        self.columns = columns
        self.rows = rows
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case id
        case name
        case version
        case profile
        case title
        case sentence
        case environment
        case from
        case to
        case by
        case timeZone = "time_zone"
        case segment
        case currency
        case ratesFrom = "rates_from"
        case ratesTo = "rates_to"
        case unconverted
        case asKnownAt = "as_known_at"
        case isRestated = "is_restated"
        case isFilling = "is_filling"
        case completeUntil = "complete_until"
        case columns
        case rows
    }

    /// The meaning of the values at one position of each row.
    public struct Column: Hashable, Sendable, Codable {
        public var name: String
        /// The unit of the values: `money` (a decimal number in the row's currency), `count` (a
        /// whole number) or `percent`.
        public var unit: String
        public var sentence: String
        /// Whether `/transactions` lists the movements behind a number of the column.
        public var opens: Bool

        public init(name: String, unit: String, sentence: String, opens: Bool) {
            self.name = name
            self.unit = unit
            self.sentence = sentence
            self.opens = opens
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case name
            case unit
            case sentence
            case opens
        }
    }

    /// The values of one period, in one currency and one part of the division.
    public struct Row: Hashable, Sendable, Codable {
        /// The first and the last day of the period.
        public var from: String
        public var to: String
        /// Whether the period is not over, so that its values may still change.
        public var isIncomplete: Bool
        /// The currency. Nil in reports that only count, and for purchases without a known price.
        public var currency: String?
        /// The row's part of the division, such as a product. Nil if rows are not divided, or if
        /// the documents do not say.
        public var part: String?
        /// Decimal numbers as text, in the order of the columns. An empty text means that there is
        /// no value, such as a percentage whose whole is zero.
        public var values: [String]

        public init(
            from: String, to: String, isIncomplete: Bool, currency: String?, part: String?,
            values: [String]
        ) {
            self.from = from
            self.to = to
            self.isIncomplete = isIncomplete
            self.currency = currency
            self.part = part
            self.values = values
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case from
            case to
            case isIncomplete = "is_incomplete"
            case currency
            case part
            case values
        }
    }
}
