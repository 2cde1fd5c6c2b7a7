import Ledger
import Storage

extension SeatUpdates {
    /// Ends the claims of an erased person, and the groups that the person paid for. The claims
    /// stay under a pseudonym. The person's purchases must still be linked.
    func erase(
        of person: StoredCustomer, under pseudonym: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        var paid = try tx.links.purchases(of: person.customer, in: app)
        for environment in Environment.allCases {
            for own in try tx.seatClaims.openClaims(
                of: person.customer, in: app, environment: environment)
            {
                try release([own.claim], on: own.purchase, because: .erased, in: app, at: now)
            }
            paid += try tx.accountTokens.timelines(person.ids, in: app, environment: environment)
                .map(\.purchase)
        }
        for purchase in paid {
            try release(
                try tx.seatClaims.openClaims(on: purchase, in: app), on: purchase, because: .erased,
                in: app,
                at: now)
            try tx.seatInvitations.delete(of: purchase, in: app)
        }
        try tx.seatInvitations.delete(naming: [person.customer] + person.ids, in: app)
        try tx.seatClaims.move(of: person.customer, to: pseudonym, in: app)
    }
}
