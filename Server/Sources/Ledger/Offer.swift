/// A reduced or free period, and how the customer came by it.
package struct Offer: Hashable, Sendable {
    package var kind: Kind
    /// The app's name for it; an introductory offer has none.
    package var id: String?

    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case introductory
        case promotional
        case code
        case winBack
        case retention
        /// A kind that the store has and we do not know yet.
        case unknown

        /// As people and other programs read it.
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
