import AppStoreTrust
import Intake
import Ledger
import Storage

/// Why a verb was not carried out. What is said to whom about it is decided where the answer is
/// written.
package enum EngineFailure: Error, Hashable, Sendable {
    /// The body is not what it should be.
    case unreadable(String)
    case tooMuch(what: String, limit: Int)
    /// The document is for a bundle that is not in the configuration.
    case notForAnyApp(found: String?, known: [String])
    case unknownApp(AppID)
    /// A receipt, a notification of version 1 or a question of verifyReceipt, for an app that does
    /// not take any.
    case legacyOff(AppID)
    case notTrusted(Refusal)
    case cannotTellNow(Uncertainty)
    /// Signed by Apple, but it lacks what a purchase needs.
    case incomplete(IntakeFailure)
    /// Renewal information names no bundle: only a transaction of the same purchase shows whose app
    /// it is about.
    case renewalWithoutTransaction(String)
    case meaninglessCustomerID(String)
    /// One id more would mean the same customer.
    case tooManyIDs(limit: Int)
    /// Longer than all that can be looked for.
    case queryTooLong(limit: Int)
    case belongsToAnotherCustomer(PurchaseID, Claim.Refusal)
    case unknownPurchase(PurchaseID)
    case unknownTransfer(LogPlace)
    /// The purchase has gone on, or the share has ended.
    case transferSuperseded(Int64)
    case unknownEntitlement(EntitlementID, known: [EntitlementID])
    case unknownGrant(GrantID)
    /// It would end before it begins.
    case grantWithoutTime(Instant)
    case noProof(IdentityProof.Lack)
    /// It is no other id of the customer.
    case unknownAlias(CustomerID)
    /// The others were added to it.
    case firstID(CustomerID)
    /// There is no key to sign offers with.
    case noOffersKey
    /// Nil: an introductory one.
    case unknownOffer(String?, ProductID?)
    case offerNotForThem(OfferAnswer.Why)
    /// An offer is to be signed for a transaction that is not known as the customer's.
    case offerForUnknownTransaction(String)
    case unknownCurrency(CurrencyID, known: [CurrencyID])
    case walletHasTooLittle(CurrencyID, balance: Int64)
    /// Not in the configuration; or in it, and without a file.
    case unknownContent(PublicationID, isListed: Bool)
    case contentNotOpen(PublicationID, reason: String)
    /// Purchases of the sandbox cost nothing: what is asked for is not given for them.
    case notForSandbox(SandboxLimit)
    /// The name given to a request was given to another one before.
    case keyOfAnotherRequest
    /// The notification is kept, but these addresses, which the App Store's answer waits for, did
    /// not accept it.
    case notForwarded([String])
    /// A place in the log behind its end.
    case unknownCursor(LogPlace)
    /// A place in the log as it was before a restore. `goOnFrom`: up to there it is the same log;
    /// nil where nothing is known of the one that the place is of.
    case outdatedCursor(goOnFrom: LogPlace?)
    /// So many writers wait for the database that one more is turned away.
    case busy
    /// Devices have brought so many new documents of a purchase that no more are taken for a while.
    case documentBudgetSpent(PurchaseID, wait: Duration)
    case storage(String)

    /// What is not given for purchases that cost nothing.
    package enum SandboxLimit: Hashable, Sendable {
        case file
        /// Of an offer, in a form that says nothing of the environment.
        case signature
    }

    /// What a database transaction threw, as ours.
    init(_ error: any Error) {
        switch error {
        case let failure as EngineFailure: self = failure
        case let failure as IntakeFailure: self = .incomplete(failure)
        case let spent as DocumentBudgetSpent:
            self = .documentBudgetSpent(spent.purchase, wait: spent.wait)
        case let failure as StorageFailure where failure.kind == .busy: self = .busy
        case let failure as StorageFailure where failure.kind == .erased:
            self = .meaninglessCustomerID(failure.what)
        default: self = .storage("\(error)")
        }
    }
}

extension EngineFailure: CustomStringConvertible {
    /// For logs and the command line; over HTTP there are other words, and a remedy.
    package var description: String {
        switch self {
        case .unreadable(let sentence): sentence
        case .tooMuch(let what, let limit): "more than \(limit) \(what)"
        case .notForAnyApp(let found, let known):
            "for bundle \(found ?? "(none)"), configured are \(known.joined(separator: ", "))"
        case .unknownApp(let app): "no app \(app) is configured"
        case .legacyOff(let app): "app \(app) takes no evidence from before StoreKit 2"
        case .notTrusted(let refusal): refusal.sentence
        case .cannotTellNow(let uncertainty): uncertainty.sentence
        case .incomplete(let failure): "a signed document lacks \(failure)"
        case .renewalWithoutTransaction(let purchase):
            "renewal information of \(purchase) without a transaction"
        case .meaninglessCustomerID(let id): "the id \(id.debugDescription) means nobody"
        case .tooManyIDs(let limit): "more than \(limit) ids of one customer"
        case .queryTooLong(let limit): "a query of more than \(limit) bytes"
        case .belongsToAnotherCustomer(let purchase, let why):
            "\(purchase) is another customer's: \(why.rawValue)"
        case .unknownPurchase(let purchase): "no purchase \(purchase) is known"
        case .unknownTransfer(let place): "no transfer \(place) of this customer is known"
        case .transferSuperseded(let number): "transfer \(number) was followed by another"
        case .unknownEntitlement(let entitlement, let known):
            "no entitlement \(entitlement), there are "
                + known.map(\.rawValue).joined(separator: ", ")
        case .unknownGrant(let grant): "no grant \(grant) of this customer is known"
        case .grantWithoutTime(let until): "a grant until \(until) is over already"
        case .noOffersKey: "there is no key to sign offers with"
        case .unknownOffer(let offer, let product):
            "\(product?.rawValue ?? "the product") has no offer \(offer ?? "for new customers")"
        case .offerNotForThem(let why): "the offer is not for this customer: \(why.rawValue)"
        case .offerForUnknownTransaction(let transaction):
            "the transaction \(transaction.debugDescription) is not known as this customer's"
        case .unknownAlias(let alias):
            "\(alias.rawValue.debugDescription) is no other id of this customer"
        case .firstID(let id):
            "\(id.rawValue.debugDescription) is the id that the others were added to"
        case .noProof(let lack): "the request does not prove its customer: \(lack.rawValue)"
        case .unknownCurrency(let currency, let known):
            "no currency \(currency), there are \(known.map(\.rawValue).joined(separator: ", "))"
        case .walletHasTooLittle(let currency, let balance): "\(currency) has only \(balance)"
        case .unknownContent(let publication, let isListed):
            isListed ? "\(publication) has no file" : "there is no content \(publication)"
        case .contentNotOpen(let publication, let reason):
            "\(publication) may not be read: \(reason)"
        case .notForSandbox(.file): "no file is given out for purchases of the sandbox"
        case .notForSandbox(.signature): "the signature would count for the production store, too"
        case .keyOfAnotherRequest: "the idempotency key belongs to another request"
        case .notForwarded(let targets): "not accepted by \(targets.joined(separator: ", "))"
        case .unknownCursor(let place): "the log has no event \(place)"
        case .outdatedCursor: "the cursor is of the log before a restore"
        case .busy: "too many writers wait for the database"
        case .documentBudgetSpent(let purchase, let wait):
            "too many new documents of \(purchase), for \(wait)"
        case .storage(let what): what
        }
    }
}
