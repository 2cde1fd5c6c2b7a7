import Engine
import Hummingbird
import PerennialContract
import RevenueCatWire

/// A request of RevenueCat's SDK that failed, in the form that the SDK reads.
///
/// The SDK regards a 4xx status as final, and then finishes the transaction that it posted. So 4xx
/// is used only if a later request could not succeed either. Every other failure is 503.
struct RevenueCatProblem: Error {
    let status: HTTPResponse.Status
    let error: RevenueCatError
    let message: String
    /// Why each attribute is refused.
    private var attributes: [AttributeResult.Refusal] = []
    /// Seconds.
    private let retryAfter: Int?

    init(
        _ status: HTTPResponse.Status, _ error: RevenueCatError, _ message: String,
        retryAfter: Int? = nil
    ) {
        self.status = status
        self.error = error
        self.message = message
        self.retryAfter =
            retryAfter ?? (status.code >= 500 ? ProblemCatalogue.retryAfterSeconds : nil)
    }

    /// Some attributes were not accepted. The others are stored.
    init(refused attributes: [AttributeResult.Refusal]) {
        self.init(
            .badRequest, .invalidAttributes, "Some attributes are not valid. The others are stored."
        )
        self.attributes = attributes
    }

    /// - Parameter isFinal: whether the same request can never succeed.
    init(_ problem: ProblemError, isFinal: Bool) {
        let found = problem.problem
        let message = [found.title, found.detail].compactMap(\.self).joined(separator: " ")
        guard isFinal else {
            self.init(
                .serviceUnavailable, .internalFailure, message,
                retryAfter: problem.headers[.retryAfter].flatMap(Int.init))
            return
        }
        let (status, error) = Self.final[found.code] ?? (.badRequest, .badRequest)
        self.init(status, error, message)
    }

    /// The status and number of each problem that is not answered as an ordinary bad request.
    private static let final: [ProblemCode: (HTTPResponse.Status, RevenueCatError)] = [
        .keyMissing: (.unauthorized, .keyMissing), .keyUnknown: (.unauthorized, .keyUnknown),
        .keyExpired: (.unauthorized, .keyUnknown), .keyScopeMissing: (.forbidden, .keyUnknown),
        .entitlementUnknown: (.notFound, .badRequest),
        .customerProofMissing: (.unauthorized, .keyMissing),
        .customerProofNotValid: (.unauthorized, .keyMissing),
        .customerIDNotValid: (.badRequest, .invalidCustomerID),
        .purchaseBelongsToAnotherCustomer: (.badRequest, .cannotTransfer),
        .purchaseNotTrusted: (.badRequest, .invalidReceipt),
        .purchaseFromXcode: (.badRequest, .invalidReceipt),
        .offerNotForCustomer: (.badRequest, .ineligible),
        .offerUnknown: (.badRequest, .ineligible),
        .sandboxNotAllowed: (.badRequest, .ineligible),
        .offersKeyMissing: (.badRequest, .offerKeyMissing),
    ]

    func response() throws -> Response {
        var response = try JSONResponse.ok(
            error.value(message, attributes: attributes.map { ($0.name, $0.why) }))
        response.status = status
        if let retryAfter { response.headers[.retryAfter] = String(retryAfter) }
        return response
    }
}
