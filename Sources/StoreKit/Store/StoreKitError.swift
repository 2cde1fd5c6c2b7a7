public enum StoreKitError: Error, Sendable {
    case unknown
    case userCancelled
    case networkError(URLError)
    /// A system error. On Linux, a refusal of the simulator is also such an error: a
    /// ``SimulatorRefusal``.
    case systemError(any Error)
    case notAvailableInStorefront
    case notEntitled
    case unsupported
    /// A sheet cannot be shown, because it has no window. No call on Linux throws this error.
    case invalidPresentationContext
}

extension StoreKitError: LocalizedError {
    public var errorDescription: String? { failureReason }

    public var failureReason: String? {
        switch self {
        case .unknown: "An unknown error occurred."
        case .userCancelled: "The customer cancelled."
        case .networkError(let failure):
            "The App Store cannot be reached (error \(failure.code.rawValue) of URLError)."
        case .systemError(let failure): "StoreKit failed: \(failure.localizedDescription)"
        case .notAvailableInStorefront: "The product is not available in this storefront."
        case .notEntitled: "The app has no entitlement for this call."
        case .unsupported: "This device does not support the call."
        case .invalidPresentationContext: "The sheet has no window to be shown in."
        }
    }

    public var recoverySuggestion: String? { nil }
}

public struct InvalidRequestError: Error {
    public let code: Int64
    public let message: String
}
