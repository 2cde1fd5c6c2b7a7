import Ledger
import PerennialContract

/// Why a purchase stays another customer's. The code is one; the reason is in `detail`.
extension Refused {
    static func belongsToAnother(_ purchase: PurchaseID, _ why: Claim.Refusal) -> Refused {
        Refused(
            .purchaseBelongsToAnotherCustomer, title(of: why),
            detail: "Purchase \(purchase): \(why.rawValue).", remedy: remedy(for: why))
    }

    private static func title(of why: Claim.Refusal) -> String {
        switch why {
        case .kept, .inUse, .blocked, .decidedBySupport, .usedUp:
            "The purchase belongs to another customer."
        case .namesAnother: "The purchase names another customer."
        case .sharedWithMost: "The purchase is shared with as many customers as may have it."
        case .documentTooOld: "The purchase is another customer's, and the document is too old."
        }
    }

    private static func remedy(for why: Claim.Refusal) -> String {
        switch why {
        case .usedUp:
            "It was credited once, and stays there: finish the transaction on the device."
        case .kept, .inUse, .blocked, .decidedBySupport:
            "Ask as the customer who has it. Only where your own log-in has shown that both are "
                + "one person, say so with POST /v1/customers/{id}/aliases: that is for good."
        case .namesAnother:
            "Ask as the customer whose id its appAccountToken is, or make the token their alias. "
                + "If the app's tokens are no ids of customers, write account_tokens: other under "
                + "identity in perennial.yaml."
        case .sharedWithMost:
            "End a share: DELETE /v1/customers/{id}/transfers/{transfer_id} with a secret key; or "
                + "raise `most` under restore: share in perennial.yaml."
        case .documentTooOld:
            "Let the app fetch the purchase anew (AppStore.sync(), or refresh the receipt), and "
                + "send what it gets: to share takes a document signed within the last "
                + "\(Claim.ShareRules.documentDaysMax) days."
        }
    }
}
