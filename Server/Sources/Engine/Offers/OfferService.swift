import AppStoreClient
import AppStoreFormats
import Foundation
import Ledger
import Storage

/// A request to sign an offer, so that a device can buy at the offer's price.
package struct OfferRequest: Hashable, Sendable {
    package var customer: CustomerID
    package var product: ProductID
    package var form: Form
    /// The account token that the app passes at the purchase.
    package var accountToken: String?
    /// The id of any transaction of the customer, or of the app transaction.
    package var transaction: String?

    package enum Form: Hashable, Sendable {
        /// A promotional offer, signed in Apple's first format.
        case promotionalText(String)
        /// A promotional offer, signed as a JWS.
        case promotionalToken(String)
        case introductory
    }

    package init(
        customer: CustomerID, product: ProductID, form: Form, accountToken: String? = nil,
        transaction: String? = nil
    ) {
        self.customer = customer
        self.product = product
        self.form = form
        self.accountToken = accountToken
        self.transaction = transaction
    }
}

/// A signed offer.
package struct SignedOffer: Hashable, Sendable {
    package var keyID: String
    /// The nonce of the signature: a UUID in lower case.
    package var nonce: String
    package var at: Instant
    /// The signature: Base64 of DER, or a compact JWS.
    package var signature: String
    /// Whether the signature allows an introductory offer. Nil for other offers.
    package var isAllowed: Bool?
}

/// Decides which offers a customer is eligible for, and signs offers.
package struct OfferService: Sendable {
    let context: Context
    let tokens: TokenService
    let signers: [AppID: OfferSigner]
    let offeringSignatures = OfferingSignatures()

    /// Whether the customer is eligible for each offer of each product, according to the stored
    /// purchases.
    package func all(
        for id: CustomerID, app appID: AppID, environment: Ledger.Environment
    ) async throws(EngineFailure) -> [OfferEligibility] {
        try await eligibility(of: id, naming: nil, app: appID, environment: environment).answers
    }

    /// The customer's eligibility for offers, and whether a transaction belongs to the customer.
    /// Without a transaction, `isTheirs` is true.
    private func eligibility(
        of id: CustomerID, naming transaction: TransactionID?, app appID: AppID,
        environment: Ledger.Environment
    ) async throws(EngineFailure) -> (answers: [OfferEligibility], isTheirs: Bool) {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        let now = context.now()
        return try await context.read { tx in
            let timelines = try CustomerReader(tx).timelines(
                answeringFor: id, in: app, environment: environment)
            let isTheirs = try transaction.map {
                try PurchaseDecisions(tx).isTransaction(
                    $0, of: timelines.map(\.purchase), in: appID)
            }
            return (
                app.offers.eligibility(for: timelines, at: now, rules: app.rules), isTheirs ?? true
            )
        }
    }

    /// Signs an offer for a customer who is eligible for it. Each signature is new, with a new
    /// nonce.
    ///
    /// Apple's signatures do not name an environment, but a transaction does. So if the customer is
    /// eligible in the sandbox, the signature must name a sandbox transaction of the customer.
    /// Without that rule, a purchase that cost nothing would lower a price in production.
    ///
    /// - Parameter whoeverItIs: whether to sign an offer even if the customer is not eligible
    ///   according to the stored data, or if the transaction is unknown. True for an app's server,
    ///   which may have more data. False for an app key: anyone can read such a key, and could
    ///   invent a customer who never bought anything.
    package func sign(
        _ order: OfferRequest, app appID: AppID, environment: Ledger.Environment, whoeverItIs: Bool
    ) async throws(EngineFailure) -> SignedOffer {
        guard let signer = signers[appID] else { throw .offerKeyMissing }
        let past = try await eligibility(
            of: order.customer, naming: order.transaction.map(TransactionID.init(rawValue:)),
            app: appID, environment: environment)
        let answers = past.answers.filter { $0.product == order.product }
        let mayName = past.isTheirs || whoeverItIs
        let isOfProduction = environment == .production
        let now = context.now()
        let (date, nonce) = (AppStoreDate(now), UUID().uuidString.lowercased())
        var signed = SignedOffer(
            keyID: signer.keyID, nonce: nonce, at: now, signature: "", isAllowed: nil)
        let product = order.product.rawValue
        do {
            switch order.form {
            case .promotionalText(let offer):
                try requireOffer(offer, among: answers, whoeverItIs: whoeverItIs)
                guard isOfProduction || whoeverItIs else {
                    throw EngineFailure.unavailableInSandbox(.signature)
                }
                signed.signature = try signer.promotionalSignature(
                    product: product, offer: offer, token: try order.uuid(), nonce: nonce, at: date)
            case .promotionalToken(let offer):
                try requireOffer(offer, among: answers, whoeverItIs: whoeverItIs)
                guard mayName else { throw order.transactionUnknown }
                guard isOfProduction || whoeverItIs || order.namesTransaction else {
                    throw EngineFailure.unavailableInSandbox(.signature)
                }
                signed.signature = try signer.promotionalToken(
                    product: product, offer: offer, transaction: order.transaction, nonce: nonce,
                    at: date)
            case .introductory:
                let answer = answers.first { $0.kind == .introductory }
                guard let answer else { throw EngineFailure.unknownOffer(nil, order.product) }
                guard let transaction = order.transaction, !transaction.isEmpty else {
                    throw EngineFailure.unreadable("transaction_id is missing.")
                }
                guard mayName || !answer.why.isEligible else { throw order.transactionUnknown }
                signed.isAllowed = answer.why.isEligible
                signed.signature = try signer.introductoryToken(
                    product: product, isAllowed: answer.why.isEligible, transaction: transaction,
                    nonce: nonce, at: date)
            }
            return signed
        } catch let failure as EngineFailure {
            throw failure
        } catch { throw .storage("Signing an offer failed: \(error)") }
    }

    private func requireOffer(
        _ offer: String, among answers: [OfferEligibility], whoeverItIs: Bool
    ) throws(EngineFailure) {
        let answer = answers.first { $0.kind == .promotional && $0.id == offer }
        guard let answer else { throw .unknownOffer(offer, answers.first?.product) }
        guard answer.why.isEligible || whoeverItIs else { throw .offerNotEligible(answer.why) }
    }
}

extension OfferRequest {
    fileprivate var namesTransaction: Bool { transaction?.isEmpty == false }

    fileprivate var transactionUnknown: EngineFailure {
        .offerForUnknownTransaction(transaction ?? "")
    }

    /// The account token, which must be a UUID. Empty if no token was given.
    fileprivate func uuid() throws(EngineFailure) -> String {
        guard let accountToken, !accountToken.isEmpty else { return "" }
        guard UUID(uuidString: accountToken) != nil else {
            throw .unreadable("app_account_token must be a UUID.")
        }
        return accountToken
    }
}
