extension Product {
    public enum PurchaseResult: Sendable {
        case success(VerificationResult<Transaction>)
        case userCancelled
        /// A parent or the customer must act first. After that, the transaction arrives in
        /// ``Transaction/updates``.
        case pending
    }

    public enum PurchaseError: Error, Equatable, Hashable {
        case invalidQuantity
        case productUnavailable
        case purchaseNotAllowed
        case ineligibleForOffer
        case invalidOfferIdentifier
        case invalidOfferPrice
        case invalidOfferSignature
        case missingOfferParameters
        /// The purchase requested fewer seats than the subscription has. The customer can give up
        /// seats only in the App Store, for the next period.
        case seatReductionNotAllowed
        case multiSeatPurchaseDisabled
    }

    /// Shows the payment sheet. With the simulator's route `next-sheet`, a test sets what the
    /// customer does with the sheet.
    ///
    /// - Throws: ``PurchaseError`` or ``StoreKitError``.
    @MainActor public func purchase(
        options: Set<PurchaseOption> = []
    ) async throws -> PurchaseResult {
        try await PurchaseCall(product: self, options: options).result()
    }
}

extension Product.PurchaseError: LocalizedError {
    public var errorDescription: String? { failureReason }

    public var failureReason: String? {
        switch self {
        case .invalidQuantity: "The quantity is not valid."
        case .productUnavailable: "The product is not for sale."
        case .purchaseNotAllowed: "This device does not allow purchases."
        case .ineligibleForOffer: "The customer is not eligible for the offer."
        case .invalidOfferIdentifier: "The product has no such offer."
        case .invalidOfferPrice: "The price of the offer is not valid."
        case .invalidOfferSignature: "The signature of the offer is not valid."
        case .missingOfferParameters: "The offer lacks parameters."
        case .seatReductionNotAllowed: "A purchase cannot reduce the number of seats."
        case .multiSeatPurchaseDisabled: "The product is not sold in several seats."
        }
    }

    public var recoverySuggestion: String? { nil }
}

/// One purchase on a device.
struct PurchaseCall: Sendable {
    /// The maximum number of units in one purchase of a consumable or a non-renewing subscription,
    /// as at Apple.
    static let quantityMax = 10

    let product: Product
    let options: Set<Product.PurchaseOption>
    var client = StoreClient(.current)

    private struct Answer: Decodable {
        let result: String
        let signedTransaction: String?
        let verification: String?
        let error: String?
        let urlError: Int?
    }

    func result() async throws -> Product.PurchaseResult {
        try await checkStorefront()
        let answer = try await client.post("purchases", fields(), as: Answer.self)
        switch answer.result {
        case "purchased":
            guard let jws = answer.signedTransaction,
                let bought = VerificationResult<Transaction>(jws, answer.verification)
            else { throw StoreKitError.systemError(SimulatorRefusal.unreadable("purchases")) }
            return .success(bought)
        case "pending": return .pending
        case "cancelled": return .userCancelled
        default:
            let failure = answer.error.flatMap {
                StoreProblem.failure(named: $0, urlError: answer.urlError)
            }
            throw failure ?? StoreKitError.unknown
        }
    }

    /// The body for the simulator's route.
    private func fields() async throws -> [String: any Sendable] {
        var fields: [String: any Sendable] = ["product_id": product.id]
        for option in options {
            switch option.kind {
            case .appAccountToken(let token): fields["app_account_token"] = token.uuidString
            case .quantity(let quantity):
                guard (1...quantityMax).contains(quantity) else {
                    throw Product.PurchaseError.invalidQuantity
                }
                fields["quantity"] = quantity
            case .seats(let total): fields["seats"] = total
            case .winBack(let id):
                guard let id else { throw Product.PurchaseError.invalidOfferIdentifier }
                fields["offer"] = id
            case .signedOffer(let id, let jws): fields["offer"] = ["id": id, "jws": jws]
            case .offerSignature(let id, let signature):
                let offer: [String: any Sendable] = ["id": id, "signature": signature.fields]
                fields["offer"] = offer
            case .introductoryEligibility(let jws): fields["introductory_eligibility"] = jws
            case .billingPlan(let plan): fields["billing_plan"] = plan
            case .asksToBuy(true):
                if try await isSandbox() { fields["choice"] = "ask" }
            case .asksToBuy(false), .custom, .onStorefrontChange, .invitationSheetSuppressed: break
            }
        }
        return fields
    }

    /// The maximum number of units of the product that can be bought at once.
    private var quantityMax: Int {
        [.consumable, .nonRenewable].contains(product.type) ? Self.quantityMax : 1
    }

    /// If the product is not from the present storefront, asks the app whether to continue.
    private func checkStorefront() async throws {
        for case .onStorefrontChange(let shouldContinue) in options.map(\.kind) {
            guard let now = await Storefront.read(by: client), now.countryCode != product.country
            else { continue }
            guard shouldContinue.ask(now) else { throw StoreKitError.notAvailableInStorefront }
        }
    }

    private func isSandbox() async throws -> Bool {
        struct Device: Decodable { let environment: String }
        return try await client.read("", as: Device.self).environment == "sandbox"
    }
}
