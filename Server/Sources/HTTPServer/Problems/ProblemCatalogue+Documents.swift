import Ledger

// MARK: - Notifications

extension ProblemCatalogue.Entry {
    static let notificationNotUnderstood = Self(
        .notificationNotUnderstood, .badRequest, "This is not an App Store notification.",
        remedy: "Let only the App Store post to this URL.")

    static let notificationForAnotherApp = Self(
        .notificationForAnotherApp, .unprocessableContent, "The notification is for another app.",
        remedy: "Register this URL only for apps of this server, or add the app to "
            + "perennial.yaml.")

    static let notificationNotTrusted = Self(
        .notificationNotTrusted, .unprocessableContent, "The notification is not trusted.",
        remedy: "If the App Store did send it, compare perennial.yaml with the app's bundle id and "
            + "Apple id.")

    static let notificationIncomplete = Self(
        .notificationIncomplete, .unprocessableContent,
        "The notification lacks required fields.", remedy: reportIncomplete)

    private static let reportIncomplete =
        "Report this to the makers of Perennial: Apple may have changed its formats."
}

// MARK: - Purchases

extension ProblemCatalogue.Entry {
    static let purchasesMissing = Self(
        .purchasesMissing, .badRequest, "The request contains no purchase.",
        remedy: "Send at least one of signed_transactions, an app_receipt, or a "
            + "signed_app_transaction.")

    static let previewEmpty = purchasesMissing.variant(
        "The request contains no purchase and names no product.",
        remedy: "Send what the device has, or product_id, or both.")

    static let purchaseNotUnderstood = Self(
        .purchaseNotUnderstood, .badRequest, "A document could not be read.",
        remedy: "Send unchanged what StoreKit returned: `jwsRepresentation`, or the receipt's file "
            + "in Base64.")

    static let purchaseForAnotherApp = Self(
        .purchaseForAnotherApp, .unprocessableContent, "The purchase was made in another app.",
        remedy: "Use a key of that app, or add the app to perennial.yaml.")

    static let purchaseNotTrusted = Self(
        .purchaseNotTrusted, .unprocessableContent, "A signed document is not trusted.",
        remedy: "Send unchanged what StoreKit returned for this app: `jwsRepresentation`, or the "
            + "receipt's file in Base64.")

    static let purchaseOfForeignBundle = purchaseNotTrusted.variant(
        remedy: "Use the key of that app, or add the app to perennial.yaml.")

    static let receiptFromXcode = purchaseNotTrusted.variant(
        remedy: "Receipts of Xcode's store are accepted only for a simulated app with Xcode's "
            + "certificate among `extra_roots`. Use the sandbox or the simulator.")

    static let purchaseFromXcode = Self(
        .purchaseFromXcode, .unprocessableContent, "Xcode's local store signed the document.",
        remedy: "Do not post purchases of Xcode's store: anybody can sign them. Use the sandbox or "
            + "the simulator.")

    static let environmentsMixed = Self(
        .environmentsMixed, .unprocessableContent,
        "The documents are from both the sandbox and production.",
        remedy: "Post the documents of each environment in a request of its own.")

    static let intentUnknown = bodyNotUnderstood.variant(
        detail: "intent must be purchase, restore or sync.")

    static let purchaseIncomplete = Self(
        .purchaseIncomplete, .unprocessableContent, "A signed document lacks required fields.",
        remedy: reportIncomplete)

    static let renewalWithoutTransaction = Self(
        .renewalWithoutTransaction, .unprocessableContent,
        "The renewal info came without a transaction.",
        remedy: "Send a signed transaction of the same purchase along with it.")

    static let legacyDocumentsNotAccepted = Self(
        .legacyDocumentsNotAccepted, .unprocessableContent, "The app does not accept receipts.",
        remedy: "Send signed_transactions, or remove `legacy: false` from perennial.yaml.")

    static let version1NotAccepted = legacyDocumentsNotAccepted.variant(
        "The app does not accept notifications of version 1.",
        remedy: "Set version 2 in App Store Connect, or remove `legacy: false` from "
            + "perennial.yaml.")

    static func documentBudgetSpent(wait: Duration) -> Self {
        Self(
            .documentBudgetSpent, .tooManyRequests,
            "Too many new documents of one purchase were posted recently.",
            remedy: "Wait as long as Retry-After says, then repeat the request. Post a purchase "
                + "only when it changes.",
            headers: [.retryAfter: String(max(1, wait.components.seconds + 1))])
    }

    static func growthBudgetSpent(wait: Duration) -> Self {
        Self(
            .growthBudgetSpent, .tooManyRequests,
            "App keys have added too many new ids or changes of ownership recently.",
            remedy: "Wait as long as Retry-After says, then repeat the request. A purchase is "
                + "accepted at once with a document that the App Store has signed just now. If so "
                + "many new customers are usual, raise growth_per_hour below identity in "
                + "perennial.yaml.",
            headers: [.retryAfter: String(max(1, wait.components.seconds + 1))])
    }
}

// MARK: - Ownership

extension ProblemCatalogue.Entry {
    /// All reasons have one code; `detail` names the reason.
    static func purchaseBelongsToAnotherCustomer(_ why: OwnershipClaim.Refusal) -> Self {
        let kept = Self(
            .purchaseBelongsToAnotherCustomer, .conflict,
            "The purchase belongs to another customer.",
            remedy: "Use the customer who has it. Only if your own log-in has proven that both are "
                + "one person, let your server link them with POST /v1/customers/{id}/aliases. "
                + "That is permanent.")
        return switch why {
        case .kept, .inUse, .blocked, .decidedBySupport: kept
        case .usedUp:
            kept.variant(
                remedy: "It was credited once and stays there. Finish the transaction on the "
                    + "device.")
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

    static let documentUnknown = Self(
        .documentUnknown, .notFound, "No document is found by this.",
        remedy: "Say the purchase that it is about (original_transaction_id), or when it was known "
            + "(known_at): a list, an event or a customer's history says both.")

    static let transactionMissing = requestNotUnderstood.variant(
        "original_transaction_id is missing.",
        remedy: "Add ?original_transaction_id= with the first transaction of a purchase, or read "
            + "GET /v1/customers/{id}/documents.")

    static let knownAtNotUnderstood = requestNotUnderstood.variant(
        "known_at is not a time.", remedy: "Write it such as 2026-11-21T08:30:00.000Z.")

    static let purchaseUnknown = Self(
        .purchaseUnknown, .notFound, "There is no such purchase.",
        remedy: "Send the id of its first transaction, and the environment.")

    static let transferUnknown = Self(
        .transferUnknown, .notFound, "There is no such transfer of this customer.",
        remedy: "GET /v1/customers/{id}/transfers lists them.")

    static let transferSuperseded = Self(
        .transferSuperseded, .conflict, "The purchase has changed owner since.",
        remedy: "Undo the later transfer first, or move the purchase again.")
}

// MARK: - Forwards

extension ProblemCatalogue.Entry {
    static let forwardUnknown = Self(
        .forwardUnknown, .notFound, "There are no forwards of this document, or no longer.",
        remedy: "Use a document_id from GET /v1/forwards.")
}

// MARK: - Webhooks

extension ProblemCatalogue.Entry {
    static let webhookUnknown = Self(
        .webhookUnknown, .notFound, "There is no such webhook.",
        remedy: "Use a webhook_id from GET /v1/webhooks.")

    static let webhookInConfiguration = Self(
        .webhookInConfiguration, .conflict, "This webhook is in the server's configuration.",
        remedy: "Change it in perennial.yaml. A request can only pause and resume it.")

    static func tooManyWebhooks(max: Int) -> Self {
        Self(
            .tooManyWebhooks, .conflict, "The app has too many webhooks.",
            detail: "It has \(max), and cannot have more.",
            remedy: "Delete one by DELETE /v1/webhooks/{webhook_id}, or take one out of "
                + "perennial.yaml.")
    }

    static let webhookNotValid = Self(
        .webhookNotValid, .badRequest, "The webhook's settings are not valid.",
        remedy: "Correct what the detail names. docs/webhooks.md describes all settings.")

    static func reportUnknown(known: [String]) -> Self {
        Self(
            .reportUnknown, .notFound, "There is no such report.",
            remedy: "Use one of \(known.joined(separator: ", ")).")
    }

    static let reportNotValid = Self(
        .reportNotValid, .badRequest, "The report cannot be computed as the request says.",
        remedy: "Compare it with docs/money.md.")

    static let webhookDeliveryUnknown = Self(
        .webhookDeliveryUnknown, .notFound, "There is no such delivery, or no longer.",
        remedy: "Use a delivery_id from GET /v1/webhooks/{webhook_id}/deliveries.")
}

// MARK: - Configuration

extension ProblemCatalogue.Entry {
    static let configurationNotValid = Self(
        .configurationNotValid, .unprocessableContent,
        "The configuration could not be put in force.",
        remedy: "Correct it. Files, folders and variables that the present configuration does not "
            + "name are not read here: for those use `perennial config diff`.")

    static let configurationNotRead = configurationNotValid.variant(
        "This server has no configuration file.", remedy: "Use `perennial config diff`.")

    static let previewRunning = serverBusy.variant(
        "Another preview of a configuration is running.",
        remedy: "Send the same request again in a few seconds.")
}
