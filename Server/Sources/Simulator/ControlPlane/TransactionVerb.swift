import AppStoreFormats

/// An action on a single transaction.
enum TransactionVerb: String, Hashable, Sendable, CaseIterable {
    case refund
    case reverseRefund = "reverse-refund"
    case requestRefund = "request-refund"
}

extension SimulatorRoute {
    static func transactionRoute(_ verb: TransactionVerb) -> Self {
        post(
            "/_sim/transactions/{id}/\(verb.rawValue)", verb.summary, verb.fields,
            gives: .json("VerbAnswer")
        ) { simulator, call in
            let answer = try await simulator.change(
                transaction: call.parameter("id"), verb.act(call.body))
            return .json(answer.json)
        }
    }
}

extension TransactionVerb {
    var summary: String {
        switch self {
        case .refund: "The App Store refunds one transaction."
        case .reverseRefund: "The App Store reverses the refund of one transaction."
        case .requestRefund: "The customer requests a refund of one transaction."
        }
    }

    var fields: [SimulatorRoute.Field] {
        switch self {
        case .refund: RefundOrder.fields
        case .reverseRefund: []
        case .requestRefund: RefundRequest.fields
        }
    }

    func act(_ body: RequestBody) throws(SimulatorProblem) -> TransactionAct {
        switch self {
        case .refund: return .refund(try RefundOrder(body))
        case .reverseRefund: return .reverseRefund
        case .requestRefund:
            return .requestRefund(try RefundRequest.reason(body), try RefundRequest.decision(body))
        }
    }
}
