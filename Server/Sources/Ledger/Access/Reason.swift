/// Why access is open or shut, as one sentence for people.
package enum Reason: Hashable, Sendable {
    case paid(until: Instant, Continuation)
    case trial(until: Instant, Continuation)
    case offer(Offer.Kind, until: Instant, Continuation)
    case owned(since: Instant)
    /// The app itself was bought, at the given version.
    case ownedApp(since: Instant, version: AppVersion)
    case grace(until: Instant)
    case unconfirmed(since: Instant, until: Instant)
    case upgradedToUnknown(until: Instant)
    /// The App Store could not collect the renewal, and keeps trying. The values are the time when
    /// the renewal was due, and the end of the grace period that followed.
    case retrying(due: Instant, graceUntil: Instant?)
    /// The period ended, for the given reason. If the App Store could not collect a payment, `at`
    /// is when the renewal was due.
    case ended(at: Instant, Renewal.Ending?)
    case neverConfirmed(end: Instant, held: Instant)
    /// The payment was refunded. The number is the refunded share in thousandths of a percent; nil
    /// if the App Store does not report it.
    case refunded(at: Instant, Int64?)
    case sharingEnded(at: Instant)
    /// The group or the organization took the seat back.
    case seatRevoked(at: Instant)
    /// More members have joined than there are seats.
    case seatsTaken
    case changed(to: ProductID, at: Instant)
    /// A term ended. Terms do not renew.
    case termEnded(at: Instant)
    /// A manual grant.
    case granted(until: Instant?)
    case grantEnded(at: Instant)

    package var sentence: String {
        switch self {
        case .paid(let until, let next): "Paid until \(until.minute)\(next.clause)."
        case .trial(let until, let next): "Free trial until \(until.minute)\(next.clause)."
        case .offer(let kind, let until, let next):
            "On \(Self.offer(kind)) until \(until.minute)\(next.clause)."
        case .owned(let since): "Bought on \(since.minute), to keep."
        case .ownedApp(let since, let version):
            "The paid app was bought on \(since.minute), at version \(version)."
        case .grace(let until):
            "The App Store could not collect the renewal and grants a grace period until "
                + "\(until.minute)."
        case .unconfirmed(let since, let until):
            "The period ended on \(since.minute) and the App Store has not said whether it was "
                + "renewed; held open until \(until.minute)."
        case .upgradedToUnknown(let until):
            "Upgraded to a product that the App Store has not named yet; held open until "
                + "\(until.minute)."
        case .retrying(let due, nil):
            "The App Store could not collect the renewal of \(due.minute) and keeps trying."
        case .retrying(let due, let grace?):
            "The App Store could not collect the renewal of \(due.minute), the grace period ended "
                + "on \(grace.minute), and the App Store keeps trying."
        case .ended(let due, .billing):
            "Ended because the App Store could not collect the renewal of \(due.minute)."
        case .ended(let at, let ending): "\(Self.cause(ending)) on \(at.minute)."
        case .neverConfirmed(let end, let held):
            "The period ended on \(end.minute), was held open until \(held.minute), and the App "
                + "Store never confirmed a renewal."
        case .refunded(let at, let share): "Refunded\(Self.part(share)) on \(at.minute)."
        case .sharingEnded(let at): "No longer shared by the family since \(at.minute)."
        case .seatRevoked(let at): "The seat was taken back on \(at.minute)."
        case .seatsTaken:
            "There is no seat: the group has more members than seats, and others joined earlier."
        case .changed(let product, let at): "Changed to \(product) on \(at.minute)."
        case .termEnded(let at): "The time that was bought ended on \(at.minute)."
        case .granted(let until):
            "Granted\(until.map { " until \($0.minute)" } ?? "")."
        case .grantEnded(let at): "The grant ended on \(at.minute)."
        }
    }

    private static func offer(_ kind: Offer.Kind) -> String {
        switch kind {
        case .introductory: "an introductory offer"
        case .promotional: "a promotional offer"
        case .code: "an offer code"
        case .winBack: "a win-back offer"
        case .retention: "a retention offer"
        case .unknown: "an offer"
        }
    }

    /// The refunded share in a sentence, such as ` in part (25.5 %)`. Empty if everything was
    /// refunded or the share is unknown.
    private static func part(_ thousandths: Int64?) -> String {
        guard let thousandths, thousandths < Percentage.whole else { return "" }
        let (percent, rest) = thousandths.quotientAndRemainder(dividingBy: Percentage.onePercent)
        return " in part (\(percent)\(rest == 0 ? "" : ".\(rest / 100)") %)"
    }

    private static func cause(_ ending: Renewal.Ending?) -> String {
        switch ending {
        case .cancelled: "Cancelled by the customer, and ended"
        case .priceNotAgreed: "Ended because a higher price was not agreed to,"
        case .productUnavailable: "Ended because the product is no longer sold,"
        case .other, .billing: "Ended"
        case nil: "Ended, as renewal was switched off,"
        }
    }
}
