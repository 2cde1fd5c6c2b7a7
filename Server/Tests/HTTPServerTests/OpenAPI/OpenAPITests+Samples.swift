import Engine
import Foundation
import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// A sample of each structure in the OpenAPI document, with every member.
extension OpenAPITests {
    /// The samples as JSON. Requests have every member, and answers have every null.
    private static func problem(at now: Timestamp) -> Problem {
        var problem = Problem(
            code: .keyMissing, status: 401, title: "t", detail: "d", remedy: "r",
            requestID: "i", serverTime: now)
        problem.outcomes = []
        problem.customer = Customer(customerID: "a", environment: .sandbox, asOf: now)
        problem.limit = "requests_of_address"
        return problem
    }

    static func samples() throws -> [(String, [String: Any])] {
        try (table + DocumentSamples.values(at: now)).map { name, value in
            let encoded = Data(try ContractEncoder().encode(value))
            let object = try JSONSerialization.jsonObject(with: encoded)
            return (name, try #require(object as? [String: Any]))
        }
    }

    private static var now: Timestamp { Timestamp(TestServer.now) }

    private static var table: [(String, any Encodable)] {
        [
            (
                "PurchasesRequest",
                PurchasesRequest(
                    customerID: "a", intent: .sync, signedTransactions: [], signedRenewalInfos: [],
                    appReceipt: "", transactionReceipt: "", deviceGUID: "")
            ),
            ("ContentList", ContentList(items: [])),
            (
                "Content",
                Content(
                    contentID: "1", title: "", publishedAt: now, readable: true, reason: "",
                    productIDs: [])
            ),
            ("AliasRequest", AliasRequest(customerID: "a")),
            (
                "PreviewRequest",
                PreviewRequest(
                    customerID: "a", intent: .sync, signedTransactions: [], signedRenewalInfos: [],
                    appReceipt: "", transactionReceipt: "", deviceGUID: "", productID: "p")
            ),
            (
                "PurchasePreview",
                PurchasePreview(
                    customerID: "a", environment: .sandbox, purchases: [],
                    product: nil)
            ),
            (
                "Shown",
                PurchasePreview.Shown(
                    purchaseID: "1", originalTransactionID: "1", productID: nil, active: true,
                    owner: "nobody", ownerID: nil, outcome: "link", why: nil)
            ),
            ("Advice", PurchasePreview.Advice(productID: "p", buy: true, why: nil)),
            ("OwnershipRequest", OwnershipRequest(originalTransactionID: "1", reason: "r")),
            (
                "Transfer",
                Transfer(
                    transferID: nil, originalTransactionID: "1", environment: .sandbox, to: "a")
            ),
            ("TransferList", TransferList(items: [])),
            ("Block", Block(originalTransactionID: "1", blocked: true)),
            ("GrantRequest", GrantRequest(entitlement: "e", until: now, reason: "r")),
            (
                "Grant",
                Grant(
                    grantID: "g", entitlement: "e", from: now, until: nil, reason: "r",
                    withdrawnAt: nil)
            ),
            ("GrantList", GrantList(items: [])),
            (
                "AttributesRequest",
                AttributesRequest(attributes: [])
            ),
            ("AttributeSetting", AttributeSetting(name: "a", value: "b", at: now)),
            ("AttributeList", AttributeList(items: [])),
            (
                "Attribute", Attribute(name: "a", value: "b", at: now, author: "app")
            ),
            ("History", History(items: [], nextCursor: nil)),
            (
                "HistoryLine",
                History.Line(
                    at: now, kind: "fact", sentence: "s", purchaseID: nil, documentID: nil,
                    reference: nil)
            ),
            ("CustomerList", CustomerList(items: [], originalTransactionIDs: nil)),
            (
                "FoundCustomer",
                CustomerList.Found(customerID: nil, aliases: [], by: "id", purchaseID: nil)
            ),
            ("Erasure", Erasure(unlinkedPurchases: 1)),
            (
                "Customer",
                Customer(customerID: "a", environment: .sandbox, asOf: now)
            ),
            (
                "PurchaseVerdict",
                PurchaseVerdict(purchaseID: "1", originalTransactionID: "1", verdict: .theirs)
            ),
            (
                "DocumentOutcome",
                DocumentOutcome(member: "signed_transactions", index: 0, outcome: .kept)
            ),
            ("AccountToken", AccountToken(accountToken: nil)),
            (
                "Explanation",
                Explanation(
                    customerID: "a", environment: .sandbox, lines: [], serverTime: now)
            ),
            (
                "Ping",
                Ping(
                    keyKind: "app", app: "a", bundleID: "b", simulated: true, environments: [],
                    unknownProductIDs: nil, serverVersion: "1", serverTime: now)
            ),
            ("OfferList", OfferList(items: [])),
            (
                "CustomerOffer",
                OfferList.Offer(
                    productID: "p", kind: "k", offerID: nil, eligible: true, why: "w", reason: "r")
            ),
            (
                "OfferSignatureRequest",
                OfferSignatureRequest(
                    customerID: "a", productID: "p", kind: "k", offerID: "o",
                    appAccountToken: "t", transactionID: "1")
            ),
            (
                "Offerings",
                Offerings(
                    app: "a", bundleID: "b", environment: .sandbox, timeZone: "UTC",
                    overlap: "stack", unconfirmedHoldHours: 24, offlineDays: 30)
            ),
            ("OfferedProduct", Offerings.Product(productID: "p")),
            ("OfferedTerm", Offerings.Term(months: 1, days: 0, bonusDays: 0, chain: "c")),
            ("Placement", Offerings.Placement(placementID: "p", products: [])),
            (
                "WalletPermission",
                Offerings.Wallet(spend: "app", maxOffline: nil, allowsDebt: false)
            ),
            ("OfferSignature", OfferSignature(keyID: "k", nonce: "n", at: now)),
            ("TokenKeySet", TokenKeySet(keys: [])),
            ("TokenKey", TokenKeySet.Key(id: "k", x: "x", y: "y")),
            (
                "Entitlement",
                Entitlement(
                    active: true, until: nil, state: .paid, reason: "", willRenew: nil,
                    productID: nil, purchaseID: nil)
            ),
            (
                "Subscription",
                Subscription(
                    purchaseID: "1", productID: "p", originalTransactionID: "1", state: .paid,
                    period: .init(from: now, until: nil), willRenew: nil, renewsTo: nil,
                    graceUntil: nil, price: nil, ownership: .purchased, environment: .sandbox,
                    seat: .init(claimID: "1", standing: .held), seats: .init(count: 2))
            ),
            ("MemberSeat", Subscription.Seat(claimID: "1", standing: .held)),
            ("SeatCount", Subscription.Seats(count: 2)),
            ("Period", Subscription.Period(from: now, until: nil)),
            (
                "NonRenewing",
                NonRenewing(
                    productID: "p", from: now, until: nil, daysRemaining: nil)
            ),
            (
                "OneTimePurchase",
                OneTimePurchase(
                    productID: "p", purchasedAt: now, revokedAt: nil)
            ),
            ("Wallet", Wallet(balance: 1)),
            ("DebitRequest", DebitRequest(amount: 1, reason: "r")),
            (
                "Debit",
                Debit(
                    debitID: "d", currency: "gems", amount: 1, reason: "r", at: now, balance: 1)
            ),
            ("CreditRequest", CreditRequest(amount: 1, reason: "r")),
            (
                "Credit",
                Credit(
                    creditID: "c", currency: "gems", amount: 1, reason: "r", at: now, balance: 1)
            ),
            (
                "WalletStatement",
                WalletStatement(currency: "gems", balance: 1, items: [], nextCursor: nil)
            ),
            (
                "WalletItem",
                WalletStatement.Line(at: now, kind: .debit, amount: 1, balance: 1)
            ),
            ("Money", Money(milliunits: 1, currency: "USD")),
            ("EventList", EventList(items: [], nextCursor: "0")),
            ("WebhookList", WebhookList(items: [])),
            (
                "Webhook",
                Webhook(
                    webhookID: "w", url: "u", format: .perennial, hasAuthorization: false,
                    isConfigured: false, isPaused: false, createdAt: now)
            ),
            ("WebhookReplayResult", WebhookReplayResult(count: 0)),
            ("WebhookDeliveryList", WebhookDeliveryList(items: [])),
            (
                "WebhookDelivery",
                WebhookDelivery(
                    deliveryID: "d", type: "test", state: .waiting, createdAt: now, attempts: 0)
            ),
            ("WebhookAttempt", WebhookAttempt(at: now, milliseconds: 1)),
            ("ForwardList", ForwardList(items: [], nextCursor: nil)),
            ("AuditList", AuditList(items: [], nextCursor: nil)),
            ("AuditEntry", AuditEntry(auditID: "a", at: now, author: "mira", act: "x")),
            (
                "Forward",
                Forward(
                    documentID: "d", url: "u", environment: .sandbox, state: .waiting,
                    createdAt: now, attempts: 0)
            ),
            (
                "Event",
                Event(
                    id: "evt_1", sequence: 1, type: .renewed, at: now, knownAt: now,
                    seat: SeatChange(claimID: "1"), cause: .init(kind: "time"))
            ),
            ("SeatChange", SeatChange(claimID: "1")),
            (
                "SeatGroup",
                SeatGroup(
                    originalTransactionID: "1", environment: .sandbox, productID: "p",
                    invitations: .developer, seats: 1)
            ),
            ("AppleSeats", AppleSeats(seats: 2, available: 1, foreign: 0, askedAt: now)),
            (
                "SeatClaim",
                SeatClaim(claimID: "1", customerID: nil, standing: .held, claimedAt: now)
            ),
            ("SeatInvitationList", SeatInvitationList(items: [])),
            (
                "SeatInvitation",
                SeatInvitation(invitationID: "1", createdAt: now, expiresAt: now)
            ),
            (
                "SeatClaimRequest",
                SeatClaimRequest(customerID: "a", token: "t", originalTransactionID: "1")
            ),
            (
                "SeatInvitationRequest",
                SeatInvitationRequest(customerID: "a", expiresInSeconds: 60)
            ),
            ("Cause", Event.Cause(kind: "time")),
            ("TermEnding", TermEnding(chain: "c", from: now, until: now, daysBefore: 1)),
            (
                "ConsumptionRequest",
                ConsumptionRequest(consented: true, sampleContentProvided: true, purchases: [])
            ),
            (
                "PurchaseUse",
                PurchaseUse(transactionID: "1", delivery: "delivered", usedPercent: 1)
            ),
            (
                "ConsumptionOverview",
                ConsumptionOverview(
                    consented: nil, consentedAt: nil, sampleContentProvided: nil, purchases: [],
                    requests: [])
            ),
            (
                "ConsumptionQuestion",
                ConsumptionQuestion(
                    transactionID: "1", productID: "p", reason: nil, askedAt: now,
                    answerUntil: now, state: "waiting", attempts: 0, endedAt: nil, trouble: nil,
                    answer: nil)
            ),
            (
                "ConsumptionAnswer",
                ConsumptionAnswer(
                    delivery: "delivered", usedPercent: nil, sampleContentProvided: true,
                    refundPreference: nil)
            ),
            (
                "PurchaseCondition",
                PurchaseCondition(
                    productID: "p", active: true, state: .paid, until: nil, willRenew: nil)
            ),
            ("RedeemedOffer", RedeemedOffer(kind: "code")),
            (
                "Problem",
                problem(at: now)
            ),
        ]
    }
}
