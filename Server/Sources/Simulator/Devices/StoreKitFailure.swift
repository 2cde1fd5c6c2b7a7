import AppStoreFormats

/// The errors that StoreKit throws. Their names are those of its cases, in lower case with
/// underscores. No two error types of StoreKit share a case name.
enum StoreKitFailure: String, Hashable, Sendable, CaseIterable {
    // StoreKitError
    case unknown
    case userCancelled = "user_cancelled"
    case networkError = "network_error"
    case systemError = "system_error"
    case notAvailableInStorefront = "not_available_in_storefront"
    case notEntitled = "not_entitled"
    case unsupported
    // Product.PurchaseError
    case invalidQuantity = "invalid_quantity"
    case productUnavailable = "product_unavailable"
    case purchaseNotAllowed = "purchase_not_allowed"
    case ineligibleForOffer = "ineligible_for_offer"
    case invalidOfferIdentifier = "invalid_offer_identifier"
    case invalidOfferPrice = "invalid_offer_price"
    case invalidOfferSignature = "invalid_offer_signature"
    case missingOfferParameters = "missing_offer_parameters"
    // Transaction.RefundRequestError
    case duplicateRequest = "duplicate_request"
    case failed

    /// The error type in StoreKit to which a case belongs.
    enum Kind: Hashable, Sendable {
        case general
        case purchase
        case refundRequest
    }

    var kind: Kind {
        switch self {
        case .unknown, .userCancelled, .networkError, .systemError, .notAvailableInStorefront,
            .notEntitled, .unsupported:
            .general
        case .invalidQuantity, .productUnavailable, .purchaseNotAllowed, .ineligibleForOffer,
            .invalidOfferIdentifier, .invalidOfferPrice, .invalidOfferSignature,
            .missingOfferParameters:
            .purchase
        case .duplicateRequest, .failed: .refundRequest
        }
    }
}

/// A call of StoreKit for which an error can be set, as in `SKTestSession`. `SKTestSession` has a
/// ninth kind of error, which is about the verification of documents; see ``DocumentVerdict``.
enum DeviceCall: String, Hashable, Sendable, CaseIterable {
    case products
    case purchase
    case sync
    case status
    case appTransaction = "app_transaction"
    case manage
    case refund
    case redeem

    /// Whether the call fails without a network. A device responds to other calls from its cache.
    var needsStore: Bool {
        switch self {
        case .products, .purchase, .sync, .manage, .refund, .redeem: true
        case .status, .appTransaction: false
        }
    }

    /// The errors that StoreKit documents for the call.
    var failures: [StoreKitFailure] {
        StoreKitFailure.allCases.filter { failure in
            switch failure.kind {
            case .general: true
            case .purchase: self == .purchase
            case .refundRequest: self == .refund
            }
        }
    }
}

extension SimulatorProblem {
    /// An error of StoreKit for a call on a device.
    ///
    /// - Parameter urlError: the code of Foundation's `URLError`, for a network error.
    static func storeKit(
        _ failure: StoreKitFailure, in call: DeviceCall, urlError: Int64?
    ) -> Self {
        var problem = Self(
            "storekit_error", status: failure == .networkError ? 503 : 409,
            "StoreKit fails the call \(call.rawValue) with \(failure.rawValue).",
            remedy: "POST …/errors and …/network of the device set which calls fail.")
        problem.storeKit = failure
        problem.urlError = failure == .networkError ? urlError : nil
        return problem
    }
}

extension AppStoreSimulator {
    /// The error with which a call on a device fails now: the error that was set, or the error that
    /// its network causes. Waits first if the network is slow.
    ///
    /// - Parameter needsStore: whether the call fails without a network.
    func failure(
        of call: DeviceCall, on deviceID: String, needsStore: Bool? = nil
    ) async throws(SimulatorProblem) -> StoreKitFailure? {
        let id = try world.device(deviceID).id
        let needsStore = needsStore ?? call.needsStore
        if needsStore, phones[id]?.network == .slow { await delayAnswer(on: id) }
        if let ordered = phones[id]?.failures[call] { return ordered }
        let isCut = phones[id].map { !$0.network.reachesStore } ?? false
        return needsStore && isCut ? .networkError : nil
    }

    /// Throws StoreKit's error for a call on a device; see ``failure(of:on:needsStore:)``.
    func check(
        _ call: DeviceCall, on deviceID: String, needsStore: Bool? = nil
    ) async throws(SimulatorProblem) {
        guard let failure = try await failure(of: call, on: deviceID, needsStore: needsStore)
        else { return }
        throw .storeKit(failure, in: call, urlError: urlError(on: deviceID))
    }

    /// The code of `URLError` in a network error of this device.
    func urlError(on deviceID: String) -> Int64 {
        (phones[deviceID]?.network ?? .online).urlError
    }

    /// Sets errors for calls on a device. These errors stay until they are replaced.
    ///
    /// - Parameter changes: the error of each call that changes; nil removes the error.
    func setFailures(
        _ changes: [DeviceCall: StoreKitFailure?], verdict: DocumentVerdict??, on deviceID: String
    ) throws(SimulatorProblem) {
        let id = try world.device(deviceID).id
        for (call, failure) in changes { phones[id, default: Phone()].failures[call] = failure }
        if let verdict { phones[id, default: Phone()].verdict = verdict }
    }
}
