/// The actions on the phone's page: the values of the button `act` in its form.
package enum PhoneAct: Hashable, Sendable {
    /// Lets time pass.
    case pass(PhonePeriod)
    /// Moves to the next event that happens automatically.
    case goToDue
    case startOver
    /// Opens the payment sheet of a product.
    case openSheet(String)
    case confirmSheet
    case closeSheet
    /// Adds a seat to the order on the open sheet, or removes one.
    case moreSeats
    case fewerSeats
    /// Opens the screen with the group, or closes it.
    case switchGroup
    /// Makes an invitation to the group.
    case invite
    /// Another person joins the group with the invitation.
    case join
    /// The purchaser ends the claim of a member.
    case remove(String)
    /// A member ends their own claim.
    case leave(String)
    /// Switches renewal on or off.
    case switchRenewal
    /// Switches whether the card works, or is refused.
    case switchCard
    /// Opens the screen with the choices about family and privacy, or closes it.
    case switchScreen
    /// Switches whether a parent is asked before each purchase.
    case switchParent
    case switchFamily
    /// Switches whether the app may report to Apple how purchases were used.
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
        "other": .restoreAsOther, "more": .moreSeats, "fewer": .fewerSeats,
        "group": .switchGroup, "invite": .invite, "join": .join,
    ]
    private static let names = Dictionary(uniqueKeysWithValues: plain.map { ($0.value, $0.key) })
    private static let (sheetName, removeName, leaveName) = ("sheet ", "remove ", "leave ")
    /// The maximum number of bytes of the id of a product or claim.
    static let idBytesMax = 255

    /// Returns nil if no button has this value.
    package init?(name: String) {
        if let act = Self.plain[name] {
            self = act
            return
        }
        let prefix = [Self.sheetName, Self.removeName, Self.leaveName].first(where: name.hasPrefix)
        guard let prefix else { return nil }
        let id = String(name.dropFirst(prefix.count))
        guard !id.isEmpty, id.utf8.count <= Self.idBytesMax else { return nil }
        switch prefix {
        case Self.sheetName: self = .openSheet(id)
        case Self.removeName: self = .remove(id)
        default: self = .leave(id)
        }
    }

    /// The value of the button.
    package var name: String {
        if case .openSheet(let product) = self { return Self.sheetName + product }
        if case .remove(let claim) = self { return Self.removeName + claim }
        if case .leave(let claim) = self { return Self.leaveName + claim }
        return Self.names[self] ?? ""
    }
}

/// A button of the page's form.
struct PhoneButton {
    var act: PhoneAct
    /// Whether the next step of the tour needs the button.
    var isHinted: Bool
    var isDisabled = false

    /// The attributes of the button's element, in addition to its other classes.
    func attributes(_ classes: Markup) -> Markup {
        let all: Markup = isHinted ? "\(classes) hint" : classes
        return """
            type="submit" name="act" value="\(act.name)" class="\(all)"\
            \(isDisabled ? " disabled" : "")
            """
    }
}
