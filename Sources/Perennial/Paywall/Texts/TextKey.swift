/// Each text that the SDK shows to a customer.
///
/// The phrases of each language are in its file, such as `Phrases+English.swift`.
package enum TextKey: String, CaseIterable, Sendable {
    // The headline
    case subscribed, subscribedDays, subscribedRenews, subscribedEndsAfterMonth
    case notSubscribed, unlocked, paymentProblem
    // Buttons of a row
    case buy, subscribe, renew, switchPlan, waiting
    // The row's text about a product that the customer has
    case renewsOn, endsOn, paidUntil, changesOn, beginsOn, endsAfterMonth, familyShared
    case assigned
    case waitingForApproval, waitingForServer, waitingForRestore, checking
    // Lengths and prices
    case days, weeks, months, years, lengthAndLength
    case priceDaily, priceWeekly, priceMonthly, priceYearly, priceForLength
    // Offers
    case offerFree, offerPaid, offerInstead, disclosure
    // Ways to pay
    case payments, planTotal, planDisclosure
    // A restore
    case restore, restoreQuestion, restored, restoredNothingNew, restoredNothing, restoreRefused
    case itemHad, itemLinks, itemMoves, itemMovesFrom, itemShares, itemSharesWith
    case itemRefused, itemRefusedOf
    // A purchase
    case purchasePending, purchaseScheduled, purchaseHad, purchaseOfAnother
    // The rest of a screen
    case manage, termsOfUse, privacyPolicy, redeem, requestRefund
    case accept, cancel, close, done, tryAgain, owned, shopFailed
    case timesRemaining, consentQuestion, consentAgree, consentDecline
    // A group, for its purchaser and for a member
    case seats, seatsAtRenewal, seatsFree, listOfTwo, members, noMembers, memberUnnamed, joinedOn
    case seatWaiting, invite, inviteLink, invitationOpen, withdrawInvitation
    case removeMember, removeQuestion, yourSeatWaits, leaveGroup, leaveQuestion
    // Failures
    case failedForNow, failed, serverUnreachable, storeUnreachable, productUnknown
    case purchaseNotAllowed, offerNotAccepted, paidAndSafe, chargeUnclear
    case accountOfAnother, customerMissing, customerChanged, walletBalanceTooLow
    case contentNotAvailable, seatsNotSold, seatsUnchanged, seatReduction, seatsTaken
    case invitationUnknown, purchaserNeedsNoSeat

    /// The placeholders in phrases, such as `{count}`.
    package enum Placeholder: String, CaseIterable, Sendable {
        case count, date, name, price, total, length, offer, owner, first, second
    }
}
