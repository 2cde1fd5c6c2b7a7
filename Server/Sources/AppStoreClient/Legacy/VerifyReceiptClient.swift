import AppStoreFormats

/// Makes requests to verifyReceipt, for one app: the legacy way to query the App Store, which needs
/// a receipt and the app's shared secret, but no key.
///
/// The client never waits or retries. But if the environment that is asked first says that the
/// receipt belongs to the other environment, the client asks the other environment.
package struct VerifyReceiptClient: Sendable {
    private let secret: AppSecret
    private let now: @Sendable () -> AppStoreDate
    private let send: @Sendable (AppStoreRequest) async throws -> AppStoreResponse

    private static let path = "/verifyReceipt"

    /// - Parameter send: sends a request to the App Store, such as ``httpSender(_:hosts:timeout:)``
    ///   with ``AppStoreHosts/appleReceipts``. If `send` throws an error other than an
    ///   ``AppStoreFailure``, the App Store counts as unavailable.
    package init(
        _ secret: AppSecret, now: @escaping @Sendable () -> AppStoreDate,
        send: @escaping @Sendable (AppStoreRequest) async throws -> AppStoreResponse
    ) {
        self.secret = secret
        self.now = now
        self.send = send
    }

    /// A usable response, and the environment that it came from.
    package struct Response: Hashable, Sendable {
        package var body: [UInt8]
        package var environment: StoreEnvironment
    }

    /// Requests the current state of the account that a receipt belongs to.
    ///
    /// - Parameters:
    ///   - receipt: an app receipt or a transaction receipt, in Base64.
    ///   - excludesOldTransactions: whether to omit the history.
    ///   - environment: the environment to ask first. If the receipt's environment is not known,
    ///     Apple recommends production.
    package func response(
        about receipt: String, excludesOldTransactions: Bool = false,
        first environment: StoreEnvironment = .production
    ) async throws(AppStoreFailure) -> Response {
        var request = VerifyReceiptRequest()
        request.receiptData = receipt
        request.password = secret.text
        if excludesOldTransactions { request.excludesOldTransactions = true }
        let body = request.json.bytes
        let first = try await post(body, in: environment)
        guard let other = first.verdict.otherStore else {
            return try validated(first, in: environment)
        }
        // Each environment may say that the receipt belongs to the other environment. In this case
        // the first environment is not asked again.
        return try validated(try await post(body, in: other), in: other)
    }

    private struct Reply {
        var body: [UInt8]
        var verdict: ReceiptVerdict
    }

    private func post(
        _ body: [UInt8], in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> Reply {
        let response: AppStoreResponse
        do {
            response = try await send(
                AppStoreRequest(
                    method: "POST", path: Self.path, query: [], authorization: nil, body: body,
                    environment: environment))
        } catch let failure as AppStoreFailure { throw failure } catch {
            throw .unavailable("\(error)")
        }
        if let failure = AppStoreFailure(response, keyID: nil, now: now()) { throw failure }
        return Reply(body: response.body, verdict: try ReceiptVerdict(response.body))
    }

    private func validated(
        _ reply: Reply, in environment: StoreEnvironment
    ) throws(AppStoreFailure) -> Response {
        if let failure = reply.verdict.failure { throw failure }
        return Response(body: reply.body, environment: environment)
    }
}

/// What a status of verifyReceipt means for the caller. The HTTP status is always 200, and the
/// content type is often missing.
struct ReceiptVerdict: Hashable, Sendable {
    let status: VerifyReceiptStatus
    let isRetryable: Bool?

    init(_ body: [UInt8]) throws(AppStoreFailure) {
        let json: JSON
        do { json = try JSON(parsing: body) } catch {
            throw .unreadable("verifyReceipt: the response is not valid JSON: \(error)")
        }
        // Some proxies convert numbers to strings.
        let number = json["status"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
        guard let number else { throw .unreadable("verifyReceipt: the response has no status") }
        status = VerifyReceiptStatus(rawValue: number)
        isRetryable = VerifyReceiptResponse(json: json)?.isRetryable
    }

    /// If the status says that the wrong environment was asked, the environment that the receipt
    /// belongs to. Otherwise nil.
    var otherStore: StoreEnvironment? {
        switch status {
        case .sandboxReceipt: .sandbox
        case .productionReceipt: .production
        default: nil
        }
    }

    /// The failure that the status means. Nil if the response is usable.
    var failure: AppStoreFailure? {
        switch status {
        case .valid, .expired: nil
        case .wrongSecret:
            .unauthorized(
                "The App Store does not accept the shared secret.",
                remedy: "Compare it with the app's in App Store Connect: App Information, "
                    + "App-Specific Shared Secret.")
        case .unavailable, .internalError: .unavailable("verifyReceipt says \(status)")
        case .unknownAccount: .unknownID
        case let other where VerifyReceiptStatus.internalRange.contains(other.rawValue):
            isRetryable == true
                ? .unavailable("verifyReceipt says \(status)") : refusal("internal error")
        // Apple also returns this status for temporary trouble. So the caller retries for a while,
        // with growing pauses.
        case .malformed: refusal("the receipt is malformed, or there is temporary trouble")
        case .notAuthentic: refusal("the receipt is not authentic")
        case .unreadable: refusal("the request could not be read")
        case .sandboxReceipt, .productionReceipt: refusal("each environment names the other")
        default: refusal("a status that is not documented")
        }
    }

    private func refusal(_ message: String) -> AppStoreFailure {
        .refused(code: status.rawValue, message: message)
    }
}
