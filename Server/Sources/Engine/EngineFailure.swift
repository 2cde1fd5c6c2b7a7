import AppStoreTrust
import Intake
import Ledger
import Storage

/// Why an operation failed. The module that writes the response decides what it says about it, and
/// to whom.
package enum EngineFailure: Error, Hashable, Sendable {
    /// The body is malformed. The text says what is wrong.
    case unreadable(String)
    case limitExceeded(what: String, limit: Int)
    /// The document is for a bundle ID that is not configured.
    case notForAnyApp(found: String?, known: [String])
    case unknownApp(AppID)
    /// A receipt, a version 1 notification or a verifyReceipt request for an app that does not
    /// accept legacy evidence.
    case legacyDisabled(AppID)
    case notTrusted(Refusal)
    case notYetVerifiable(ClockMismatch)
    /// Signed by Apple, but without a field that a purchase needs.
    case incomplete(IntakeFailure)
    /// Renewal info names no bundle ID. Only a transaction of the same purchase shows which app it
    /// belongs to.
    case renewalWithoutTransaction(String)
    /// The documents of a partial posting are of both environments.
    case mixedEnvironments
    case invalidCustomerID(String)
    /// One more id would exceed the limit of ids per customer.
    case tooManyIDs(limit: Int)
    /// The search query is longer than any value that can be searched for.
    case queryTooLong(limit: Int)
    case belongsToAnotherCustomer(PurchaseID, OwnershipClaim.Refusal)
    case unknownPurchase(PurchaseID)
    case unknownTransfer(Int64)
    /// The purchase has been transferred again, or the share has ended.
    case transferSuperseded(Int64)
    case unknownEntitlement(EntitlementID, known: [EntitlementID])
    case unknownGrant(GrantID)
    /// The grant would end before it begins.
    case grantAlreadyExpired(Instant)
    case identityNotProven(IdentityProof.Defect)
    /// The id is not an alias of the customer.
    case unknownAlias(CustomerID)
    /// The id is the customer's primary id: the others were added to it.
    case primaryID(CustomerID)
    /// Both ids are persons, and an app may not make one customer of them.
    case aliasJoinsTwoPeople(CustomerID)
    /// Nothing shows that both ids are the app's own customer's.
    case aliasNotProven(CustomerID)
    /// No key for signing offers is configured.
    case offerKeyMissing
    /// The offer id is nil for an introductory offer.
    case unknownOffer(String?, ProductID?)
    case offerNotEligible(OfferEligibility.Reason)
    /// The request names a transaction for an offer, and the transaction is not known to belong to
    /// the customer.
    case offerForUnknownTransaction(String)
    case unknownCurrency(CurrencyID, known: [CurrencyID])
    case insufficientBalance(CurrencyID, balance: Int64)
    /// An app wants to debit a currency that only the app's server may debit, or to credit.
    case spendingNotAllowed(CurrencyID)
    /// An app's debit, or a credit by hand, without a key: it could not safely be repeated.
    case idempotencyKeyMissing
    /// The publication is not in the configuration; or it is listed, but has no file.
    case unknownContent(PublicationID, isListed: Bool)
    case contentNotReadable(PublicationID, reason: String)
    /// Sandbox purchases cost nothing, so they do not give access to what was requested.
    case unavailableInSandbox(SandboxLimit)
    /// The idempotency key was used before for a different request.
    case idempotencyKeyReused
    /// The notification is recorded, but these addresses did not accept it, and the response to the
    /// App Store depends on them.
    case notForwarded([String])
    case unknownReport(String, known: [String])
    /// The sentence says which rule the query of a report breaks.
    case invalidReport(String)
    case unknownWebhook(WebhookID)
    /// The webhook is in the configuration, which only the operator changes.
    case webhookInConfiguration(WebhookID)
    case tooManyWebhooks(limit: Int)
    case unknownDelivery(String)
    /// The sentence says which rule a webhook's settings break.
    case invalidWebhook(String)
    case unknownOperator(String)
    /// The sentence says which rule of accounts is broken.
    case invalidOperator(String)
    /// An operator may not act on accounts, or may no more.
    case notManager(String)
    /// A link for an operator that was used, has ended, or never was.
    case unknownLink
    case seatRefused(SeatRefusal)
    /// The cursor is past the end of the log.
    case unknownCursor(LogPosition)
    /// The cursor is from a log that existed before a restore. Up to `goOnFrom` both logs are the
    /// same; it is nil if nothing is known of the cursor's log.
    case outdatedCursor(goOnFrom: LogPosition?)
    /// Too many writers are waiting for the database, so this one is rejected.
    case busy
    /// Devices have submitted so many new documents of a purchase that no more are accepted for a
    /// while.
    case documentBudgetExhausted(PurchaseID, wait: Duration)
    /// Requests with an app key have added so many ids and changes of ownership that they may add
    /// no more for a while.
    case growthBudgetExhausted(wait: Duration)
    case storage(String)

    /// What sandbox purchases do not give access to.
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
    /// For logs and the command line. HTTP responses use other texts, with a remedy.
    package var description: String {
        switch self {
        case .unreadable(let sentence): sentence
        case .limitExceeded(let what, let limit): "more than \(limit) \(what)"
        case .notForAnyApp(let found, let known):
            "for bundle ID \(found ?? "(none)"), configured are \(known.joined(separator: ", "))"
        case .unknownApp(let app): "no app \(app) is configured"
        case .legacyDisabled(let app): "app \(app) does not accept evidence from before StoreKit 2"
        case .notTrusted(let refusal): refusal.sentence
        case .notYetVerifiable(let uncertainty): uncertainty.sentence
        case .incomplete(let failure): "a signed document lacks \(failure)"
        case .renewalWithoutTransaction(let purchase):
            "renewal information of \(purchase) without a transaction"
        case .mixedEnvironments: "documents of both environments in one request"
        case .invalidCustomerID(let id): "the customer id \(id.debugDescription) is not valid"
        case .tooManyIDs(let limit): "a customer can have at most \(limit) ids"
        case .queryTooLong(let limit): "the query is longer than \(limit) bytes"
        case .belongsToAnotherCustomer(let purchase, let why):
            "\(purchase) belongs to another customer: \(why.rawValue)"
        case .unknownPurchase(let purchase): "no purchase \(purchase) is known"
        case .unknownTransfer(let number): "no transfer \(number) of this customer is known"
        case .transferSuperseded(let number): "transfer \(number) was superseded by another"
        case .unknownEntitlement(let entitlement, let known):
            "no entitlement \(entitlement), there are "
                + known.map(\.rawValue).joined(separator: ", ")
        case .unknownGrant(let grant): "no grant \(grant) of this customer is known"
        case .grantAlreadyExpired(let until): "a grant that ends at \(until) has already expired"
        case .offerKeyMissing: "there is no key to sign offers with"
        case .unknownOffer(let offer, let product):
            "\(product?.rawValue ?? "the product") has no offer \(offer ?? "for new customers")"
        case .offerNotEligible(let why):
            "this customer is not eligible for the offer: \(why.rawValue)"
        case .offerForUnknownTransaction(let transaction):
            "the transaction \(transaction.debugDescription) is not known to be this customer's"
        case .unknownAlias(let alias):
            "\(alias.rawValue.debugDescription) is not an alias of this customer"
        case .aliasJoinsTwoPeople(let id):
            "\(id.rawValue.debugDescription) is another person"
        case .aliasNotProven(let id):
            "nothing proves that \(id.rawValue.debugDescription) is this customer's"
        case .primaryID(let id):
            "\(id.rawValue.debugDescription) is the customer's primary id"
        case .identityNotProven(let lack):
            "the request does not prove the customer's identity: \(lack.rawValue)"
        case .unknownCurrency(let currency, let known):
            "no currency \(currency), there are \(known.map(\.rawValue).joined(separator: ", "))"
        case .insufficientBalance(let currency, let balance):
            "the balance of \(currency) is only \(balance)"
        case .spendingNotAllowed(let currency): "apps may not spend \(currency)"
        case .idempotencyKeyMissing: "the request has no idempotency key"
        case .unknownContent(let publication, let isListed):
            isListed ? "\(publication) has no file" : "no content \(publication) is configured"
        case .contentNotReadable(let publication, let reason):
            "\(publication) may not be read: \(reason)"
        case .unavailableInSandbox(.file): "sandbox purchases do not open files"
        case .unavailableInSandbox(.signature): "the signature would also be valid in production"
        case .idempotencyKeyReused: "the idempotency key was used for another request"
        case .notForwarded(let targets): "not accepted by \(targets.joined(separator: ", "))"
        case .unknownReport(let name, let known):
            "no report \(name.debugDescription), there are \(known.joined(separator: ", "))"
        case .invalidReport(let sentence): "the report cannot be computed: \(sentence)"
        case .unknownWebhook(let id): "no webhook \(id) is known"
        case .webhookInConfiguration(let id): "the webhook \(id) is in the configuration"
        case .tooManyWebhooks(let limit): "the app has \(limit) webhooks already"
        case .unknownDelivery(let message): "no delivery \(message) is known"
        case .invalidWebhook(let sentence): sentence
        case .unknownOperator(let name): "no operator \(name.debugDescription) is known"
        case .invalidOperator(let sentence): sentence
        case .notManager(let name): "\(name) may not manage operators"
        case .unknownLink: "the link was used, or has ended"
        case .seatRefused(let why): "\(why)"
        case .unknownCursor(let place): "the log has no event \(place)"
        case .outdatedCursor: "the cursor is from the log before a restore"
        case .busy: "too many writers are waiting for the database, or a query took too long"
        case .documentBudgetExhausted(let purchase, let wait):
            "too many new documents of \(purchase), retry in \(wait)"
        case .growthBudgetExhausted(let wait):
            "too many new ids and changes of ownership by app keys, retry in \(wait)"
        case .storage(let what): what
        }
    }
}
