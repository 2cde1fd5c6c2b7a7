import Engine
import Ledger
import PerennialContract

/// Problems about ownership, grants, offers, and proofs of identity.
extension ProblemError {
    static func tooManyIDs(limit: Int) -> ProblemError {
        ProblemError(
            .bodyHasTooMany, "The customer would have too many ids.",
            detail: "At most \(limit) ids are accepted for one customer.",
            remedy: "Use one of the existing ids, or remove one that was added wrongly. Let the "
                + "app keep the id it made instead of making one at each start. Support can move "
                + "what was bought under another id: POST /v1/customers/{id}/transfers.")
    }

    static func queryTooLong(bytesMax: Int) -> ProblemError {
        ProblemError(
            .bodyHasTooMany, "query is too long.",
            detail: "Found more than \(bytesMax) bytes of UTF-8.",
            remedy: "Send one id of a customer, transaction, or order as "
                + "?query=: none is longer. Search for several one by one.")
    }

    static func unknownPurchase(_ detail: String) -> ProblemError {
        ProblemError(
            .purchaseUnknown, "There is no such purchase.", detail: detail,
            remedy: "Send the id of its first transaction, and the environment.")
    }

    static func unknownTransfer(_ detail: String) -> ProblemError {
        ProblemError(
            .transferUnknown, "There is no such transfer of this customer.", detail: detail,
            remedy: "GET /v1/customers/{id}/transfers lists them.")
    }

    static func transferSuperseded(_ detail: String) -> ProblemError {
        ProblemError(
            .transferSuperseded, "The purchase has changed owner since.", detail: detail,
            remedy: "Undo the later transfer first, or move the purchase again.")
    }

    static func unknownEntitlement(_ detail: String) -> ProblemError {
        ProblemError(
            .entitlementUnknown, "There is no such entitlement.", detail: detail,
            remedy: "Use one that a product in perennial.yaml gives.")
    }

    static func unknownGrant(_ detail: String) -> ProblemError {
        ProblemError(
            .grantUnknown, "There is no such grant of this customer.", detail: detail,
            remedy: "GET /v1/customers/{id}/grants lists them.")
    }

    static func grantWithoutTime(_ detail: String) -> ProblemError {
        ProblemError(
            .grantWithoutTime, "The grant would have ended already.", detail: detail,
            remedy: "Send a later `until`, or none.")
    }

    static func noProof(_ lack: IdentityProof.Defect, _ detail: String) -> ProblemError {
        switch lack {
        case .missing:
            ProblemError(
                .customerProofMissing, "The request has no proof of the customer's identity.",
                remedy: "Send Perennial-Customer-Proof, made by the app's own backend.")
        case .wrong, .expired, .notYet:
            ProblemError(
                .customerProofNotValid, "The proof belongs to another customer, or has expired.",
                detail: detail, remedy: "Get a new one from the app's own backend.")
        case .ofOneOnly:
            ProblemError(
                .customerProofNotValid, "The request has a proof for only one of the two ids.",
                remedy: "Send the proof of each, separated by a comma, or let your server add it "
                    + "with a secret key, or use an anon_ id that belongs to nobody yet.")
        case .endless:
            ProblemError(
                .customerProofNotValid, "The proof never expires.", detail: detail,
                remedy: "Let the app's own backend add an expiry: SECONDS.CODE. Until it does, set "
                    + "`endless: true` below `identity` in perennial.yaml.")
        }
    }

    static func firstID(_ id: CustomerID) -> ProblemError {
        let found = String(id.rawValue.prefix(quotedCharactersMax)).debugDescription
        return ProblemError(
            .aliasIsFirst, "This is the customer's first id.", detail: "Found \(found).",
            remedy: "Remove the ids that were added to it by mistake, and move purchases with "
                + "POST /v1/customers/{id}/transfers.")
    }

    static func unknownAlias(_ alias: CustomerID) -> ProblemError {
        let found = String(alias.rawValue.prefix(quotedCharactersMax)).debugDescription
        return ProblemError(
            .aliasUnknown, "This is not an alias of the customer.", detail: "Found \(found).",
            remedy:
                "GET /v1/customers/{id} with a secret key lists the aliases; the id in the path "
                + "is the one that stays.")
    }

    static var noOffersKey: ProblemError {
        ProblemError(
            .offersKeyMissing, "There is no key for signing offers.",
            remedy: "Add app_store with an In-App Purchase key to perennial.yaml.")
    }

    static func unknownOffer(_ detail: String) -> ProblemError {
        ProblemError(
            .offerUnknown, "There is no such offer.", detail: detail,
            remedy: "Use a product and an offer from the app's .storekit file.")
    }

    static func offerNotEligible(_ why: OfferEligibility.Reason) -> ProblemError {
        ProblemError(
            .offerNotForCustomer, "The offer is not for this customer.", detail: why.sentence,
            remedy: "GET /v1/customers/{id}/offers lists the eligible ones.")
    }

    static func offerForUnknownTransaction(_ detail: String) -> ProblemError {
        ProblemError(
            .offerNotForCustomer, "The transaction's customer is unknown.", detail: detail,
            remedy: "Send the id of a transaction the customer has posted, or let your server sign "
                + "with a secret key.")
    }
}
