import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The routes that list a customer's offers, and sign an offer.
struct OfferRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/offers", "offers",
                    "Which offers the customer is eligible for, and why",
                    description: "As far as the server knows; the App Store decides.",
                    parameters: [.environment, .proof, .storefront], output: .json(OfferList.self)),
                list),
            server.keyed(
                for: .money,
                OpenAPIOperation(
                    .post, Paths.offerSignatures, "signOffer", "Sign an offer for StoreKit",
                    description: """
                        With an app key, the customer must be eligible for the offer. A signature \
                        is valid once, within one day.
                        """,
                    parameters: [.environment, .proof], input: OfferSignatureRequest.self,
                    output: .json(OfferSignature.self)), sign),
        ]
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let environment = try RequestReader.environment(in: request)
        let storefront = try Self.storefront(in: request)
        let answers = try await engine.offers.all(
            for: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(
            OfferList(items: answers.map { OfferList.Offer($0) }, storefront: storefront))
    }

    /// Parses `storefront`: a country in three letters, as StoreKit names it.
    private static func storefront(in request: Request) throws -> String? {
        guard let text = request.uri.queryParameters["storefront"] else { return nil }
        guard text.utf8.count == storefrontLetters,
            text.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { throw ProblemError(.storefrontUnknown) }
        return String(text)
    }

    private static let storefrontLetters = 3

    @Sendable func sign(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await request.lenientValue(OfferSignatureRequest.self, max: BodyLimit.offer)
        let environment = try RequestReader.environment(in: request)
        let order = OfferRequest(
            customer: CustomerID(rawValue: asked.customerID),
            product: ProductID(rawValue: asked.productID), form: try Self.form(of: asked),
            accountToken: asked.appAccountToken, transaction: asked.transactionID)
        try Self.requireShape(of: order)
        try await server.authorization.requireProof(of: order.customer, request.headers, holder)
        let signed = try await engine.offers.sign(
            order, app: holder.app, environment: environment,
            whoeverItIs: holder.kind == .secret)
        return try JSONResponse.ok(OfferSignature(signed, form: order.form))
    }

    /// Checks the members that depend on the kind. The engine checks them, too, but cannot say
    /// which member is wrong.
    private static func requireShape(of order: OfferRequest) throws {
        switch order.form {
        case .introductory where order.transaction?.isEmpty ?? true:
            throw ProblemError(.offerTransactionMissing)
        case .promotionalText where !isTokenOrNone(order.accountToken):
            throw ProblemError(.offerTokenNotUUID)
        case .introductory, .promotionalText, .promotionalToken: return
        }
    }

    private static func isTokenOrNone(_ token: String?) -> Bool {
        guard let token, !token.isEmpty else { return true }
        return UUID(uuidString: token) != nil
    }

    private static func form(of asked: OfferSignatureRequest) throws -> OfferRequest.Form {
        switch (asked.kind, asked.offerID) {
        case ("promotional_v1", let offer?): return .promotionalText(offer)
        case ("promotional", let offer?): return .promotionalToken(offer)
        case ("introductory", nil): return .introductory
        default: throw ProblemError(.offerKindMismatch)
        }
    }
}

extension OfferList.Offer {
    fileprivate init(_ answer: OfferEligibility) {
        self.init(
            productID: answer.product.rawValue, kind: answer.kind.word,
            offerID: answer.id, eligible: answer.why.isEligible, why: answer.why.rawValue,
            reason: answer.why.sentence, appleDecides: answer.kind.isDecidedByAppStore)
    }
}

extension Ledger.Offer.Kind {
    /// Whether the App Store has criteria for the offer that no server can check.
    fileprivate var isDecidedByAppStore: Bool {
        switch self {
        case .winBack, .code, .retention, .unknown: true
        case .introductory, .promotional: false
        }
    }
}

extension OfferSignature {
    fileprivate init(_ signed: SignedOffer, form: OfferRequest.Form) {
        self.init(keyID: signed.keyID, nonce: signed.nonce, at: Timestamp(signed.at))
        if case .promotionalText = form {
            timestamp = signed.at.milliseconds
            signature = signed.signature
        } else {
            compactJWS = signed.signature
        }
        allowsIntroductory = signed.isAllowed
    }
}
