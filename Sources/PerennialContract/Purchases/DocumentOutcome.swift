/// The result for one document of a posting.
public struct DocumentOutcome: Hashable, Sendable, Codable {
    /// The member of the request that contains the document, such as `signed_transactions`.
    public var member: String
    /// The document's position in that member, from 0.
    public var index: Int
    /// The id of the document's transaction. Nil if the document could not be verified, or does not
    /// contain exactly one transaction.
    public var transactionID: String?
    public var outcome: Word
    /// Why the document was not recorded: the code of a problem. Nil if the document was recorded.
    public var code: ProblemCode?

    public init(
        member: String, index: Int, transactionID: String? = nil, outcome: Word,
        code: ProblemCode? = nil
    ) {
        self.member = member
        self.index = index
        self.transactionID = transactionID
        self.outcome = outcome
        self.code = code
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case member
        case index
        case transactionID = "transaction_id"
        case outcome
        case code
    }

    public struct Word: ContractWord {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The document was recorded now.
        public static let kept = Self(rawValue: "kept")
        /// The document was recorded before.
        public static let `repeat` = Self(rawValue: "repeat")
        /// The document will never be recorded. Do not post it again.
        public static let refused = Self(rawValue: "refused")
        /// The document could not be verified at the moment. Post it again later.
        public static let later = Self(rawValue: "later")

        public static let known: [Self] = [kept, `repeat`, refused, later]
    }
}
