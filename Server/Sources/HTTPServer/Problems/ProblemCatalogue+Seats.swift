import Engine

extension ProblemCatalogue {
    static let seatEntries: [Entry] = [
        Entry(
            .seatsTaken, .conflict, "All seats of the group are taken.",
            remedy: """
                Ask the purchaser to add seats, or to remove a member. The invitation can still \
                be used.
                """),
        Entry(
            .seatsNotManagedByApp, .conflict, "The app does not invite the members of this group.",
            remedy: "The App Store invites members, and gives each a transaction. Post that one."),
        Entry(
            .purchaseHasNoSeats, .conflict, "The purchase was not bought in seats.",
            remedy: "Only a subscription that was bought for several people has members."),
        Entry(
            .purchaseNotRunning, .conflict, "The subscription does not run.",
            remedy: """
                Wait until the purchaser has subscribed again; then invite the members again.
                """),
        Entry(
            .purchaserNeedsNoSeat, .conflict, "The purchaser needs no claim.",
            remedy: "The purchase itself gives this customer access."),
        // The text is the same for every invitation that cannot be used, so that nobody can find
        // out which invitations exist.
        Entry(
            .invitationUnknown, .notFound,
            "There is no such invitation that this customer can use.",
            remedy: "It may be used, withdrawn or expired. Ask the purchaser for another one."),
        Entry(
            .claimUnknown, .notFound, "This customer has no such claim.",
            remedy: """
                A member's claim_id is in GET /v1/customers/{id}; the claims of a group are in GET \
                /v1/purchases/{original_transaction_id}/seats.
                """),
        Entry(
            .tooManyClaims, .conflict, "The purchase has too many open claims.",
            remedy: "End claims that nobody needs."),
        Entry(
            .tooManyInvitations, .conflict,
            "The purchase has too many invitations that can be used.",
            remedy: "Withdraw some, or wait until they are used or expire."),
    ]
}

// MARK: - The shape of a request

extension ProblemCatalogue.Entry {
    static let seatTicketMissing = of(.bodyNotUnderstood).variant(
        "The request must have either token or original_transaction_id.",
        remedy: "Send the token of an invitation, or with a secret key "
            + "original_transaction_id instead.")

    static let speakerMissing = of(.requestNotUnderstood).variant(
        "The request does not name the customer for whom it is sent.",
        remedy: "Add ?customer_id= and that customer's Perennial-Customer-Proof, or let your "
            + "server send it with a secret key.")

    static let invitationLifeOutOfRange = of(.bodyNotUnderstood).variant(
        "expires_in_seconds is out of range.",
        remedy: "Send a number from \(NewInvitation.lifeMin.components.seconds) to "
            + "\(NewInvitation.lifeMax.components.seconds).")
}
