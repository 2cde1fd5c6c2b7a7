import AppStoreFormats
import Crypto

// The API faults in verifyReceipt. The HTTP status is always 200, so a fault shows only in the
// body's status.

extension APIFault {
    /// The verifyReceipt response that corresponds to an API fault. Nil if the fault does not
    /// apply, returns an earlier response, or only delays. The documentation of verifyReceipt names
    /// no rate limit: a client that exceeds it gets "temporarily unavailable".
    fileprivate func receiptResponse(at environment: SimulatedEnvironment) -> VerifyReceiptResponse?
    {
        switch self {
        case .unauthorized:
            return VerifyReceiptResponse(.wrongSecret, environment: environment.storeEnvironment)
        case .rateLimit: return VerifyReceiptResponse(.unavailable)
        case .error: return VerifyReceiptResponse(.internalError)
        case .retryableError:
            let first = VerifyReceiptStatus(rawValue: VerifyReceiptStatus.internalRange.lowerBound)
            return OrderedStatus(status: first, isRetryable: true).response(at: environment)
        case .slow, .stale, .notFound, .expiredToken: return nil
        }
    }
}

extension AppStoreSimulator {
    /// The response that faults cause. Nil if the true response is to be sent.
    func faultyResponse(
        toReceipt body: [UInt8], at environment: SimulatedEnvironment
    ) async -> JSON? {
        if let outage = faults.apiOutage, outage.includes(clock.now) {
            logReceiptFault("outage")
            return VerifyReceiptResponse(.unavailable).json
        }
        let before = earlierResponse(to: Self.requestKey(body, environment))
        let hasSecret = (try? VerifyReceiptRequest(parsing: body))?.password != nil
        let striking = setFaults { faults in
            faults.api.draw { fault in
                switch fault {
                case .stale: before != nil
                case .unauthorized: hasSecret
                case .rateLimit, .error, .retryableError, .slow: true
                // verifyReceipt has no pages, and its status for an unknown account is final
                // (21010).
                case .notFound, .expiredToken: false
                }
            }
        }
        for fault in striking { logReceiptFault(fault.rawValue) }
        if striking.contains(.slow) { await delayResponse() }
        for fault in striking {
            if fault == .stale, let before = before?.body { return before }
            if let answer = fault.receiptResponse(at: environment) { return answer.json }
        }
        return nil
    }

    /// Stores a successful response, so that the fault `stale` can return it later.
    func remember(
        _ answer: JSON, toReceipt body: [UInt8], at environment: SimulatedEnvironment
    ) {
        guard answer["status"]?.integer == VerifyReceiptStatus.valid.rawValue else { return }
        remember(APIResponse(200, answer), to: Self.requestKey(body, environment))
    }

    private static func requestKey(
        _ body: [UInt8], _ environment: SimulatedEnvironment
    ) -> String {
        // A digest stands for the body, because receipts are long and there are many responses.
        let digest = SHA256.hash(data: body).map { String($0, radix: 16) }.joined(separator: " ")
        return "\(environment.rawValue) verifyReceipt \(digest)"
    }

    private func logReceiptFault(_ name: String) {
        appendToLog(.fault, [("api", .string(name)), ("endpoint", "POST verifyReceipt")])
    }
}
