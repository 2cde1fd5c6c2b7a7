extension Phrases {
    static let english: [TextKey: Phrase] = [
        .subscribed: "Subscribed",
        .subscribedDays: .plural(
            one: "Subscribed: {count} day left", other: "Subscribed: {count} days left"),
        .subscribedRenews: "Subscribed: renews on {date}",
        .subscribedEndsAfterMonth: .plural(
            one: "Subscribed: ends after month {count}",
            other: "Subscribed: ends after month {count}"),
        .notSubscribed: "Not subscribed",
        .unlocked: "Unlocked for good",
        .paymentProblem: "There is a problem with your payment",

        .buy: "Buy",
        .subscribe: "Subscribe",
        .renew: "Renew",
        .switchPlan: "Switch",
        .waiting: "Waiting",

        .renewsOn: "Renews on {date}",
        .endsOn: "Ends on {date}",
        .paidUntil: "Paid until {date}",
        .changesOn: "Changes to {name} on {date}",
        .beginsOn: "Begins on {date}",
        .endsAfterMonth: .plural(
            one: "Ends after month {count}", other: "Ends after month {count}"),
        .familyShared: "Shared with you by your family",
        .assigned: "Somebody else pays for you",
        .waitingForApproval: "Waiting for approval",
        .waitingForServer: "Paid. It is being confirmed.",
        .waitingForRestore: "Bought before you signed in. Restore your purchases to use it.",
        .checking: "Checking your purchases",

        .days: .plural(one: "{count} day", other: "{count} days"),
        .weeks: .plural(one: "{count} week", other: "{count} weeks"),
        .months: .plural(one: "{count} month", other: "{count} months"),
        .years: .plural(one: "{count} year", other: "{count} years"),
        .lengthAndLength: "{first} and {second}",
        .priceDaily: .plural(one: "{price} a day", other: "{price} every {count} days"),
        .priceWeekly: .plural(one: "{price} a week", other: "{price} every {count} weeks"),
        .priceMonthly: .plural(one: "{price} a month", other: "{price} every {count} months"),
        .priceYearly: .plural(one: "{price} a year", other: "{price} every {count} years"),
        .priceForLength: "{price} for {length}",

        .offerFree: "{length} free, then {price}",
        .offerPaid: "{offer} for {length}, then {price}",
        .offerInstead: "{offer} instead of {price}",
        .disclosure: """
        {price}. Renews automatically until you cancel it. Cancel at least 24 hours before the \
        end of a period, in the settings of your Apple account.
        """,

        .payments: .plural(one: "{count} payment", other: "{count} payments"),
        .planTotal: "{total} in all for {length}",
        .planDisclosure: .plural(
            one: """
                {count} payment of {price}, {total} in all. You agree to make it, also if you \
                cancel \
                earlier. Renews automatically for {length} until you cancel it, at least 24 hours \
                before the end, in the settings of your Apple account.
                """,
            other: """
                {count} payments of {price}, {total} in all. You agree to make all of them, also \
                if \
                you cancel earlier. Renews automatically for {length} until you cancel it, at \
                least \
                24 hours before the end, in the settings of your Apple account.
                """),

        .restore: "Restore purchases",
        .restoreQuestion: "Restore these purchases?",
        .restored: "Your purchases are restored.",
        .restoredNothingNew: "You have all your purchases already.",
        .restoredNothing: "There are no purchases of this Apple account.",
        .restoreRefused: "These purchases belong to another account of this app.",
        .itemHad: "You have this purchase already.",
        .itemLinks: "This purchase will be added to your account.",
        .itemMoves: "This purchase will be taken from another account and added to yours.",
        .itemMovesFrom: "This purchase will be taken from {owner} and added to your account.",
        .itemShares: "Another account has this purchase. Both of you will have it.",
        .itemSharesWith: "{owner} has this purchase. Both of you will have it.",
        .itemRefused: "This purchase belongs to another account and stays there.",
        .itemRefusedOf: "This purchase belongs to {owner} and stays there.",

        .purchasePending: "Your purchase needs an approval. It arrives here by itself.",
        .purchaseScheduled: "The change takes effect when the current period ends.",
        .purchaseHad: "You have this already. Nothing was charged.",
        .purchaseOfAnother: "Your Apple account pays for this in another account of this app.",

        .manage: "Manage subscription",
        .termsOfUse: "Terms of use",
        .privacyPolicy: "Privacy policy",
        .redeem: "Redeem code",
        .requestRefund: "Request a refund",
        .accept: "Continue",
        .cancel: "Cancel",
        .close: "Close",
        .done: "OK",
        .tryAgain: "Try again",
        .owned: "You have this",
        .shopFailed: "The shop could not be loaded.",
        .timesRemaining: .plural(
            one: "Times remaining: {count}", other: "Times remaining: {count}"),
        .consentQuestion: "May the App Store learn how much of this purchase you have used?",
        .consentAgree: "Allow",
        .consentDecline: "Do not allow",

        .seats: .plural(one: "{count} seat", other: "{count} seats"),
        .seatsAtRenewal: .plural(
            one: "{count} seat from the next period on",
            other: "{count} seats from the next period on"),
        .seatsFree: .plural(one: "{count} free", other: "{count} free"),
        .listOfTwo: "{first}, {second}",
        .members: "Members",
        .noMembers: "Nobody has joined yet.",
        .memberUnnamed: "Member",
        .joinedOn: "Joined on {date}",
        .seatWaiting: "Waits for a free seat",
        .invite: "Invite",
        .inviteLink: "Send this link to one person. It can be used once, until {date}.",
        .invitationOpen: "Invitation, valid until {date}",
        .withdrawInvitation: "Withdraw",
        .removeMember: "Remove",
        .removeQuestion: "Remove this member? Their access ends at once.",
        .yourSeatWaits: "There is no free seat for you at the moment.",
        .leaveGroup: "Leave the group",
        .leaveQuestion: "Leave the group? Your access ends at once.",

        .failedForNow: "That did not work. Please try again later.",
        .failed: "That did not work. Please contact the app’s support.",
        .serverUnreachable: "There is no connection. Please try again later.",
        .storeUnreachable: "The App Store cannot be reached. Please try again later.",
        .productUnknown: "This is not for sale at the moment.",
        .purchaseNotAllowed: "Purchases are not allowed on this device.",
        .offerNotAccepted: "The App Store did not accept this offer. Nothing was charged.",
        .paidAndSafe: "Your payment is safe. What you bought arrives as soon as possible.",
        .chargeUnclear: """
        It is not known yet whether you were charged. If you were, your purchase arrives by \
        itself.
        """,
        .accountOfAnother: """
        Your Apple account already pays for another account of this app. Nothing was charged.
        """,
        .customerMissing: "Please sign in first.",
        .customerChanged: "Something has changed in the meantime. Please try again.",
        .walletBalanceTooLow: "There is not enough left.",
        .contentNotAvailable: "You need to buy this before you can open it.",
        .seatsNotSold: "This cannot be bought for so many people. Nothing was charged.",
        .seatsUnchanged: "You have this number of seats already. Nothing was charged.",
        .seatReduction: "You can give seats up in the App Store, for the next period.",
        .seatsTaken: "No seat is free in this group.",
        .invitationUnknown: "This invitation is not valid any more.",
        .purchaserNeedsNoSeat: "You pay for this group, and need no seat of your own.",
    ]
}
