import AppStoreTrust
import Intake
import Ledger
import PerennialContract
import Storage

/// Why an operation failed. The module that writes the response decides which of the texts the
/// caller gets.
package enum EngineFailure: Error, Hashable, Sendable {
    /// The body is malformed. The text says what is wrong.
    case unreadable(String)
    case limitExceeded(what: String, limit: Int)
    /// The document is for a bundle ID that is not configured.
    case notForAnyApp(found: String?, known: [String])
    case unknownApp(AppID)
    /// The request contains a receipt, a version 1 notification or a verifyReceipt request, and the
    /// app does not accept legacy evidence.
    case legacyDisabled(AppID)
    case notTrusted(Refusal)
    case notYetVerifiable(ClockMismatch)
    /// The document is signed by Apple, but lacks a field that a purchase needs.
    case incomplete(IntakeFailure)
    /// Renewal info names no bundle ID. Only a transaction of the same purchase shows which app the
    /// purchase belongs to.
    case renewalWithoutTransaction(String)
    /// A partial posting contains documents of both environments.
    case mixedEnvironments
    case invalidCustomerID(String)
    /// One more id would exceed the limit of ids per customer.
    case tooManyIDs(limit: Int)
    /// The search query is longer than any value that can be searched for.
    case queryTooLong(limit: Int)
    /// The change of an attribute breaks a rule. Contains the attribute, and a sentence about the
    /// rule.
    case invalidAttribute(String, String)
    case belongsToAnotherCustomer(PurchaseID, OwnershipClaim.Refusal)
    case unknownPurchase(PurchaseID)
    case unknownTransfer(Int64)
    /// The transfer cannot be undone, because the purchase has been transferred again, or the share
    /// has ended.
    case transferSuperseded(Int64)
    case unknownEntitlement(EntitlementID, known: [EntitlementID])
    case unknownGrant(GrantID)
    /// The grant would end before it begins.
    case grantAlreadyExpired(Instant)
    case identityNotProven(IdentityProof.Defect)
    /// The id is not an alias of the customer.
    case unknownAlias(CustomerID)
    /// The id is the customer's primary id, to which the other ids were added.
    case primaryID(CustomerID)
    /// Both ids belong to persons, whom the app may not merge.
    case aliasJoinsTwoPeople(CustomerID)
    /// Nothing proves that both ids belong to the app's own customer.
    case aliasNotProven(CustomerID)
    /// No key for signing offers is configured.
    case offerKeyMissing
    /// The product has no such offer. The offer id is nil for an introductory offer.
    case unknownOffer(String?, ProductID?)
    case offerNotEligible(OfferEligibility.Reason)
    /// The request names a transaction for an offer, and the transaction is not known to belong to
    /// the customer.
    case offerForUnknownTransaction(String)
    case unknownCurrency(CurrencyID, known: [CurrencyID])
    case insufficientBalance(CurrencyID, balance: Int64)
    /// A request with an app key wants to credit a wallet, or to debit a currency that only the
    /// app's server may debit.
    case spendingNotAllowed(CurrencyID)
    /// An app's debit, or a manual credit, has no idempotency key, so it could not safely be
    /// repeated.
    case idempotencyKeyMissing
    /// The publication is not in the configuration, or it is listed there but has no file.
    case unknownContent(PublicationID, isListed: Bool)
    case contentNotReadable(PublicationID, reason: String)
    /// Sandbox purchases, which cost nothing, do not give access to the requested file or
    /// signature.
    case unavailableInSandbox(SandboxLimit)
    /// The idempotency key was used before for a different request.
    case idempotencyKeyReused
    /// The notification is recorded, but these addresses did not accept it. The response to the App
    /// Store depends on these addresses.
    case notForwarded([String])
    case unknownReport(String, known: [String])
    /// The query of a report breaks a rule. Contains a sentence about the rule.
    case invalidReport(String)
    case unknownWebhook(WebhookID)
    /// The webhook is in the configuration, which only the operator changes.
    case webhookInConfiguration(WebhookID)
    case tooManyWebhooks(limit: Int)
    case unknownDelivery(String)
    /// A webhook's settings break a rule. Contains a sentence about the rule.
    case invalidWebhook(String)
    case unknownOperator(String)
    /// The request breaks a rule of operators' accounts. Contains a sentence about the rule.
    case invalidOperator(String)
    /// An operator is not, or no longer, allowed to manage accounts.
    case notManager(String)
    /// The link for an operator was used, has expired, or never existed.
    case unknownLink
    case seatRefused(SeatRefusal)
    /// The cursor is past the end of the log.
    case unknownCursor(LogPosition)
    /// The cursor is from the log before a restore. The logs before and after the restore are equal
    /// up to `goOnFrom`. `goOnFrom` is nil if the cursor's log is unknown.
    case outdatedCursor(goOnFrom: LogPosition?)
    /// Too many writers are waiting for the database, so the request is rejected.
    case busy
    /// Devices have submitted too many new documents of a purchase. No further documents are
    /// accepted for a while.
    case documentBudgetExhausted(PurchaseID, wait: Duration)
    /// Requests with an app key have added too many ids and changes of ownership. They may add no
    /// more for a while.
    case growthBudgetExhausted(wait: Duration)
    /// The list of erasures cannot be written, so nobody was erased. The text is for operators.
    case erasureNotListed(String)
    case storage(String)

    /// The content to which sandbox purchases give no access.
    package enum SandboxLimit: Hashable, Sendable {
        case file
        /// The signature of an offer, in a form that does not name the environment.
        case signature
    }

    /// Converts an error thrown by a database transaction.
    init(_ error: any Error) {
        switch error {
        case let failure as EngineFailure: self = failure
        case let failure as IntakeFailure: self = .incomplete(failure)
        case let spent as DocumentBudgetExhausted:
            self = .documentBudgetExhausted(spent.purchase, wait: spent.wait)
        case let failure as StorageFailure where failure.kind == .busy: self = .busy
        case let failure as StorageFailure where failure.kind == .erased:
            self = .invalidCustomerID(failure.message)
        default: self = .storage("\(error)")
        }
    }
}

extension EngineFailure: CustomStringConvertible {
    /// The sentence for logs and the command line. HTTP responses use other texts, with a remedy.
    package var description: String { row.sentence }

    /// The code and the texts of the failure, for the caller and for the operator.
    package var row: Row {
        switch self {
        case .unreadable(let sentence):
            Row(
                .purchaseNotUnderstood, ofNotification: .notificationNotUnderstood, sentence,
                detail: sentence)
        case .limitExceeded(let what, let limit):
            Row(
                .bodyHasTooManyItems, "more than \(limit) \(what)",
                detail: "At most \(limit) \(what) are accepted at once.")
        case .notForAnyApp(let found, let known):
            Row(
                .purchaseForAnotherApp, ofNotification: .notificationForAnotherApp,
                "for bundle ID \(found ?? "(none)"), configured are \(Self.list(known))",
                detail: found.map { "It is for \(Self.quoted($0))." } ?? "It names no app.",
                operatorDetail: "expected one of \(Self.list(known))")
        case .unknownApp(let app):
            Row(.appNotConfigured, "no app \(app) is configured", operatorDetail: "app \(app)")
        case .legacyDisabled(let app):
            Row(
                .legacyDocumentsNotAccepted,
                "app \(app) does not accept evidence from before StoreKit 2")
        case .notTrusted(let refusal):
            Row(
                refusal.code, ofNotification: .notificationNotTrusted, refusal.sentence,
                detail: refusal.sentence)
        case .notYetVerifiable(let mismatch):
            Row(
                .signingTimeInFuture, mismatch.sentence, detail: mismatch.sentence,
                operatorDetail: "Compare this machine's clock with the correct time.")
        case .incomplete(let failure):
            Row(
                .purchaseIncomplete, ofNotification: .notificationIncomplete,
                "a signed document lacks \(failure)", detail: "\(failure).")
        case .renewalWithoutTransaction(let purchase):
            Row(
                .renewalWithoutTransaction,
                "renewal information of \(purchase) without a transaction",
                detail: "Purchase \(purchase).")
        case .mixedEnvironments:
            Row(.environmentsMixed, "documents of both environments in one request")
        case .invalidCustomerID(let id):
            Row(
                .customerIDNotValid, "the customer id \(id.debugDescription) is not valid",
                detail: CustomerID(rawValue: id).isPlaceholder
                    ? "\(Self.quoted(id)) is what programs send when they have no id, so many "
                        + "people would share it."
                    : Self.found(id))
        case .tooManyIDs(let limit):
            Row(.bodyHasTooManyItems, "a customer can have at most \(limit) ids")
        case .queryTooLong(let limit):
            Row(.bodyHasTooManyItems, "the query is longer than \(limit) bytes")
        case .invalidAttribute(let name, let why):
            Row(
                .attributeNotValid, "the attribute \(name.debugDescription) is not valid: \(why)",
                detail: "\(Self.quoted(name)): \(why)")
        case .belongsToAnotherCustomer(let purchase, let why):
            Row(
                .purchaseBelongsToAnotherCustomer,
                "\(purchase) belongs to another customer: \(why.rawValue)")
        case .unknownPurchase(let purchase):
            Row(.purchaseUnknown, "no purchase \(purchase) is known", isForCaller: true)
        case .unknownTransfer(let number):
            Row(
                .transferUnknown, "no transfer \(number) of this customer is known",
                isForCaller: true)
        case .transferSuperseded(let number):
            Row(
                .transferSuperseded, "transfer \(number) was superseded by another",
                isForCaller: true)
        case .unknownEntitlement(let entitlement, let known):
            Row(
                .entitlementUnknown,
                "no entitlement \(entitlement), there are \(Self.list(known.map(\.rawValue)))",
                detail: "\(Self.quoted(entitlement.rawValue)) is none of: "
                    + "\(Self.list(known.map(\.rawValue))).")
        case .unknownGrant(let grant):
            Row(.grantUnknown, "no grant \(grant) of this customer is known", isForCaller: true)
        case .grantAlreadyExpired(let until):
            Row(
                .grantAlreadyEnded, "a grant that ends at \(until) has already expired",
                isForCaller: true)
        case .offerKeyMissing: Row(.offersKeyMissing, "there is no key to sign offers with")
        case .unknownOffer(let offer, let product):
            Row(
                .offerUnknown,
                "\(product?.rawValue ?? "the product") has no offer "
                    + (offer ?? "for new customers"),
                isForCaller: true)
        case .offerNotEligible(let why):
            Row(
                .offerNotForCustomer,
                "this customer is not eligible for the offer: \(why.rawValue)",
                detail: why.sentence)
        case .offerForUnknownTransaction(let transaction):
            Row(
                .offerNotForCustomer,
                "the transaction \(transaction.debugDescription) is not known to be this "
                    + "customer's",
                isForCaller: true)
        case .unknownAlias(let alias):
            Row(
                .aliasUnknown,
                "\(alias.rawValue.debugDescription) is not an alias of this customer",
                detail: Self.found(alias.rawValue))
        case .aliasJoinsTwoPeople(let id):
            Row(
                .aliasJoinsTwoPeople, "\(id.rawValue.debugDescription) is another person",
                detail: Self.found(id.rawValue))
        case .aliasNotProven(let id):
            Row(
                .aliasNotProven,
                "nothing proves that \(id.rawValue.debugDescription) is this customer's",
                detail: Self.found(id.rawValue))
        case .primaryID(let id):
            Row(
                .aliasIsFirstID, "\(id.rawValue.debugDescription) is the customer's primary id",
                detail: Self.found(id.rawValue))
        case .identityNotProven(let lack):
            Row(
                lack == .missing ? .customerProofMissing : .customerProofNotValid,
                "the request does not prove the customer's identity: \(lack.rawValue)",
                isForCaller: lack != .missing && lack != .ofOneOnly)
        case .unknownCurrency(let currency, let known):
            Row(
                .currencyUnknown,
                "no currency \(currency), there are \(Self.list(known.map(\.rawValue)))",
                detail: "Found \(Self.shortened(currency.rawValue)).")
        case .insufficientBalance(let currency, let balance):
            Row(
                .walletBalanceTooLow, "the balance of \(currency) is only \(balance)",
                detail: "\(currency): \(balance).")
        case .spendingNotAllowed(let currency):
            Row(
                .spendingNotAllowed, "apps may not spend \(currency)",
                detail: "The currency is \(currency).")
        case .idempotencyKeyMissing:
            Row(.idempotencyKeyMissing, "the request has no idempotency key")
        case .unknownContent(let publication, let isListed):
            Row(
                .contentUnknown,
                isListed
                    ? "\(publication) has no file" : "no content \(publication) is configured",
                detail: "Found \(Self.shortened(publication.rawValue)).")
        case .contentNotReadable(let publication, let reason):
            Row(
                .contentNotAvailable, "\(publication) may not be read: \(reason)",
                detail: "\(publication): \(reason)")
        case .unavailableInSandbox(.file):
            Row(.sandboxNotAllowed, "sandbox purchases do not open files", isForCaller: true)
        case .unavailableInSandbox(.signature):
            Row(
                .sandboxNotAllowed, "the signature would also be valid in production",
                isForCaller: true)
        case .idempotencyKeyReused:
            Row(.idempotencyKeyReused, "the idempotency key was used for another request")
        case .notForwarded(let targets):
            Row(
                .forwardNotAccepted, "not accepted by \(Self.list(targets))",
                operatorDetail: Self.list(targets))
        case .unknownReport(let name, let known):
            Row(
                .reportUnknown,
                "no report \(name.debugDescription), there are \(Self.list(known))",
                detail: Self.found(name))
        case .invalidReport(let sentence):
            Row(
                .reportNotValid, "the report cannot be computed: \(sentence)",
                detail: "\(sentence.prefix(1).uppercased())\(sentence.dropFirst()).")
        case .unknownWebhook(let id): Row(.webhookUnknown, "no webhook \(id) is known")
        case .webhookInConfiguration(let id):
            Row(
                .webhookInConfiguration, "the webhook \(id) is in the configuration",
                isForCaller: true)
        case .tooManyWebhooks(let limit):
            Row(
                .tooManyWebhooks, "the app has \(limit) webhooks already",
                detail: "The app has \(limit), and cannot have more.")
        case .unknownDelivery(let message):
            Row(.webhookDeliveryUnknown, "no delivery \(message) is known")
        case .invalidWebhook(let sentence): Row(.webhookNotValid, sentence, detail: sentence)
        case .unknownOperator(let name):
            Row(
                .operatorUnknown, "no operator \(name.debugDescription) is known",
                detail: Self.found(name))
        case .invalidOperator(let sentence): Row(.operatorNotValid, sentence, detail: sentence)
        case .notManager(let name): Row(.roleNotEnough, "\(name) may not manage operators")
        case .unknownLink: Row(.operatorLinkUnknown, "the link was used, or has ended")
        case .seatRefused(let why): why.row
        case .unknownCursor(let place): Row(.cursorUnknown, "the log has no event \(place)")
        case .outdatedCursor:
            Row(.cursorOutdated, "the cursor is from the log before a restore")
        case .busy:
            Row(
                .serverBusy,
                "too many writers are waiting for the database, or a query took too long")
        case .documentBudgetExhausted(let purchase, let wait):
            Row(
                .documentBudgetSpent, "too many new documents of \(purchase), retry in \(wait)",
                detail: "Purchase \(purchase).", wait: wait)
        case .growthBudgetExhausted(let wait):
            Row(
                .growthBudgetSpent,
                "too many new ids and changes of ownership by app keys, retry in \(wait)",
                wait: wait)
        case .erasureNotListed(let why):
            Row(
                .storageUnavailable, why,
                detail: "The list of erasures cannot be written, so nobody was erased. Look at the "
                    + "server's log.", operatorDetail: why)
        case .storage(let what): Row(.storageUnavailable, what, operatorDetail: what)
        }
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }

    private static func found(_ name: String) -> String { "Found \(quoted(name))." }
}

extension Refusal {
    /// The code that is used if the refused document was posted as a purchase.
    fileprivate var code: ProblemCode {
        if isTooLong { return .bodyTooLarge }
        return isFromXcode ? .purchaseFromXcode : .purchaseNotTrusted
    }
}
