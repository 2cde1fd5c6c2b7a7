import Dashboard

/// The notice on the page after an act. A cookie contains the notice's word until that page is
/// shown. A notice contains no other text from a request.
enum DashboardNotice: String, CaseIterable, Sendable {
    case granted, withdrawn, moved, undone, blocked, unblocked, answered, debited, erased
    case walletCredited = "credited"
    case consentRefused = "consent_refused"
    case grantedBefore = "granted_before"
    case paused, resumed, tested, replayed, deleted
    case invitationWithdrawn = "invitation_withdrawn"
    case seatReleased = "seat_released"
    case retried
    case retryNotDue = "retry_not_due"
    case retryAddressGone = "retry_address_gone"
    case alwaysSignedIn = "always_signed_in"
    case operatorBlocked = "operator_blocked"
    case operatorUnblocked = "operator_unblocked"
    case roleChanged = "role_changed"
    case linkWithdrawn = "link_withdrawn"
    case signedOutEverywhere = "signed_out_everywhere"
    case passwordChanged = "password_changed"
    case testAsked = "test_asked"
    case passkeyAdded = "passkey_added"
    case passkeyRenamed = "passkey_renamed"
    case passkeyRemoved = "passkey_removed"

    /// The name of the cookie.
    static let cookie = "notice"
    /// How long the cookie is valid, in seconds.
    static let secondsMax = 60

    var notice: Notice {
        switch self {
        case .granted: Notice(.done, "Access was given.", "It is open now.")
        case .grantedBefore:
            Notice(
                .warning, "This access was given before, and has ended since.",
                "To give it again, use the button on this page.")
        case .withdrawn: Notice(.done, "The grant was taken back.")
        case .moved:
            Notice(
                .done, "The purchase was moved here.",
                "An event is recorded for each customer.")
        case .undone: Notice(.done, "The move was taken back.")
        case .blocked: Notice(.done, "The purchase stays with this customer.")
        case .unblocked: Notice(.done, "The restore policy applies again.")
        case .answered:
            Notice(
                .done, "The report was recorded.",
                "Apple's open questions are answered now. The consent is stored for later ones.")
        case .consentRefused:
            Notice(.done, "The report was recorded.", "Without consent nothing is sent to Apple.")
        case .debited:
            Notice(.done, "The amount was taken out of the wallet.", "An event is recorded.")
        case .walletCredited:
            Notice(.done, "The amount was added to the wallet.", "An event is recorded.")
        case .erased: Notice(.done, "The person was erased.", "Their purchases are unlinked.")
        case .paused: Notice(.done, "The endpoint is paused.", "Events wait in order.")
        case .resumed: Notice(.done, "The endpoint is open again.", "Waiting events are sent now.")
        case .tested: Notice(.done, "A test is on its way.", "It is the first delivery below.")
        case .replayed: Notice(.done, "The event is sent again.")
        case .deleted: Notice(.done, "The endpoint was deleted.")
        case .invitationWithdrawn:
            Notice(.done, "The invitation was withdrawn.", "Nobody can join with it.")
        case .seatReleased:
            Notice(.done, "The seat was taken back.", "An event is recorded for the member.")
        case .retried:
            Notice(.done, "The notification is forwarded again.", "To the address of its row only.")
        case .retryNotDue:
            Notice(
                .about, "Nothing is sent.",
                "The notification already waits, was accepted before, or is no longer stored.")
        case .retryAddressGone:
            Notice(
                .warning, "Nothing is sent.", "The address is not in the configuration any more.")
        case .alwaysSignedIn:
            Notice(.about, "There is no sign-in here.", "Users of this machine are the developer.")
        case .operatorBlocked:
            Notice(.done, "This operator cannot sign in.", "Their sessions have ended.")
        case .operatorUnblocked: Notice(.done, "This operator can sign in again.")
        case .roleChanged: Notice(.done, "The role was changed.", "It applies from now on.")
        case .linkWithdrawn: Notice(.done, "The link was taken back.", "It no longer works.")
        case .signedOutEverywhere: Notice(.done, "They are signed out everywhere.")
        case .passwordChanged:
            Notice(.done, "Your password was changed.", "Your other sessions have ended.")
        case .passkeyAdded:
            Notice(.done, "The passkey was added.", "Your next sign-in needs a passkey.")
        case .passkeyRenamed: Notice(.done, "The passkey has another name.")
        case .passkeyRemoved: Notice(.done, "The passkey was removed.", "It no longer works here.")
        case .testAsked:
            Notice(
                .done, "Apple sends a test.",
                "It appears below if Apple reaches this server's address.")
        }
    }
}
