import PerennialContract

/// A word with its colour and shape. The word is always there.
struct Chip: Hashable, Sendable {
    var word: String
    var look: Look

    enum Look: Sendable {
        case open, trial, warn, hand, warnShut, shut, bad, badShut, plain, neutral

        var classes: Markup {
            switch self {
            case .open: " open"
            case .trial: " trial"
            case .warn: " warn"
            case .hand: " hand"
            case .warnShut: " warn shut"
            case .shut: " shut"
            case .bad: " bad"
            case .badShut: " bad shut"
            case .plain: " plain"
            case .neutral: ""
            }
        }
    }

    init(_ word: String, _ look: Look) {
        self.word = word
        self.look = look
    }

    /// A state of access. A state that this version does not know has no colour.
    init(_ state: AccessState) {
        self.init(state.rawValue, Self.looks[state] ?? .neutral)
    }

    private static let looks: [AccessState: Look] = [
        .paid: .open, .owned: .open, .unconfirmed: .open, .trial: .trial, .offer: .trial,
        .grace: .warn, .granted: .hand, .retry: .warnShut, .expired: .shut, .refunded: .bad,
        .revoked: .badShut,
    ]

    var markup: Markup { "<span class=\"chip\(look.classes)\">\(.bdi(word))</span>" }
}
