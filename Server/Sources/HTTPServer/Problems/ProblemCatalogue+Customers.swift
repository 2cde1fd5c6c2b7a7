import Ledger

// Problems with customers, and with their grants, wallets, content and offers.

extension ProblemCatalogue {
    static let customerEntries: [Entry] = [
        // Ids and proofs of identity
        Entry(
            .customerIDNotValid, .unprocessableContent,
            "The customer id does not identify a person.",
            remedy: "Send the person's own id: printable, up to \(CustomerID.bytesMax) bytes."),
        Entry(
            .aliasIsFirstID, .conflict, "This is the customer's first id.",
            remedy: """
                Remove the ids that were added to it by mistake, and move purchases with POST \
                /v1/customers/{id}/transfers.
                """),
        Entry(
            .aliasJoinsTwoPeople, .conflict,
            "Both ids belong to people, who would become one customer.",
            remedy: """
                If they are one person, let your server add the alias with a secret key, or \
                require proofs of identity and send both, or set `join_people: true` below \
                `identity` in perennial.yaml. This cannot be undone completely.
                """),
        Entry(
            .aliasNotProven, .conflict, "It is not proven that both ids belong to one customer.",
            remedy: """
                With an app key, add only an anon_ id, to the id of the person who has logged \
                in. Let your server add any other id with a secret key, or require proofs of \
                identity and send both, or set `join_people: true` below `identity` in \
                perennial.yaml.
                """),
        Entry(
            .aliasUnknown, .notFound, "This is not an alias of the customer.",
            remedy: """
                GET /v1/customers/{id} with a secret key lists the aliases; the id in the path \
                is the one that stays.
                """),
        Entry(
            .customerProofMissing, .unauthorized,
            "The request has no proof of the customer's identity.",
            remedy: "Send Perennial-Customer-Proof, made by the app's own backend."),
        Entry(
            .customerProofNotValid, .unauthorized,
            "The proof belongs to another customer, or has expired.",
            remedy: "Get a new proof from the app's own backend."),

        // Grants
        Entry(
            .entitlementUnknown, .notFound, "There is no such entitlement.",
            remedy: "Use an entitlement that a product in perennial.yaml gives."),
        Entry(
            .attributeNotValid, .unprocessableContent, "An attribute is not valid.",
            remedy: "Change the attribute as `detail` says. Nothing of the request was stored."),
        Entry(
            .grantUnknown, .notFound, "This customer has no such grant.",
            remedy: "GET /v1/customers/{id}/grants lists the grants."),
        Entry(
            .grantAlreadyEnded, .unprocessableContent, "The grant would have ended already.",
            remedy: "Send a later `until`, or none."),

        // Wallets
        Entry(
            .currencyUnknown, .notFound, "There is no such currency.",
            remedy: "Configure in perennial.yaml what a product credits: credits: {gems: 100}."),
        Entry(
            .amountNotPositive, .badRequest, "amount must be a positive whole number.",
            remedy: "Send a whole number from 1 to \(Wallet.amountMax)."),
        Entry(
            .walletBalanceTooLow, .conflict, "The wallet's balance is too low.",
            remedy: "Debit at most the balance, or sell more first."),
        Entry(
            .spendingNotAllowed, .forbidden, "Apps may not spend this currency.",
            remedy: """
                Debit it from your server with a secret key (sk_…), or set spend: app for the \
                currency under wallets in perennial.yaml.
                """),
        Entry(
            .idempotencyKeyMissing, .badRequest, "The request has no Idempotency-Key.",
            remedy: """
                Send the header Idempotency-Key with a new UUID for each debit or credit, and \
                send the same UUID to repeat a request.
                """),
        Entry(
            .idempotencyKeyReused, .unprocessableContent,
            "The Idempotency-Key belongs to another request.",
            remedy: """
                Use a new key for each debit, credit or grant; reuse a key only to repeat a \
                request.
                """),

        // Content
        Entry(
            .contentUnknown, .notFound, "There is no such content.",
            remedy: "Use a content_id from GET /v1/customers/{id}/content."),
        Entry(
            .contentNotAvailable, .forbidden, "The customer may not read this.",
            remedy: """
                Offer the customer a product that opens this content. GET \
                /v1/customers/{id}/content lists the readable items.
                """),
        Entry(
            .contentLinkInvalid, .forbidden, "This link is not valid, or has expired.",
            remedy: "Get a new link from GET /v1/customers/{id}/content."),
        Entry(
            .sandboxNotAllowed, .forbidden, "This is not available for sandbox purchases.",
            remedy: "Use a secret key, or set `sandbox: true` below `content` in perennial.yaml."),

        // Offers
        Entry(
            .offersKeyMissing, .conflict, "There is no key for signing offers.",
            remedy: "Add app_store with an In-App Purchase key to perennial.yaml."),
        Entry(
            .offerUnknown, .notFound, "There is no such offer.",
            remedy: "Use a product and an offer from the app's .storekit file."),
        Entry(
            .offerNotForCustomer, .conflict, "The customer is not eligible for this offer.",
            remedy: "GET /v1/customers/{id}/offers says who is eligible, and why."),
    ]
}

extension ProblemCatalogue.Entry {
    static let customerProofOfOneOnly = of(.customerProofNotValid).variant(
        "The request has a proof for only one of the two ids.",
        remedy: "Send the proof of each id, separated by a comma, or let your server add the id "
            + "with a secret key, or use an anon_ id that no customer has yet.")

    static let customerProofEndless = of(.customerProofNotValid).variant(
        "The proof never expires.",
        remedy: "Let the app's own backend add an expiry: SECONDS.CODE. Until it does, set "
            + "`endless: true` below `identity` in perennial.yaml.")

    static func currencyUnknown(known: [CurrencyID]) -> Self {
        of(.currencyUnknown).variant(
            remedy: known.isEmpty
                ? nil : "Use one of \(known.map(\.rawValue).joined(separator: ", ")).")
    }

    static let contentWithoutFile = of(.contentUnknown).variant(
        "This content has no file.",
        remedy: "Configure its file in perennial.yaml, or serve it yourself.")

    static let contentFileMissing = of(.contentUnknown).variant(
        "The file is missing on the server.", remedy: "Tell the operator of this server.")

    static let signatureNotInSandbox = of(.sandboxNotAllowed).variant(
        remedy: "Use the kind `promotional` with a transaction_id of the sandbox, or use a secret "
            + "key.")

    static let offerTransactionUnknown = of(.offerNotForCustomer).variant(
        "The transaction's customer is unknown.",
        remedy: "Send the id of a transaction the customer has posted, or let your server sign "
            + "with a secret key.")
}
