import AppStoreFormats
import Crypto

// The faults of the API as verifyReceipt has them: HTTP says 200 in any case, so that they show in
// the status alone.

extension APIFault {
    /// What verifyReceipt answers in place of the API's error; nil where its answer is another's,
    /// or comes late. Its documentation knows nothing of limits: who asks too often is sent away
    /// for the moment.
    fileprivate func receiptAnswer(at environment: SimulatedEnvironment) -> VerifyReceiptAnswer? {
        switch self {
        case .unauthorized:
            return VerifyReceiptAnswer(.wrongSecret, environment: environment.storeEnvironment)
        case .rateLimit: return VerifyReceiptAnswer(.unavailable)
        case .error: return VerifyReceiptAnswer(.internalError)
        case .retryableError:
            let first = VerifyReceiptStatus(rawValue: VerifyReceiptStatus.internalRange.lowerBound)
            return OrderedStatus(status: first, isRetryable: true).answer(at: environment)
        case .slow, .stale, .notFound, .expiredToken: return nil
        }
    }
}

extension AppStoreSimulator {
    /// The answer as faults want it, or nothing where the true one is to be given.
    func faultyAnswer(
        toReceipt body: [UInt8], at environment: SimulatedEnvironment
    ) async -> JSON? {
        if let outage = faults.apiOutage, outage.includes(clock.now) {
            noteReceiptFault("outage")
            return VerifyReceiptAnswer(.unavailable).json
        }
        let before = earlierAnswer(to: Self.question(body, environment))
        let hasSecret = (try? VerifyReceiptRequest(parsing: body))?.password != nil
        let striking = setFaults { faults in
            faults.api.draw { fault in
                switch fault {
                case .stale: before != nil
                case .unauthorized: hasSecret
                case .rateLimit, .error, .retryableError, .slow: true
                // It has no pages, and its word for an unknown account is final (21010).
                case .notFound, .expiredToken: false
                }
            }
        }
        for fault in striking { noteReceiptFault(fault.rawValue) }
        if striking.contains(.slow) { await waitAsFaultsWant() }
        for fault in striking {
            if fault == .stale, let before = before?.body { return before }
            if let answer = fault.receiptAnswer(at: environment) { return answer.json }
        }
        return nil
    }

    /// Keeps a good answer for as long as a stale one may be asked for.
    func remember(
        _ answer: JSON, toReceipt body: [UInt8], at environment: SimulatedEnvironment
    ) {
        guard answer["status"]?.integer == VerifyReceiptStatus.valid.rawValue else { return }
        remember(APIAnswer(200, answer), to: Self.question(body, environment))
    }

    private static func question(
        _ body: [UInt8], _ environment: SimulatedEnvironment
    ) -> String {
        // Receipts are long, and answers are many.
        let digest = SHA256.hash(data: body).map { String($0, radix: 16) }.joined(separator: " ")
        return "\(environment.rawValue) verifyReceipt \(digest)"
    }

    private func noteReceiptFault(_ name: String) {
        note(.fault, [("api", .string(name)), ("endpoint", "POST verifyReceipt")])
    }
}
