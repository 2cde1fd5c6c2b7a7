import Engine
import Ledger
import PerennialContract

/// What concerns people who decide: moves, grants, offers, and who speaks for whom.
extension Refused {
    static func tooManyIDs(limit: Int) -> Refused {
        Refused(
            .bodyHasTooMany, "The customer would have too many ids.",
            detail: "At most \(limit) ids mean one customer.",
            remedy: "Use one of the ids that they have: none can be taken away. Let the app keep "
                + "the id that it made, and make no new one at each start. Support moves what was "
                + "bought under another id: POST /v1/customers/{id}/transfers.")
    }

    static func queryTooLong(bytesMax: Int) -> Refused {
        Refused(
            .bodyHasTooMany, "What is looked for is too long.",
            detail: "Found more than \(bytesMax) bytes of UTF-8.",
            remedy: "Send one id of a customer, or the number of one transaction or order, as "
                + "?query=: none is longer. Look for several one by one.")
    }

    static func unknownPurchase(_ detail: String) -> Refused {
        Refused(
            .purchaseUnknown, "There is no such purchase.", detail: detail,
            remedy: "Name the number of its first transaction, and the environment.")
    }

    static func unknownTransfer(_ detail: String) -> Refused {
        Refused(
            .transferUnknown, "There is no such transfer of this customer.", detail: detail,
            remedy: "GET /v1/customers/{id}/transfers lists them.")
    }

    static func transferSuperseded(_ detail: String) -> Refused {
        Refused(
            .transferSuperseded, "The purchase has gone on since.", detail: detail,
            remedy: "Undo the later transfer first, or move the purchase anew.")
    }

    static func unknownEntitlement(_ detail: String) -> Refused {
        Refused(
            .entitlementUnknown, "There is no such entitlement.", detail: detail,
            remedy: "Use one that a product of perennial.yaml gives.")
    }

    static func unknownGrant(_ detail: String) -> Refused {
        Refused(
            .grantUnknown, "There is no such grant of this customer.", detail: detail,
            remedy: "GET /v1/customers/{id}/grants lists them.")
    }

    static func grantWithoutTime(_ detail: String) -> Refused {
        Refused(
            .grantWithoutTime, "The grant would be over already.", detail: detail,
            remedy: "Send a later `until`, or none.")
    }

    static func noProof(_ lack: IdentityProof.Lack, _ detail: String) -> Refused {
        switch lack {
        case .missing:
            Refused(
                .customerProofMissing, "The request does not show for whom it speaks.",
                remedy: "Send Perennial-Customer-Proof, made by the app's own backend.")
        case .wrong, .expired, .notYet:
            Refused(
                .customerProofNotValid, "The proof is not this customer's, or has expired.",
                detail: detail, remedy: "Ask the app's own backend for a new one.")
        case .ofOneOnly:
            Refused(
                .customerProofNotValid, "The proof is of one of the two ids.",
                remedy: "Send the proof of each, separated by a comma; or let your server say it "
                    + "with a secret key; or use an anon_ id that is nobody's yet.")
        case .endless:
            Refused(
                .customerProofNotValid, "The proof has no end.", detail: detail,
                remedy: "Let the app's own backend give it one: SECONDS.CODE. Until it does, write "
                    + "`endless: true` below `identity` in perennial.yaml.")
        }
    }

    static func firstID(_ id: CustomerID) -> Refused {
        let found = String(id.rawValue.prefix(shownCharactersMax)).debugDescription
        return Refused(
            .aliasIsFirst, "The other ids were added to this one.", detail: "Found \(found).",
            remedy: "Part those that were added wrongly from it, and move purchases with "
                + "POST /v1/customers/{id}/transfers.")
    }

    static func unknownAlias(_ alias: CustomerID) -> Refused {
        let found = String(alias.rawValue.prefix(shownCharactersMax)).debugDescription
        return Refused(
            .aliasUnknown, "This is no other id of the customer.", detail: "Found \(found).",
            remedy:
                "GET /v1/customers/{id} with a secret key lists the aliases; the id in the path "
                + "is the one that stays.")
    }

    static var noOffersKey: Refused {
        Refused(
            .offersKeyMissing, "There is no key to sign offers with.",
            remedy: "Add app_store with an In-App Purchase key to perennial.yaml.")
    }

    static func unknownOffer(_ detail: String) -> Refused {
        Refused(
            .offerUnknown, "There is no such offer.", detail: detail,
            remedy: "Name a product and an offer of the app's .storekit file.")
    }

    static func offerNotForThem(_ why: OfferAnswer.Why) -> Refused {
        Refused(
            .offerNotForCustomer, "The offer is not for this customer.", detail: why.sentence,
            remedy: "GET /v1/customers/{id}/offers says which are.")
    }

    static func offerForUnknownTransaction(_ detail: String) -> Refused {
        Refused(
            .offerNotForCustomer, "Whose transaction this is, is not known.", detail: detail,
            remedy: "Name a transaction that the customer has posted; or let your server sign, "
                + "with a secret key.")
    }
}
