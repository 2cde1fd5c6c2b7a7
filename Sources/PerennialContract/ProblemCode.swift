/// The code of a problem, for programs. A code keeps its meaning forever and is never reused.
public struct ProblemCode: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    // Keys
    public static let keyMissing = Self(rawValue: "key_missing")
    public static let keyUnknown = Self(rawValue: "key_unknown")
    public static let keyNotSecret = Self(rawValue: "key_not_secret")
    /// The key has expired.
    public static let keyExpired = Self(rawValue: "key_expired")
    /// The secret key does not have the scope that the route needs.
    public static let keyScopeMissing = Self(rawValue: "key_scope_missing")
    /// The server has a separate address for secret keys.
    public static let secretKeyAtWrongAddress = Self(rawValue: "secret_key_at_wrong_address")

    // The shape of a request
    public static let bodyNotJSON = Self(rawValue: "body_not_json")
    public static let bodyNotUnderstood = Self(rawValue: "body_not_understood")
    public static let bodyTooLarge = Self(rawValue: "body_too_large")
    public static let bodyHasTooManyItems = Self(rawValue: "body_has_too_many_items")
    public static let bodyTooSlow = Self(rawValue: "body_too_slow")
    public static let cursorUnknown = Self(rawValue: "cursor_unknown")
    public static let cursorOutdated = Self(rawValue: "cursor_outdated")
    public static let limitOutOfRange = Self(rawValue: "limit_out_of_range")
    public static let environmentUnknown = Self(rawValue: "environment_unknown")
    public static let stateUnknown = Self(rawValue: "state_unknown")
    public static let routeUnknown = Self(rawValue: "route_unknown")
    public static let methodNotAllowed = Self(rawValue: "method_not_allowed")
    public static let requestNotUnderstood = Self(rawValue: "request_not_understood")

    // Documents
    public static let notificationNotTrusted = Self(rawValue: "notification_not_trusted")
    public static let notificationForAnotherApp = Self(rawValue: "notification_for_another_app")
    public static let notificationNotUnderstood = Self(rawValue: "notification_not_understood")
    public static let notificationIncomplete = Self(rawValue: "notification_incomplete")
    public static let purchaseNotTrusted = Self(rawValue: "purchase_not_trusted")
    /// The document was signed by Xcode's local store, not by the App Store.
    public static let purchaseFromXcode = Self(rawValue: "purchase_from_xcode")
    public static let environmentsMixed = Self(rawValue: "environments_mixed")
    public static let purchaseForAnotherApp = Self(rawValue: "purchase_for_another_app")
    public static let purchaseNotUnderstood = Self(rawValue: "purchase_not_understood")
    public static let purchaseIncomplete = Self(rawValue: "purchase_incomplete")
    /// The request has a receipt or a notification of version 1, and the app does not accept them.
    public static let legacyDocumentsNotAccepted = Self(rawValue: "legacy_documents_not_accepted")
    public static let purchasesMissing = Self(rawValue: "purchases_missing")
    public static let renewalWithoutTransaction = Self(rawValue: "renewal_without_transaction")
    /// The app has no document that matches the request.
    public static let documentUnknown = Self(rawValue: "document_unknown")
    public static let purchaseBelongsToAnotherCustomer = Self(
        rawValue: "purchase_belongs_to_another_customer")
    /// Devices have posted too many new documents of one purchase. Repeat the same request after
    /// the time in `Retry-After`.
    public static let documentBudgetSpent = Self(rawValue: "document_budget_spent")
    /// Devices have added too many ids, or linked too many known purchases. Repeat the same request
    /// after the time in `Retry-After`.
    public static let growthBudgetSpent = Self(rawValue: "growth_budget_spent")

    // Wallets
    public static let currencyUnknown = Self(rawValue: "currency_unknown")
    public static let amountNotPositive = Self(rawValue: "amount_not_positive")
    public static let walletBalanceTooLow = Self(rawValue: "wallet_balance_too_low")
    /// The request has an app key, but only the app's server may debit this currency.
    public static let spendingNotAllowed = Self(rawValue: "spending_not_allowed")
    /// A debit with an app key, and any manual credit, need the header `Idempotency-Key`.
    public static let idempotencyKeyMissing = Self(rawValue: "idempotency_key_missing")
    public static let idempotencyKeyReused = Self(rawValue: "idempotency_key_reused")

    // Content
    public static let contentUnknown = Self(rawValue: "content_unknown")
    public static let contentNotAvailable = Self(rawValue: "content_not_available")
    public static let contentLinkInvalid = Self(rawValue: "content_link_invalid")

    /// Sandbox purchases cost nothing, so they do not give the requested item.
    public static let sandboxNotAllowed = Self(rawValue: "sandbox_not_allowed")

    // Customers
    public static let customerIDNotValid = Self(rawValue: "customer_id_not_valid")
    public static let customerProofMissing = Self(rawValue: "customer_proof_missing")
    public static let customerProofNotValid = Self(rawValue: "customer_proof_not_valid")
    public static let aliasUnknown = Self(rawValue: "alias_unknown")
    public static let aliasIsFirstID = Self(rawValue: "alias_is_first_id")
    public static let aliasJoinsTwoPeople = Self(rawValue: "alias_joins_two_people")
    /// An app key may not add an id that may belong to another person.
    public static let aliasNotProven = Self(rawValue: "alias_not_proven")
    public static let purchaseUnknown = Self(rawValue: "purchase_unknown")
    public static let transferUnknown = Self(rawValue: "transfer_unknown")
    public static let transferSuperseded = Self(rawValue: "transfer_superseded")
    public static let entitlementUnknown = Self(rawValue: "entitlement_unknown")
    public static let attributeNotValid = Self(rawValue: "attribute_not_valid")
    public static let grantUnknown = Self(rawValue: "grant_unknown")
    public static let grantAlreadyEnded = Self(rawValue: "grant_already_ended")
    public static let offersKeyMissing = Self(rawValue: "offers_key_missing")
    public static let offerUnknown = Self(rawValue: "offer_unknown")
    public static let offerNotForCustomer = Self(rawValue: "offer_not_for_customer")

    // Seats
    /// The subscription has no free seat for another member.
    public static let seatsTaken = Self(rawValue: "seats_taken")
    /// The App Store or an organization, not the app, invites the members.
    public static let seatsNotManagedByApp = Self(rawValue: "seats_not_managed_by_app")
    /// The purchase is not a subscription with seats for members.
    public static let purchaseHasNoSeats = Self(rawValue: "purchase_has_no_seats")
    public static let purchaseNotRunning = Self(rawValue: "purchase_not_running")
    /// The purchaser needs no claim, because the purchase itself belongs to them.
    public static let purchaserNeedsNoSeat = Self(rawValue: "purchaser_needs_no_seat")
    public static let invitationUnknown = Self(rawValue: "invitation_unknown")
    public static let claimUnknown = Self(rawValue: "claim_unknown")
    public static let tooManyClaims = Self(rawValue: "too_many_claims")
    public static let tooManyInvitations = Self(rawValue: "too_many_invitations")

    // Forwards
    public static let forwardUnknown = Self(rawValue: "forward_unknown")

    // Webhooks
    public static let webhookUnknown = Self(rawValue: "webhook_unknown")
    /// The webhook is in the server's configuration, which no request can change.
    public static let webhookInConfiguration = Self(rawValue: "webhook_in_configuration")
    /// The app has the maximum number of webhooks.
    public static let tooManyWebhooks = Self(rawValue: "too_many_webhooks")
    public static let webhookNotValid = Self(rawValue: "webhook_not_valid")
    public static let webhookDeliveryUnknown = Self(rawValue: "webhook_delivery_unknown")

    // Reports
    public static let reportUnknown = Self(rawValue: "report_unknown")
    public static let reportNotValid = Self(rawValue: "report_not_valid")

    /// The text is not a configuration that could take effect.
    public static let configurationNotValid = Self(rawValue: "configuration_not_valid")

    // Server-side problems: the same request may succeed later.
    /// A forwarding target has not accepted the notification yet, and the response to the App Store
    /// waits for it.
    public static let forwardNotAccepted = Self(rawValue: "forward_not_accepted")
    public static let signingTimeInFuture = Self(rawValue: "signing_time_in_future")
    /// The key or the address of the request has reached a limit, which the problem names. Repeat
    /// the same request after the time in `Retry-After`.
    public static let limitReached = Self(rawValue: "limit_reached")
    public static let serverBusy = Self(rawValue: "server_busy")
    public static let storageUnavailable = Self(rawValue: "storage_unavailable")
    public static let appNotConfigured = Self(rawValue: "app_not_configured")
    public static let serverNotReady = Self(rawValue: "server_not_ready")
    public static let serverFailed = Self(rawValue: "server_failed")

    /// All codes that this version of the server uses.
    public static let known: [ProblemCode] = [
        keyMissing, keyUnknown, keyNotSecret, keyExpired, keyScopeMissing, secretKeyAtWrongAddress,
        bodyNotJSON,
        bodyNotUnderstood, bodyTooLarge,
        bodyTooSlow, bodyHasTooManyItems, cursorUnknown, cursorOutdated, limitOutOfRange,
        environmentUnknown, stateUnknown,
        forwardNotAccepted, forwardUnknown, routeUnknown,
        webhookUnknown, webhookInConfiguration, tooManyWebhooks, webhookNotValid,
        webhookDeliveryUnknown,
        reportUnknown, reportNotValid, configurationNotValid,
        methodNotAllowed, requestNotUnderstood,
        currencyUnknown, amountNotPositive, walletBalanceTooLow, spendingNotAllowed,
        idempotencyKeyMissing, idempotencyKeyReused,
        contentUnknown, contentNotAvailable, contentLinkInvalid, sandboxNotAllowed,
        notificationNotTrusted, notificationForAnotherApp, notificationNotUnderstood,
        notificationIncomplete, purchaseNotTrusted, purchaseFromXcode, environmentsMixed,
        purchaseForAnotherApp, purchaseNotUnderstood,
        purchaseIncomplete, legacyDocumentsNotAccepted, purchasesMissing, renewalWithoutTransaction,
        purchaseBelongsToAnotherCustomer, documentBudgetSpent, growthBudgetSpent, documentUnknown,
        customerIDNotValid, customerProofMissing, customerProofNotValid, aliasUnknown,
        aliasIsFirstID, aliasJoinsTwoPeople, aliasNotProven, purchaseUnknown,
        transferUnknown, transferSuperseded, entitlementUnknown, attributeNotValid,
        grantUnknown, grantAlreadyEnded,
        offersKeyMissing, offerUnknown, offerNotForCustomer,
        seatsTaken, seatsNotManagedByApp, purchaseHasNoSeats, purchaseNotRunning,
        purchaserNeedsNoSeat,
        invitationUnknown, claimUnknown, tooManyClaims, tooManyInvitations,
        signingTimeInFuture, limitReached, serverBusy, storageUnavailable, appNotConfigured,
        serverNotReady, serverFailed,
    ]
}
