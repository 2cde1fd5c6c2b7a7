import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import RevenueCatWebhooks
import RevenueCatWire
import Storage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HTTPField.Name {
    fileprivate static let storeKitVersion = wellFormed("X-StoreKit-Version")
}

/// The routes with which RevenueCat's SDK reads the products for sale, requests signatures of
/// offers, and spends from wallets.
struct RevenueCatOfferRoutes: RouteGroup {
    /// The maximum number of offers to sign, or of products to ask about, in one request.
    static let itemsMax = 100

    let server: PerennialServer

    private var gate: RevenueCatGate { RevenueCatGate(server: server) }

    var all: [Route] {
        [
            gate.keyed(
                .get, "/v1/product_entitlement_mapping", "revenueCatMapping", signed: .always,
                mapping),
            gate.keyed(.post, "/v1/offers", "revenueCatOffers", sign),
        ]
            + gate.about(
                .get, "/offerings", "revenueCatOfferings", signed: .always, offerings)
            + gate.about(.post, "/intro_eligibility", "revenueCatEligibility", eligibility)
            + gate.about(
                .get, "/virtual_currencies", "revenueCatCurrencies", signed: .withNonce,
                currencies)
            + gate.about(
                .post, "/virtual_currencies/spend", "revenueCatSpend", signed: .withNonce, spend)
    }

    @Sendable func offerings(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let app = try engine.context.settings(of: holder.app)
        let value = RevenueCatOfferings.value(
            of: app.offerings.placements, packages: app.revenueCat.packages,
            override: try await override(
                of: try RequestReader.customerID(in: context), request, holder))
        return try gate.respond(value, taggedBy: value, to: request)
    }

    /// The offering that a backend has chosen for the customer. Without a proof that the app may
    /// require, and for an id that nobody may have, the answer is the one for everybody.
    private func override(
        of id: CustomerID, _ request: Request, _ holder: StoredKey
    ) async throws -> String? {
        let proofs = RequestAuthorization.proofs(in: request.headers, of: holder) ?? []
        do throws(EngineFailure) {
            try await engine.customers.requireProof(proofs, of: id, app: holder.app)
            return try await engine.attributes.all(of: id, app: holder.app)
                .first { $0.name == RevenueCatOfferings.overrideName }?.value
        } catch {
            switch error {
            case .identityNotProven, .invalidCustomerID: return nil
            default: throw error
            }
        }
    }

    @Sendable func mapping(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let app = try engine.context.settings(of: holder.app)
        let value = RevenueCatOfferings.mapping(of: app.entitlements)
        return try gate.respond(value, taggedBy: value, to: request)
    }

    // MARK: - Offers

    private struct Products: Decodable {
        var productIdentifiers: [String]
    }

    /// Responds with null for a product for which the server knows no introductory offer.
    @Sendable func eligibility(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let asked = try await RevenueCatGate.value(
            Products.self, of: request, max: BodyLimit.purchases)
        let answers = try await engine.offers.all(
            for: id, app: holder.app, environment: RevenueCatGate.environment(of: request)
        ).filter { $0.kind == .introductory }
        let products = Set(asked.productIdentifiers.prefix(Self.itemsMax)).sorted()
        return try JSONResponse.ok(
            RevenueCatValue.object(
                products.map { product in
                    let answer = answers.first { $0.product.rawValue == product }
                    return .init(product, answer.map { .bool($0.why.isEligible) } ?? .null)
                }))
    }

    private struct Offers: Decodable {
        var appUserId: String
        var generateOffers: [Offer]

        struct Offer: Decodable {
            var offerId: String
            var productId: String
        }
    }

    /// Signs the offers for which the customer is eligible.
    @Sendable func sign(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await RevenueCatGate.value(
            Offers.self, of: request, max: BodyLimit.purchases)
        let id = CustomerID(rawValue: asked.appUserId)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        var signed: [RevenueCatValue] = []
        for offer in asked.generateOffers.prefix(Self.itemsMax) {
            let order = OfferRequest(
                customer: id, product: ProductID(rawValue: offer.productId),
                form: .promotionalText(offer.offerId),
                accountToken: Self.accountToken(of: asked.appUserId, request))
            signed.append(try await sign(order, offer.offerId, request, holder))
        }
        return try JSONResponse.ok(RevenueCatValue.object([.init("offers", .list(signed))]))
    }

    /// With StoreKit 2, the SDK sets the id as account token only if it is a UUID. With StoreKit 1,
    /// it always sets the id as user name, and only a UUID can be signed.
    private static func accountToken(of id: String, _ request: Request) -> String? {
        let isUUID = UUID(uuidString: id) != nil
        guard request.headers[.storeKitVersion] == "1" else {
            return isUUID ? id.lowercased() : nil
        }
        return id
    }

    private func sign(
        _ order: OfferRequest, _ offer: String, _ request: Request, _ holder: StoredKey
    ) async throws -> RevenueCatValue {
        let ids: [RevenueCatValue.Member] = [
            .init("offer_id", .string(offer)), .init("product_id", .string(order.product.rawValue)),
        ]
        do {
            let signed = try await engine.offers.sign(
                order, app: holder.app, environment: RevenueCatGate.environment(of: request),
                whoeverItIs: false)
            return .object(
                [.init("key_id", .string(signed.keyID))] + ids + [
                    .init(
                        "signature_data",
                        .object([
                            .init("nonce", .string(signed.nonce)),
                            .init("signature", .string(signed.signature)),
                            .init("timestamp", .integer(signed.at.milliseconds)),
                        ])), .init("signature_error", .null),
                ])
        } catch {
            let problem = ProblemError(error, subject: .customer)
            guard problem.problem.status < 500 else { throw error }
            let found = RevenueCatProblem(problem, isFinal: true)
            return .object(
                [.init("key_id", .string(""))] + ids + [
                    .init("signature_data", .null),
                    .init("signature_error", found.error.value(found.message)),
                ])
        }
    }

    // MARK: - Wallets

    @Sendable func currencies(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try await respond(try RequestReader.customerID(in: context), request, holder)
    }

    private func respond(
        _ id: CustomerID, _ request: Request, _ holder: StoredKey
    ) async throws -> Response {
        let state = try await gate.state(of: id, request, holder)
        let all = try engine.context.settings(of: holder.app).wallets.allCurrencies
        let balances = all.map { ($0, state.balances[$0] ?? 0) }
        return try JSONResponse.ok(
            RevenueCatOfferings.currencies(Dictionary(uniqueKeysWithValues: balances)))
    }

    private struct Spending: Decodable {
        var adjustments: [String: Int64]
        var reference: String?
    }

    /// Debits one wallet. The sign of the amount has no meaning, because an app can only spend.
    @Sendable func spend(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let asked = try await RevenueCatGate.value(
            Spending.self, of: request, max: BodyLimit.order)
        guard asked.adjustments.count == 1, let (currency, amount) = asked.adjustments.first else {
            throw RevenueCatProblem(
                .badRequest, .badRequest, "Spend one currency in each request.")
        }
        let reason = asked.reference ?? ""
        try ProblemError.requireLength(for: reason, bytesMax: NewBooking.reasonBytesMax)
        let order = NewBooking(
            .debit, currency: CurrencyID(rawValue: currency),
            amount: try WalletRoutes.amount(amount == .min ? nil : abs(amount)), reason: reason,
            key: try RequestReader.idempotencyKey(in: request), by: .app)
        _ = try await engine.wallets.book(
            order, of: id, app: holder.app, environment: RevenueCatGate.environment(of: request))
        return try await respond(id, request, holder)
    }
}
