import Engine
import Ledger

extension ProblemError {
    /// The subject of a request. The same failure has another code and another remedy for each
    /// subject.
    enum Subject {
        case notification
        case purchases
        case customer
    }

    /// Maps an engine failure to a problem. No other code maps them.
    init(_ failure: EngineFailure, subject: Subject) {
        let (row, isNotification) = (failure.row, subject == .notification)
        self.init(
            Self.variant(for: failure, isNotification: isNotification)
                ?? .of(isNotification ? row.notificationCode : row.code),
            detail: row.detail, operatorDetail: row.operatorDetail)
        if let wait = row.wait {
            headers[.retryAfter] = String(max(1, wait.components.seconds + 1))
        }
        problem.limit = Self.limit(in: failure)
    }

    /// The key of the app's configuration that sets the limit. Nil if the failure is about no
    /// limit of that kind.
    private static func limit(in failure: EngineFailure) -> String? {
        switch failure {
        case .documentBudgetExhausted: "documents_per_purchase_and_hour"
        case .growthBudgetExhausted: "growth_per_hour"
        default: nil
        }
    }

    /// The entry for a failure if its texts depend on more than its code.
    private static func variant(
        for failure: EngineFailure, isNotification: Bool
    ) -> ProblemCatalogue.Entry? {
        switch failure {
        case .notTrusted: isNotification ? nil : variant(forUntrustedPurchase: failure)
        case .legacyDisabled: isNotification ? .version1NotAccepted : nil
        case .tooManyIDs(let limit): .tooManyIDs(max: limit)
        case .queryTooLong(let limit): .queryTooLong(bytesMax: limit)
        case .belongsToAnotherCustomer(let purchase, let why):
            .purchaseBelongsToAnotherCustomer(why).variant(detail: why.sentence(about: purchase))
        case .identityNotProven(.ofOneOnly): .customerProofOfOneOnly
        case .identityNotProven(.endless): .customerProofEndless
        case .offerForUnknownTransaction: .offerTransactionUnknown
        case .unknownCurrency(_, let known): .currencyUnknown(known: known)
        case .unknownContent(_, isListed: true): .contentWithoutFile
        case .unavailableInSandbox(.signature): .signatureNotInSandbox
        case .unknownReport(_, let known): .reportUnknown(known: known)
        case .outdatedCursor(let place?): .cursorOutdated(after: place)
        default: nil
        }
    }

    private static func variant(
        forUntrustedPurchase failure: EngineFailure
    ) -> ProblemCatalogue.Entry? {
        guard case .notTrusted(let refusal) = failure else { return nil }
        if refusal.isTooLong { return .documentTooLarge }
        if refusal.isFromXcode { return nil }
        return switch refusal.reason {
        case .wrongBundle: .purchaseOfForeignBundle
        case .environmentNeverTrusted: .receiptFromXcode
        default: nil
        }
    }
}
