import Ledger

extension OwnershipClaim.Refusal {
    /// Why a customer does not get a purchase, as a sentence for people. Programs read `why` of the
    /// verdict.
    func sentence(about purchase: PurchaseID) -> String {
        let reason = self == .kept ? "restore policy: keep" : rawValue
        return "Purchase \(purchase.original) \(clause) (\(reason))."
    }

    private var clause: String {
        switch self {
        case .kept: "stays with the customer who posted it first"
        case .namesAnother: "has an account token that is not an id of this customer"
        case .inUse: "is in use by the customer who has it"
        case .blocked: "stays with its customer, because support blocked it"
        case .decidedBySupport: "is where support moved it"
        case .usedUp: "was credited to another customer, and is used up"
        case .sharedWithMost: "is shared with as many customers as the settings allow"
        case .documentTooOld:
            "was posted with a document that was signed too long ago, or before one that is known"
        case .needsRestore: "may move only if the customer asks for a restore"
        }
    }
}
