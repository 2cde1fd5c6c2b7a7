import Engine
import Ledger
import PerennialContract

extension ProblemError {
    /// What a request was about. The same failure has another code and another remedy for each.
    enum Subject {
        case notification
        case purchases
        case customer
    }

    /// The maximum length of a name or id quoted in a response.
    static let quotedCharactersMax = 40

    /// Maps an engine failure to a problem. This is the only place that does.
    init(_ failure: EngineFailure, subject: Subject) {
        let detail = "\(failure)."
        switch failure {
        case .unreadable(let sentence): self = .unreadable(sentence, subject)
        case .limitExceeded(let what, let limit): self = .tooManyValues(what, limit: limit)
        case .notForAnyApp(let found, let known):
            self = .notForAnyApp(found: found, known: known, subject)
        case .unknownApp(let app): self = .unknownApp(app)
        case .legacyDisabled: self = .legacyOff(subject)
        case .notTrusted(let refusal): self = .notTrusted(refusal.sentence, subject)
        case .notYetVerifiable(let uncertainty): self = .trustUndecided(uncertainty.sentence)
        case .incomplete(let failure): self = .incomplete("\(failure)", subject)
        case .renewalWithoutTransaction(let purchase):
            self.init(
                .renewalWithoutTransaction, "The renewal info came without a transaction.",
                detail: "Purchase \(purchase).",
                remedy: "Send a signed transaction of the same purchase along with it.")
        case .invalidCustomerID(let id):
            self.init(
                .customerIDMeaningless, "The customer id does not identify a person.",
                detail: "Found \(String(id.prefix(Self.quotedCharactersMax)).debugDescription).",
                remedy: "Send one person's own id: printable, up to \(CustomerID.bytesMax) bytes.")
        case .tooManyIDs(let limit): self = .tooManyIDs(limit: limit)
        case .queryTooLong(let limit): self = .queryTooLong(bytesMax: limit)
        case .belongsToAnotherCustomer(let purchase, let why):
            self = .belongsToAnother(purchase, why)
        case .unknownCurrency(let currency, let known):
            self = .unknownCurrency(currency, known: known)
        case .insufficientBalance(let currency, let balance):
            self = .walletHasTooLittle(currency, balance: balance)
        case .unknownContent(let publication, let isListed):
            self = .unknownContent(publication, isListed: isListed)
        case .contentNotReadable(let publication, let reason):
            self = .contentNotOpen(publication, reason)
        case .unavailableInSandbox(let limit): self = .notForSandbox(limit, detail)
        case .idempotencyKeyReused: self = .idempotencyKeyReused
        case .notForwarded(let targets): self = .forwardNotAccepted(targets)
        case .unknownCursor: self = .unknownCursor
        case .outdatedCursor(let place): self = .outdatedCursor(goOnFrom: place)
        case .busy: self = .busy
        case .documentBudgetExhausted(let purchase, let wait):
            self = .documentBudgetSpent(purchase, wait: wait)
        case .unknownPurchase: self = .unknownPurchase(detail)
        case .unknownTransfer: self = .unknownTransfer(detail)
        case .transferSuperseded: self = .transferSuperseded(detail)
        case .unknownEntitlement: self = .unknownEntitlement(detail)
        case .unknownGrant: self = .unknownGrant(detail)
        case .grantAlreadyExpired: self = .grantWithoutTime(detail)
        case .identityNotProven(let lack): self = .noProof(lack, detail)
        case .unknownAlias(let alias): self = .unknownAlias(alias)
        case .primaryID(let id): self = .firstID(id)
        case .offerKeyMissing: self = .noOffersKey
        case .unknownOffer: self = .unknownOffer(detail)
        case .offerNotEligible(let why): self = .offerNotEligible(why)
        case .offerForUnknownTransaction: self = .offerForUnknownTransaction(detail)
        case .storage(let detail):
            self.init(
                .storageUnavailable, "The server cannot use its database now.",
                remedy: "Send the same request again later.", operatorDetail: detail)
        }
    }

    private static func unknownApp(_ app: AppID) -> ProblemError {
        ProblemError(
            .appNotConfigured, "The app of this key is not configured.",
            remedy: "Add it to perennial.yaml again, or use a key of another app.",
            operatorDetail: "app \(app)")
    }

    private static func tooManyValues(_ what: String, limit: Int) -> ProblemError {
        ProblemError(
            .bodyHasTooMany, "The request contains too much.",
            detail: "At most \(limit) \(what) are accepted at once.",
            remedy: "Send several smaller requests.")
    }

    private static func trustUndecided(_ sentence: String) -> ProblemError {
        ProblemError(
            .trustUndecided, "Cannot verify right now whether this is genuine.", detail: sentence,
            remedy: "Send it again later.",
            operatorDetail: "Compare this machine's clock with the correct time.")
    }

    private static var idempotencyKeyReused: ProblemError {
        ProblemError(
            .idempotencyKeyReused, "The Idempotency-Key belongs to another request.",
            remedy: "Use a new key for each debit or grant; reuse a key only to repeat a request.")
    }

    private static var busy: ProblemError {
        ProblemError(
            .serverBusy, "Too many requests are waiting for the database.",
            remedy: "Send the same request again later.")
    }

    private static func documentBudgetSpent(_ purchase: PurchaseID, wait: Duration) -> ProblemError
    {
        var refused = ProblemError(
            .documentBudgetSpent, "Too many new documents of one purchase were posted recently.",
            detail: "Purchase \(purchase).",
            remedy: "Wait as long as Retry-After says, then repeat the request. Post a purchase "
                + "only when it changes.")
        refused.headers[.retryAfter] = String(max(1, wait.components.seconds + 1))
        return refused
    }

    private static func unknownContent(_ publication: PublicationID, isListed: Bool) -> ProblemError
    {
        ProblemError(
            .contentUnknown, isListed ? "This content has no file." : "There is no such content.",
            detail: "Found \(String(publication.rawValue.prefix(quotedCharactersMax))).",
            remedy: isListed
                ? "Configure its file in perennial.yaml, or serve it yourself."
                : "Use a content_id from GET /v1/customers/{id}/content.")
    }

    private static func contentNotOpen(_ publication: PublicationID, _ reason: String)
        -> ProblemError
    {
        ProblemError(
            .contentNotOpen, "The customer may not read this.", detail: "\(publication): \(reason)",
            remedy: "Offer them a product that includes it. GET /v1/customers/{id}/content lists "
                + "what is readable.")
    }

    private static func notForSandbox(
        _ limit: EngineFailure.SandboxLimit, _ detail: String
    ) -> ProblemError {
        let remedy =
            switch limit {
            case .file:
                "Use a secret key, or set `sandbox: true` below `content` in perennial.yaml."
            case .signature:
                "Use the kind `promotional` with a transaction_id of the sandbox, or use a "
                    + "secret key."
            }
        return ProblemError(
            .sandboxNotAllowed, "This is not available for sandbox purchases.", detail: detail,
            remedy: remedy)
    }

    private static func walletHasTooLittle(_ currency: CurrencyID, balance: Int64) -> ProblemError {
        ProblemError(
            .walletHasTooLittle, "The wallet's balance is too low.",
            detail: "\(currency): \(balance).",
            remedy: "Debit at most the balance, or sell more first.")
    }

    private static func forwardNotAccepted(_ targets: [String]) -> ProblemError {
        ProblemError(
            .forwardNotAccepted, "A forwarding target has not accepted the notification.",
            remedy: "Send it again later, or set forward_policy to own.",
            operatorDetail: targets.joined(separator: ", "))
    }

    private static func unknownCurrency(
        _ currency: CurrencyID, known: [CurrencyID]
    ) -> ProblemError {
        ProblemError(
            .currencyUnknown, "There is no such currency.",
            detail: "Found \(String(currency.rawValue.prefix(quotedCharactersMax))).",
            remedy: known.isEmpty
                ? "Configure in perennial.yaml what a product credits: credits: {gems: 100}."
                : "Use one of \(known.map(\.rawValue).joined(separator: ", ")).")
    }

    private static func unreadable(_ sentence: String, _ subject: Subject) -> ProblemError {
        switch subject {
        case .notification:
            ProblemError(
                .notificationNotUnderstood, "This is not an App Store notification.",
                detail: sentence,
                remedy: "Let only the App Store post to this URL.")
        case .purchases, .customer:
            ProblemError(
                .purchaseNotUnderstood, "A document could not be read.", detail: sentence,
                remedy: "Send what StoreKit returned unchanged: jwsRepresentation or the receipt's "
                    + "file in Base64.")
        }
    }

    private static func notForAnyApp(
        found: String?, known: [String], _ subject: Subject
    ) -> ProblemError {
        let detail =
            found.map { "It is for \(String($0.prefix(quotedCharactersMax)).debugDescription)." }
            ?? "It names no app."
        let expected = "expected one of \(known.joined(separator: ", "))"
        switch subject {
        case .notification:
            return ProblemError(
                .notificationForAnotherApp, "The notification is for another app.", detail: detail,
                remedy: "Register this URL only for apps of this server, or add the app to "
                    + "perennial.yaml.", operatorDetail: expected)
        case .purchases, .customer:
            return ProblemError(
                .purchaseForAnotherApp, "The purchase was made in another app.", detail: detail,
                remedy: "Use a key of that app, or add the app to perennial.yaml.",
                operatorDetail: expected)
        }
    }

    private static func legacyOff(_ subject: Subject) -> ProblemError {
        switch subject {
        case .notification:
            ProblemError(
                .legacyOff, "The app does not accept notifications of version 1.",
                remedy: "Set version 2 in App Store Connect, or remove `legacy: false` from "
                    + "perennial.yaml.")
        case .purchases, .customer:
            ProblemError(
                .legacyOff, "The app does not accept receipts.",
                remedy: "Send signed_transactions, or remove `legacy: false` from "
                    + "perennial.yaml.")
        }
    }

    private static func notTrusted(_ sentence: String, _ subject: Subject) -> ProblemError {
        switch subject {
        case .notification:
            ProblemError(
                .notificationNotTrusted, "The notification is not trusted.", detail: sentence,
                remedy: "If the App Store did send it, compare perennial.yaml with the app's "
                    + "bundle id and Apple id.")
        case .purchases, .customer:
            ProblemError(
                .purchaseNotTrusted, "A signed document is not trusted.", detail: sentence,
                remedy: "Send what StoreKit returned for this app, unchanged. From Xcode's "
                    + "store only receipts are accepted, for a simulated app with its certificate.")
        }
    }

    private static func incomplete(
        _ found: String, _ subject: Subject
    ) -> ProblemError {
        let detail = "\(found)."
        let remedy = "Report this to the makers of Perennial: Apple may have changed its formats."
        switch subject {
        case .notification:
            return ProblemError(
                .notificationIncomplete, "The notification lacks required fields.",
                detail: detail, remedy: remedy)
        case .purchases, .customer:
            return ProblemError(
                .purchaseIncomplete, "A signed document lacks required fields.",
                detail: detail, remedy: remedy)
        }
    }
}
