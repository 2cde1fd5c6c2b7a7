/// A reduced or free period, and how the customer obtained it.
package struct Offer: Hashable, Sendable {
    package var kind: Kind
    /// The app's name of the offer; nil for an introductory offer.
    package var id: String?

    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case introductory
        case promotional
        case code
        case winBack
        case retention
        /// A kind of offer that Perennial does not know yet.
        case unknown

        /// The name used in the HTTP API and in files.
        package var word: String {
            switch self {
            case .introductory: "introductory"
            case .promotional: "promotional"
            case .code: "code"
            case .winBack: "win_back"
            case .retention: "retention"
            case .unknown: "unknown"
            }
        }
    }

    package init(_ kind: Kind, id: String? = nil) {
        self.kind = kind
        self.id = id
    }
}
