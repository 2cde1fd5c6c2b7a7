import Ledger

// Problems with documents, and with purchases, notifications, webhooks and reports, which are based
// on documents.

extension ProblemCatalogue {
    static let documentEntries: [Entry] = [
        // Notifications
        Entry(
            .notificationNotUnderstood, .badRequest, "This is not an App Store notification.",
            remedy: "Let only the App Store post to this URL."),
        Entry(
            .notificationForAnotherApp, .unprocessableContent,
            "The notification is for another app.",
            remedy: """
                Register this URL only for apps of this server, or add the app to \
                perennial.yaml.
                """),
        Entry(
            .notificationNotTrusted, .unprocessableContent, "The notification is not trusted.",
            remedy: """
                If the App Store did send it, compare perennial.yaml with the app's bundle id \
                and Apple id.
                """),
        Entry(
            .notificationIncomplete, .unprocessableContent,
            "The notification lacks required fields.", remedy: reportIncomplete),

        // Purchases
        Entry(
            .purchasesMissing, .badRequest, "The request contains no purchase.",
            remedy: """
                Send at least one of signed_transactions, an app_receipt, or a \
                signed_app_transaction.
                """),
        Entry(
            .purchaseNotUnderstood, .badRequest, "A document could not be read.",
            remedy: """
                Send unchanged what StoreKit returned: `jwsRepresentation`, or the receipt's \
                file in Base64.
                """),
        Entry(
            .purchaseForAnotherApp, .unprocessableContent, "The purchase was made in another app.",
            remedy: "Use a key of that app, or add the app to perennial.yaml."),
        Entry(
            .purchaseNotTrusted, .unprocessableContent, "A signed document is not trusted.",
            remedy: """
                Send unchanged what StoreKit returned for this app: `jwsRepresentation`, or the \
                receipt's file in Base64.
                """),
        Entry(
            .purchaseFromXcode, .unprocessableContent, "Xcode's local store signed the document.",
            remedy: """
                Do not post purchases of Xcode's store: anybody can sign them. Use the sandbox \
                or the simulator.
                """),
        Entry(
            .environmentsMixed, .unprocessableContent,
            "The documents are from both the sandbox and production.",
            remedy: "Post the documents of each environment in a separate request."),
        Entry(
            .purchaseIncomplete, .unprocessableContent, "A signed document lacks required fields.",
            remedy: reportIncomplete),
        Entry(
            .renewalWithoutTransaction, .unprocessableContent,
            "The renewal info came without a transaction.",
            remedy: "Send a signed transaction of the same purchase along with it."),
        Entry(
            .legacyDocumentsNotAccepted, .unprocessableContent, "The app does not accept receipts.",
            remedy: "Send signed_transactions, or remove `legacy: false` from perennial.yaml."),
        Entry(
            .documentBudgetSpent, .tooManyRequests,
            "Too many new documents of one purchase were posted recently.",
            remedy: """
                Wait as long as Retry-After says, then repeat the request. Post a purchase only \
                when it changes.
                """),
        Entry(
            .growthBudgetSpent, .tooManyRequests,
            "App keys have added too many new ids or changes of ownership recently.",
            remedy: """
                Wait as long as Retry-After says, then repeat the request. A purchase is accepted \
                at once with a document that the App Store has signed just now. If you usually get \
                so many new customers, raise growth_per_hour below identity in perennial.yaml.
                """),

        // Ownership
        Entry(
            .purchaseBelongsToAnotherCustomer, .conflict,
            "The purchase belongs to another customer.",
            remedy: """
                Use the customer who has the purchase. Only if your own log-in has proven that \
                both are one person, let your server join them with POST \
                /v1/customers/{id}/aliases. That is permanent.
                """),
        Entry(
            .documentUnknown, .notFound, "There is no such document.",
            remedy: """
                Name the purchase of the document (original_transaction_id), or the time when it \
                became known (known_at). Lists, events and a customer's history contain both.
                """),
        Entry(
            .purchaseUnknown, .notFound, "There is no such purchase.",
            remedy: "Send the id of the purchase's first transaction, and the environment."),
        Entry(
            .transferUnknown, .notFound, "This customer has no such transfer.",
            remedy: "GET /v1/customers/{id}/transfers lists the transfers."),
        Entry(
            .transferSuperseded, .conflict, "The purchase's owner has changed since this transfer.",
            remedy: "Undo the later transfer first, or move the purchase again."),

        // Forwards, webhooks and reports
        Entry(
            .forwardUnknown, .notFound, "The document has no forwards, or they were deleted.",
            remedy: "Use a document_id from GET /v1/forwards."),
        Entry(
            .webhookUnknown, .notFound, "There is no such webhook.",
            remedy: "Use a webhook_id from GET /v1/webhooks."),
        Entry(
            .webhookInConfiguration, .conflict, "This webhook is in the server's configuration.",
            remedy: "Change it in perennial.yaml. A request can only pause and resume it."),
        Entry(
            .tooManyWebhooks, .conflict, "The app has too many webhooks.",
            remedy: """
                Delete one by DELETE /v1/webhooks/{webhook_id}, or take one out of perennial.yaml.
                """),
        Entry(
            .webhookNotValid, .badRequest, "The webhook's settings are not valid.",
            remedy: "Correct the setting that the detail names. docs/webhooks.md lists them."),
        .reportUnknown(known: []),
        Entry(
            .reportNotValid, .badRequest, "The query of the report is not valid.",
            remedy: "Compare it with docs/money.md."),
        Entry(
            .webhookDeliveryUnknown, .notFound, "There is no such delivery, or it was deleted.",
            remedy: "Use a delivery_id from GET /v1/webhooks/{webhook_id}/deliveries."),

        // Configuration
        Entry(
            .configurationNotValid, .unprocessableContent,
            "The configuration could not be put in force.",
            remedy: """
                Correct the configuration. A preview reads only files, folders and variables \
                that the present configuration names: for others use `perennial config diff`.
                """),
    ]

    private static let reportIncomplete =
        "Report this to the makers of Perennial: Apple may have changed its formats."
}

extension ProblemCatalogue.Entry {
    static let previewEmpty = of(.purchasesMissing).variant(
        "The request contains no purchase and names no product.",
        remedy: "Send documents of the device, or product_id, or both.")

    static let purchaseOfForeignBundle = of(.purchaseNotTrusted).variant(
        remedy: "Use the key of that app, or add the app to perennial.yaml.")

    static let receiptFromXcode = of(.purchaseNotTrusted).variant(
        remedy: "Receipts of Xcode's store are accepted only for a simulated app with Xcode's "
            + "certificate among `extra_roots`. Use the sandbox or the simulator.")

    static let intentUnknown = of(.bodyNotUnderstood).variant(
        detail: "intent must be purchase, restore or sync.")

    static let version1NotAccepted = of(.legacyDocumentsNotAccepted).variant(
        "The app does not accept notifications of version 1.",
        remedy: "Set version 2 in App Store Connect, or remove `legacy: false` from "
            + "perennial.yaml.")

    /// All reasons have one code; `detail` names the reason.
    static func purchaseBelongsToAnotherCustomer(_ why: OwnershipClaim.Refusal) -> Self {
        let kept = of(.purchaseBelongsToAnotherCustomer)
        return switch why {
        case .kept, .inUse, .blocked, .decidedBySupport: kept
        case .usedUp:
            kept.variant(
                remedy: "It was credited once, and stays in that wallet. Finish the transaction "
                    + "on the device.")
        case .namesAnother:
            kept.variant(
                "The purchase names another customer.",
                remedy: "Use the customer whose id is its appAccountToken, or let your server make "
                    + "the token their alias. If the app's tokens are not customer ids, set "
                    + "account_tokens: other under identity in perennial.yaml.")
        case .needsRestore:
            kept.variant(
                remedy: "Post it with the intent restore, if the customer asks for it.")
        case .sharedWithMost:
            kept.variant(
                "The purchase is already shared with the maximum number of customers.",
                remedy: "End a share with DELETE /v1/customers/{id}/transfers/{transfer_id}, or "
                    + "raise `most` under restore: share in perennial.yaml. A device without "
                    + "log-in gets a place with a document that was signed just now.")
        case .documentTooOld:
            kept.variant(
                "The purchase is another customer's, and the document is too old.",
                remedy: "Let the app fetch the purchase again (AppStore.sync(), or refresh the "
                    + "receipt) and send the result. It must be signed within the last "
                    + "\(OwnershipClaim.ShareRules.documentDaysMax) days, and after the documents "
                    + "that the other customer's devices have sent.")
        }
    }

    static let transactionMissing = of(.requestNotUnderstood).variant(
        "original_transaction_id is missing.",
        remedy: "Add ?original_transaction_id= with the first transaction of a purchase, or read "
            + "GET /v1/customers/{id}/documents.")

    static let knownAtNotUnderstood = of(.requestNotUnderstood).variant(
        "known_at is not a time.", remedy: "Write it such as 2026-11-21T08:30:00.000Z.")

    static func reportUnknown(known: [String]) -> Self {
        Self(
            .reportUnknown, .notFound, "There is no such report.",
            remedy: "Use one of \(known.joined(separator: ", ")).")
    }

    static let configurationNotRead = of(.configurationNotValid).variant(
        "This server has no configuration file.", remedy: "Use `perennial config diff`.")

    static let previewRunning = of(.serverBusy).variant(
        "Another preview of a configuration is running.",
        remedy: "Send the same request again in a few seconds.")
}
