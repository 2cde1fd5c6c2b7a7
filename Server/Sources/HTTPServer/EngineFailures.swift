import Engine
import Ledger
import PerennialContract

extension Refused {
    /// What a request was about: the same failure has another name, and another remedy.
    enum Subject {
        case notification
        case purchases
        case customer
    }

    /// Of a customer id that is shown again.
    private static let shownCharactersMax = 40

    /// The one place where an engine's failure becomes a problem.
    init(_ failure: EngineFailure, subject: Subject) {
        switch failure {
        case .unreadable(let sentence): self = .unreadable(sentence, subject)
        case .tooMuch(let what, let limit):
            self.init(
                .bodyHasTooMany, "The request holds too much.",
                detail: "At most \(limit) \(what) are taken at once.",
                remedy: "Send several smaller requests.")
        case .notForAnyApp(let found, let known):
            self = .notForAnyApp(found: found, known: known, subject)
        case .unknownApp(let app):
            self.init(
                .appNotConfigured, "The app of this key is not configured here.",
                remedy: "Add it to perennial.yaml again, or use a key of another app.",
                operatorDetail: "app \(app)")
        case .notTrusted(let refusal): self = .notTrusted(refusal.sentence, subject)
        case .cannotTellNow(let uncertainty):
            self.init(
                .trustUndecided, "Whether this is genuine cannot be told now.",
                detail: uncertainty.sentence, remedy: "Send it again later.",
                operatorDetail: "Compare this machine's clock with the true time.")
        case .incomplete(let failure): self = .incomplete("\(failure)", subject)
        case .renewalWithoutTransaction(let purchase):
            self.init(
                .renewalWithoutTransaction, "Renewal information came without its transaction.",
                detail: "Purchase \(purchase).",
                remedy: "Send a signed transaction of the same purchase beside it.")
        case .meaninglessCustomerID(let id):
            self.init(
                .customerIDMeaningless, "The customer id names nobody in particular.",
                detail: "Found \(String(id.prefix(Self.shownCharactersMax)).debugDescription).",
                remedy: "Send an id that only one person has, of printable characters.")
        case .belongsToAnotherCustomer(let purchase):
            self.init(
                .purchaseBelongsToAnotherCustomer, "The purchase belongs to another customer.",
                detail: "Purchase \(purchase).",
                remedy: "Ask as the customer who has it; or, if both are one person, say so with "
                    + "POST /v1/customers/{id}/aliases.")
        case .unknownCurrency(let currency, let known):
            self = .unknownCurrency(currency, known: known)
        case .walletHasTooLittle(let currency, let balance):
            self.init(
                .walletHasTooLittle, "The wallet has too little.",
                detail: "\(currency): \(balance).",
                remedy: "Take at most the balance, or sell more first.")
        case .keyOfAnotherRequest:
            self.init(
                .idempotencyKeyReused, "The Idempotency-Key belongs to another request.",
                remedy: "Use a new key for each debit, and the same one only to repeat it.")
        case .notForwarded(let targets): self = .notForwarded(targets)
        case .busy:
            self.init(
                .serverBusy, "Too many requests wait for the database.",
                remedy: "Send the same request again later.")
        case .storage(let detail):
            self.init(
                .storageUnavailable, "The server cannot use its database now.",
                remedy: "Send the same request again later.", operatorDetail: detail)
        }
    }

    private static func notForwarded(_ targets: [String]) -> Refused {
        Refused(
            .forwardNotAccepted, "Another address has not accepted the notification.",
            remedy: "Send it again later; or let forward_policy be own.",
            operatorDetail: targets.joined(separator: ", "))
    }

    private static func unknownCurrency(
        _ currency: CurrencyID, known: [CurrencyID]
    ) -> Refused {
        Refused(
            .currencyUnknown, "There is no such currency.",
            detail: "Found \(String(currency.rawValue.prefix(shownCharactersMax))).",
            remedy: known.isEmpty
                ? "Say in perennial.yaml what a product credits: credits: {gems: 100}."
                : "Use one of \(known.map(\.rawValue).joined(separator: ", ")).")
    }

    private static func unreadable(_ sentence: String, _ subject: Subject) -> Refused {
        switch subject {
        case .notification:
            Refused(
                .notificationNotUnderstood, "This is not a notification of the App Store.",
                detail: sentence,
                remedy: "Let only the App Store post to this URL.")
        case .purchases, .customer:
            Refused(
                .purchaseNotUnderstood, "A document could not be read.", detail: sentence,
                remedy: "Send what StoreKit gave, unchanged: jwsRepresentation, or the receipt's "
                    + "file in Base64.")
        }
    }

    private static func notForAnyApp(
        found: String?, known: [String], _ subject: Subject
    ) -> Refused {
        let detail = found.map { "It is for \($0)." } ?? "It names no app."
        let expected = "expected one of \(known.joined(separator: ", "))"
        switch subject {
        case .notification:
            return Refused(
                .notificationForAnotherApp, "The notification is for another app.", detail: detail,
                remedy: "Register this URL only for apps of this server, or add the app to "
                    + "perennial.yaml.", operatorDetail: expected)
        case .purchases, .customer:
            return Refused(
                .purchaseForAnotherApp, "The purchase was made in another app.", detail: detail,
                remedy: "Use a key of that app, or add the app to perennial.yaml.",
                operatorDetail: expected)
        }
    }

    private static func notTrusted(_ sentence: String, _ subject: Subject) -> Refused {
        switch subject {
        case .notification:
            Refused(
                .notificationNotTrusted, "The notification is not trusted.", detail: sentence,
                remedy: "If the App Store did send it, compare perennial.yaml with the app's "
                    + "bundle id and Apple id.")
        case .purchases, .customer:
            Refused(
                .purchaseNotTrusted, "A signed document is not trusted.", detail: sentence,
                remedy: "Send what StoreKit gave for this app, unchanged; documents of Xcode's "
                    + "own store are never trusted.")
        }
    }

    private static func incomplete(
        _ found: String, _ subject: Subject
    ) -> Refused {
        let detail = "\(found)."
        let remedy = "Tell the makers of Perennial: the App Store may have changed its documents."
        switch subject {
        case .notification:
            return Refused(
                .notificationIncomplete, "The notification lacks what a purchase needs.",
                detail: detail, remedy: remedy)
        case .purchases, .customer:
            return Refused(
                .purchaseIncomplete, "A signed document lacks what a purchase needs.",
                detail: detail, remedy: remedy)
        }
    }
}
