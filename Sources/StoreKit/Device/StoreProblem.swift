/// Why a call of the simulator failed: the error that StoreKit throws, or the simulator's refusal.
struct StoreProblem: Sendable {
    /// The simulator's name for an error of StoreKit, such as `network_error`. Nil if the call
    /// failed for another reason.
    var word: String?
    /// The code of a network error. Nil for other errors.
    var urlError: Int?
    /// The simulator's refusal. The refusal is thrown if the problem is not an error of StoreKit.
    var refusal: SimulatorRefusal

    private struct Body: Decodable {
        var title: String?
        var code: String?
        var remedy: String?
        var error: String?
        var urlError: Int?
    }

    /// - Parameter body: a body in the form `application/problem+json`.
    init(_ body: Data, status: Int) {
        let problem = try? JSONDecoder.simulator.decode(Body.self, from: body)
        word = problem?.error
        urlError = problem?.urlError
        refusal = SimulatorRefusal(
            code: problem?.code ?? "http_\(status)",
            message: problem?.title ?? "The simulator answered with the status \(status).",
            remedy: problem?.remedy ?? "")
    }

    /// The error that the StoreKit call throws.
    var thrown: any Error {
        word.flatMap { Self.failure(named: $0, urlError: urlError) }
            ?? Self.purchaseErrors[refusal.code] ?? StoreKitError.systemError(refusal)
    }

    /// StoreKit's error for a name of the simulator. Nil if StoreKit has no such error.
    static func failure(named word: String, urlError: Int?) -> (any Error)? {
        switch word {
        case "unknown": StoreKitError.unknown
        case "user_cancelled": StoreKitError.userCancelled
        case "network_error": StoreKitError.networkError(URLError(code(urlError)))
        case "system_error": StoreKitError.systemError(SimulatorRefusal.ordered)
        case "not_available_in_storefront": StoreKitError.notAvailableInStorefront
        case "not_entitled": StoreKitError.notEntitled
        case "unsupported": StoreKitError.unsupported
        case "invalid_presentation_context": StoreKitError.invalidPresentationContext
        case "invalid_quantity": Product.PurchaseError.invalidQuantity
        case "product_unavailable": Product.PurchaseError.productUnavailable
        case "purchase_not_allowed": Product.PurchaseError.purchaseNotAllowed
        case "ineligible_for_offer": Product.PurchaseError.ineligibleForOffer
        case "invalid_offer_identifier": Product.PurchaseError.invalidOfferIdentifier
        case "invalid_offer_price": Product.PurchaseError.invalidOfferPrice
        case "invalid_offer_signature": Product.PurchaseError.invalidOfferSignature
        case "missing_offer_parameters": Product.PurchaseError.missingOfferParameters
        case "seat_reduction_not_allowed": Product.PurchaseError.seatReductionNotAllowed
        case "multi_seat_purchase_disabled": Product.PurchaseError.multiSeatPurchaseDisabled
        case "duplicate_request": Transaction.RefundRequestError.duplicateRequest
        case "failed": Transaction.RefundRequestError.failed
        default: nil
        }
    }

    /// The errors that StoreKit throws when the simulator refuses a purchase, by the simulator's
    /// code.
    private static let purchaseErrors: [String: Product.PurchaseError] = [
        "unknown_product": .productUnavailable, "product_not_for_sale": .productUnavailable,
        "offer_not_eligible": .ineligibleForOffer, "unknown_offer": .invalidOfferIdentifier,
        "invalid_offer_signature": .invalidOfferSignature,
        "seat_reduction_not_allowed": .seatReductionNotAllowed,
        "multi_seat_purchase_disabled": .multiSeatPurchaseDisabled,
        // Apple documents only that the total must be higher, and names no separate error.
        "seats_unchanged": .invalidQuantity,
    ]

    private static func code(_ number: Int?) -> URLError.Code {
        number.flatMap { URLError.Code(rawValue: $0) } ?? .notConnectedToInternet
    }
}

/// Why the simulator refuses a call that StoreKit would not refuse: there is a mistake in the
/// device's settings or in the test. The refusal is inside a ``StoreKitError/systemError(_:)``.
public struct SimulatorRefusal: Error, Hashable, Sendable, LocalizedError {
    /// The code, for programs, such as `unknown_device`.
    public let code: String
    public let message: String
    /// What the developer can do about the refusal.
    public let remedy: String

    public var errorDescription: String? { remedy.isEmpty ? message : "\(message) \(remedy)" }

    static let noDevice = Self(
        code: "no_device", message: "No simulated device is named.",
        remedy: "Set PERENNIAL_DEVICE, or use SimulatedDevice.$current.withValue.")

    static let ordered = Self(
        code: "system_error", message: "The simulator was set to fail this call.", remedy: "")

    static func unreadable(_ path: String) -> Self {
        Self(
            code: "unreadable", message: "The simulator's answer to \(path) is not readable.",
            remedy: "Use the simulator of the same release.")
    }
}
