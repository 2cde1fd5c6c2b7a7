/// What one can do on the phone's page: the value of the button `act` in its form.
package enum PhoneAct: Hashable, Sendable {
    /// Lets time pass.
    case pass(PhonePeriod)
    /// Goes to the next thing that happens by itself.
    case goToDue
    case startOver
    /// Opens the payment sheet of a product.
    case openSheet(String)
    case confirmSheet
    case closeSheet
    /// Switches renewal on or off.
    case switchRenewal
    /// The card works, or is refused.
    case switchCard
    /// Opens the screen with the choices about family and privacy, or closes it.
    case switchScreen
    /// Whether a parent is asked before each purchase.
    case switchParent
    case switchFamily
    /// Whether the app may tell Apple how purchases were used.
    case switchConsumption
    case requestRefund
    case restoreElsewhere
    case approve
    case decline
    /// Another customer restores the purchases on this phone.
    case restoreAsOther

    private static let plain: [String: PhoneAct] = [
        "day": .pass(PhonePeriod(1, .day)), "week": .pass(PhonePeriod(1, .week)),
        "month": .pass(PhonePeriod(1, .month)), "year": .pass(PhonePeriod(1, .year)),
        "due": .goToDue, "over": .startOver, "yes": .confirmSheet, "no": .closeSheet,
        "renew": .switchRenewal, "card": .switchCard, "choices": .switchScreen,
        "parent": .switchParent,
        "family": .switchFamily, "consumption": .switchConsumption, "refund": .requestRefund,
        "restore": .restoreElsewhere, "approve": .approve, "decline": .decline,
        "other": .restoreAsOther,
    ]
    private static let names = Dictionary(uniqueKeysWithValues: plain.map { ($0.value, $0.key) })
    private static let sheet = "sheet "
    /// The maximum number of bytes of a product's id.
    static let productBytesMax = 255

    /// Returns nil if no button has this value.
    package init?(name: String) {
        if let act = Self.plain[name] {
            self = act
            return
        }
        let product = name.dropFirst(Self.sheet.count)
        guard name.hasPrefix(Self.sheet), !product.isEmpty,
            product.utf8.count <= Self.productBytesMax
        else { return nil }
        self = .openSheet(String(product))
    }

    /// The value of the button.
    package var name: String {
        if case .openSheet(let product) = self { return Self.sheet + product }
        return Self.names[self] ?? ""
    }
}

/// A button of the page's form.
struct PhoneButton {
    var act: PhoneAct
    /// Whether the next step of the tour needs it.
    var isHinted: Bool
    var isDisabled = false

    /// The attributes of the element, beside its other classes.
    func attributes(_ classes: Markup) -> Markup {
        let all: Markup = isHinted ? "\(classes) hint" : classes
        return """
            type="submit" name="act" value="\(act.name)" class="\(all)"\
            \(isDisabled ? " disabled" : "")
            """
    }
}
