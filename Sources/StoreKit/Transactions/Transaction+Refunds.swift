extension Transaction {
    public enum RefundRequestError: Error, Equatable, Hashable, Sendable {
        case duplicateRequest
        case failed
    }

    public enum RefundRequestStatus: Equatable, Hashable, Sendable {
        case success
        case userCancelled
    }

    /// Shows the sheet in which customers ask for a refund. Apple's function has a scene as an
    /// argument, but Linux has no scenes.
    ///
    /// - Throws: ``RefundRequestError`` or ``StoreKitError``.
    public func beginRefundRequest() async throws -> RefundRequestStatus {
        try await Self.beginRefundRequest(for: id)
    }

    /// Shows the refund sheet for a transaction, as ``beginRefundRequest()`` does.
    @MainActor public static func beginRefundRequest(
        for transactionID: UInt64
    ) async throws -> RefundRequestStatus {
        let answer = try await StoreClient(.current).post(
            "refund-request", ["transaction_id": "\(transactionID)"], as: RefundAnswer.self)
        switch answer.result {
        case "success": return .success
        case "user_cancelled": return .userCancelled
        case "duplicate_request": throw RefundRequestError.duplicateRequest
        default: throw RefundRequestError.failed
        }
    }

    private struct RefundAnswer: Decodable {
        let result: String
    }
}

extension Transaction.RefundRequestError: LocalizedError {
    public var errorDescription: String? { failureReason }

    public var failureReason: String? {
        switch self {
        case .duplicateRequest: "A refund of this purchase was requested before."
        case .failed: "The request failed."
        }
    }

    public var recoverySuggestion: String? { nil }
}
