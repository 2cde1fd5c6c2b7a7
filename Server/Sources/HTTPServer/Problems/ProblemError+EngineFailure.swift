import Engine
import Ledger

extension ProblemError {
    /// What a request was about. The same failure has another code and another remedy for each.
    enum Subject {
        case notification
        case purchases
        case customer
    }

    /// Maps an engine failure to a problem. This is the only place that does.
    init(_ failure: EngineFailure, subject: Subject) {
        self.init(
            Self.entry(for: failure, isNotification: subject == .notification),
            detail: Self.detail(of: failure), operatorDetail: Self.operatorDetail(of: failure))
    }

    private static func entry(
        for failure: EngineFailure, isNotification: Bool
    ) -> ProblemCatalogue.Entry {
        switch failure {
        case .unreadable: isNotification ? .notificationNotUnderstood : .purchaseNotUnderstood
        case .notForAnyApp: isNotification ? .notificationForAnotherApp : .purchaseForAnotherApp
        case .notTrusted:
            isNotification ? .notificationNotTrusted : entry(forUntrustedPurchase: failure)
        case .incomplete: isNotification ? .notificationIncomplete : .purchaseIncomplete
        case .legacyDisabled: isNotification ? .version1NotAccepted : .legacyDocumentsNotAccepted
        case .limitExceeded(let what, let limit): .tooMany(what, max: limit)
        case .unknownApp: .appNotConfigured
        case .notYetVerifiable: .signingTimeInFuture
        case .renewalWithoutTransaction: .renewalWithoutTransaction
        case .mixedEnvironments: .environmentsMixed
        case .invalidCustomerID: .customerIDNotValid
        case .tooManyIDs(let limit): .tooManyIDs(max: limit)
        case .queryTooLong(let limit): .queryTooLong(bytesMax: limit)
        case .belongsToAnotherCustomer(_, let why): .purchaseBelongsToAnotherCustomer(why)
        case .unknownPurchase: .purchaseUnknown
        case .unknownTransfer: .transferUnknown
        case .transferSuperseded: .transferSuperseded
        case .unknownEntitlement: .entitlementUnknown
        case .unknownGrant: .grantUnknown
        case .grantAlreadyExpired: .grantAlreadyEnded
        case .identityNotProven(let fault): entry(for: fault)
        case .unknownAlias: .aliasUnknown
        case .primaryID: .aliasIsFirstID
        case .aliasJoinsTwoPeople: .aliasJoinsTwoPeople
        case .aliasNotProven: .aliasNotProven
        case .offerKeyMissing: .offersKeyMissing
        case .unknownOffer: .offerUnknown
        case .offerNotEligible: .offerNotForCustomer
        case .offerForUnknownTransaction: .offerTransactionUnknown
        case .unknownCurrency(_, let known): .currencyUnknown(known: known)
        case .insufficientBalance: .walletBalanceTooLow
        case .spendingNotAllowed: .spendingNotAllowed
        case .idempotencyKeyMissing: .idempotencyKeyMissing
        case .unknownContent(_, let isListed): isListed ? .contentWithoutFile : .contentUnknown
        case .contentNotReadable: .contentNotAvailable
        case .unavailableInSandbox(.file): .fileNotInSandbox
        case .unavailableInSandbox(.signature): .signatureNotInSandbox
        case .idempotencyKeyReused: .idempotencyKeyReused
        case .notForwarded: .forwardNotAccepted
        case .unknownReport(_, let known): .reportUnknown(known: known)
        case .invalidReport: .reportNotValid
        case .unknownWebhook: .webhookUnknown
        case .webhookInConfiguration: .webhookInConfiguration
        case .tooManyWebhooks(let limit): .tooManyWebhooks(max: limit)
        case .unknownDelivery: .webhookDeliveryUnknown
        case .invalidWebhook: .webhookNotValid
        case .unknownOperator: .operatorUnknown
        case .invalidOperator: .operatorNotValid
        case .notManager: .roleNotEnough("admin of every app")
        case .unknownLink: .operatorLinkUnknown
        case .seatRefused(let why): .seats(why)
        case .unknownCursor: .cursorUnknown
        case .outdatedCursor(let place): .cursorOutdated(after: place)
        case .busy: .serverBusy
        case .documentBudgetExhausted(_, let wait): .documentBudgetSpent(wait: wait)
        case .growthBudgetExhausted(let wait): .growthBudgetSpent(wait: wait)
        case .storage: .storageUnavailable
        }
    }

    private static func entry(
        forUntrustedPurchase failure: EngineFailure
    ) -> ProblemCatalogue.Entry {
        guard case .notTrusted(let refusal) = failure else { return .purchaseNotTrusted }
        if refusal.isTooLong { return .documentTooLarge }
        if refusal.isFromXcode { return .purchaseFromXcode }
        return switch refusal.reason {
        case .wrongBundle: .purchaseOfForeignBundle
        case .environmentNeverTrusted: .receiptFromXcode
        default: .purchaseNotTrusted
        }
    }

    private static func entry(for fault: IdentityProof.Defect) -> ProblemCatalogue.Entry {
        switch fault {
        case .missing: .customerProofMissing
        case .wrong, .expired, .notYet: .customerProofNotValid
        case .ofOneOnly: .customerProofOfOneOnly
        case .endless: .customerProofEndless
        }
    }

    /// The particulars for the caller. Nil if the entry says everything.
    private static func detail(of failure: EngineFailure) -> String? {
        switch failure {
        case .unreadable(let sentence): sentence
        case .notForAnyApp(let found, _):
            found.map { "It is for \(quoted($0))." } ?? "It names no app."
        case .notTrusted(let refusal): refusal.sentence
        case .notYetVerifiable(let mismatch): mismatch.sentence
        case .incomplete(let failure): "\(failure)."
        case .renewalWithoutTransaction(let purchase): "Purchase \(purchase)."
        case .documentBudgetExhausted(let purchase, _): "Purchase \(purchase)."
        case .belongsToAnotherCustomer(let purchase, let why):
            why.sentence(about: purchase)
        case .invalidCustomerID(let id):
            CustomerID(rawValue: id).isPlaceholder
                ? "\(quoted(id)) is what programs send when they have no id, so many people would "
                    + "share it."
                : "Found \(quoted(id))."
        case .invalidWebhook(let sentence), .invalidOperator(let sentence): sentence
        case .unknownOperator(let name): "Found \(quoted(name))."
        case .unknownReport(let name, _): "Found \(quoted(name))."
        case .invalidReport(let sentence):
            "\(sentence.prefix(1).uppercased())\(sentence.dropFirst())."
        case .unknownAlias(let id), .primaryID(let id), .aliasJoinsTwoPeople(let id),
            .aliasNotProven(let id):
            "Found \(quoted(id.rawValue))."
        case .unknownCurrency(let currency, _): "Found \(shortened(currency.rawValue))."
        case .spendingNotAllowed(let currency): "The currency is \(currency)."
        case .unknownContent(let publication, _): "Found \(shortened(publication.rawValue))."
        case .insufficientBalance(let currency, let balance): "\(currency): \(balance)."
        case .contentNotReadable(let publication, let reason): "\(publication): \(reason)"
        case .offerNotEligible(let why): why.sentence
        case .unavailableInSandbox, .unknownPurchase, .unknownTransfer, .transferSuperseded,
            .unknownEntitlement, .unknownGrant, .grantAlreadyExpired, .unknownOffer,
            .offerForUnknownTransaction, .identityNotProven(.wrong), .identityNotProven(.expired),
            .identityNotProven(.notYet), .identityNotProven(.endless), .webhookInConfiguration:
            "\(failure)."
        case .limitExceeded, .tooManyIDs, .queryTooLong, .outdatedCursor, .unknownApp,
            .legacyDisabled, .identityNotProven(.missing), .identityNotProven(.ofOneOnly),
            .mixedEnvironments, .growthBudgetExhausted, .offerKeyMissing, .idempotencyKeyReused,
            .idempotencyKeyMissing,
            .notForwarded, .unknownWebhook, .tooManyWebhooks, .unknownDelivery, .unknownLink,
            .notManager, .seatRefused, .unknownCursor, .busy, .storage:
            nil
        }
    }

    /// What only the log says. Nil if there is nothing more to say.
    private static func operatorDetail(of failure: EngineFailure) -> String? {
        switch failure {
        case .notForAnyApp(_, let known): "expected one of \(known.joined(separator: ", "))"
        case .unknownApp(let app): "app \(app)"
        case .notYetVerifiable: "Compare this machine's clock with the correct time."
        case .notForwarded(let targets): targets.joined(separator: ", ")
        case .storage(let detail): detail
        default: nil
        }
    }

    /// The maximum length of a name or id in a response.
    private static let nameCharactersMax = 40

    /// Returns what a client sent, shortened, for a response.
    static func shortened(_ name: String) -> String { String(name.prefix(nameCharactersMax)) }

    /// Returns what a client sent, shortened and in quotation marks, for a response.
    static func quoted(_ name: String) -> String { shortened(name).debugDescription }
}
