import Ledger
import PerennialContract

/// Why a purchase stays with another customer. All reasons have one code; `detail` names the
/// reason.
extension ProblemError {
    static func belongsToAnother(_ purchase: PurchaseID, _ why: OwnershipClaim.Refusal)
        -> ProblemError
    {
        ProblemError(
            .purchaseBelongsToAnotherCustomer, title(of: why),
            detail: "Purchase \(purchase): \(why.rawValue).", remedy: remedy(for: why))
    }

    private static func title(of why: OwnershipClaim.Refusal) -> String {
        switch why {
        case .kept, .inUse, .blocked, .decidedBySupport, .usedUp:
            "The purchase belongs to another customer."
        case .namesAnother: "The purchase names another customer."
        case .sharedWithMost: "The purchase is already shared with the maximum number of customers."
        case .documentTooOld: "The purchase is another customer's, and the document is too old."
        }
    }

    private static func remedy(for why: OwnershipClaim.Refusal) -> String {
        switch why {
        case .usedUp:
            "It was credited once and stays there. Finish the transaction on the device."
        case .kept, .inUse, .blocked, .decidedBySupport:
            "Use the customer who has it. Only if your own log-in has proven that both are "
                + "one person, link them with POST /v1/customers/{id}/aliases. That is permanent."
        case .namesAnother:
            "Use the customer whose id is its appAccountToken, or make the token their alias. "
                + "If the app's tokens are not customer ids, set account_tokens: other under "
                + "identity in perennial.yaml."
        case .sharedWithMost:
            "End a share with DELETE /v1/customers/{id}/transfers/{transfer_id}, or "
                + "raise `most` under restore: share in perennial.yaml."
        case .documentTooOld:
            "Let the app fetch the purchase again (AppStore.sync(), or refresh the receipt) and "
                + "send the result. Sharing needs a document signed within the last "
                + "\(OwnershipClaim.ShareRules.documentDaysMax) days."
        }
    }
}
