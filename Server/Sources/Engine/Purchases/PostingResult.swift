import Ledger

/// The result of a posting of purchases.
package struct PostingResult: Hashable, Sendable {
    /// The customer after the posting, in the environment of its documents. Nil if no document was
    /// accepted: then nothing is recorded.
    package var state: CustomerState?
    /// The result of each document, in the order of the request.
    package var documents: [Outcome]
    /// The ownership of the posted purchases, in the order of their ids.
    package var ownerships: [OwnershipResult]
    /// The number of purchases that got another owner, or one more share, although the posting
    /// contained no new document. 0 if any document was new.
    var changesWithoutDocument: Int

    /// The failure for the first purchase that the customer did not get. Nil if there is no such
    /// purchase, or if the app posted the purchases without an action of the customer.
    package func refusal(for intent: OwnershipClaim.Intent?) -> EngineFailure? {
        guard intent != .sync else { return nil }
        // An app transaction is sent together with purchases, and is not a claim. If the app
        // transaction belongs to another customer, it gives nothing, but is no reason to refuse.
        for ownership in ownerships where ownership.purchase.appTransaction == nil {
            switch ownership.kind {
            case .another(let why), .refused(let why):
                return .belongsToAnotherCustomer(ownership.purchase, why)
            case .theirs, .linked, .moved, .shared: continue
            }
        }
        return nil
    }

    /// The result for one document.
    package struct Outcome: Hashable, Sendable {
        package var place: DocumentPlace
        /// The transaction that the document is about. Nil if the document was not verified, or is
        /// not about exactly one transaction.
        package var transaction: TransactionID?
        package var result: Result

        package enum Result: Hashable, Sendable {
            case kept
            /// The document was recorded before.
            case `repeat`
            case refused(EngineFailure)
        }

        package var isAccepted: Bool {
            switch result {
            case .kept, .repeat: true
            case .refused: false
            }
        }
    }
}

/// The position of a document in a request.
package struct DocumentPlace: Hashable, Sendable {
    package var member: Member
    package var index: Int

    package enum Member: String, Hashable, Sendable {
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
        case appReceipt = "app_receipt"
        case transactionReceipt = "transaction_receipt"
        case signedAppTransaction = "signed_app_transaction"
    }
}

/// A document of a request, verified or refused.
struct PostedDocument: Sendable {
    var place: DocumentPlace
    var document: Result<VerifiedDocument, EngineFailure>

    var verified: VerifiedDocument? { try? document.get() }
}

extension EngineFailure {
    /// Whether the failure concerns one document only, so that the other documents of the request
    /// can be recorded.
    var isAboutDocument: Bool {
        switch self {
        case .unreadable, .notForAnyApp, .legacyDisabled, .notTrusted, .notYetVerifiable,
            .incomplete, .renewalWithoutTransaction:
            true
        default: false
        }
    }
}
