import PerennialContract
import Testing

@testable import Perennial

/// A customer on a new installation, and what the app shows about the right `pro` before and after
/// the server has answered.
struct AnswerRow: Sendable, CustomTestStringConvertible {
    enum Answer: String, Sendable {
        case open, shut, unknown

        init(_ access: Perennial.Access) {
            self = access.isActive ? .open : access.isKnown ? .shut : .unknown
        }
    }

    var claim: String
    /// The customer who has signed in. Nil if nobody has signed in.
    var person: String?
    /// The transactions that the App Store on the device lists.
    var listed: [Sale]
    /// The purchases that the customer made elsewhere and that the server knows.
    var elsewhere: [Sale] = []
    var granted: [String] = []
    /// The offerings in the app's bundle. Nil if the bundle has none.
    var bundled: [String: [String]]?
    /// The offerings of the server.
    var gives: [String: [String]]
    var before: Answer
    var after: Answer

    var testDescription: String { claim }

    static let shop = [
        "month": ["pro"], "year": ["pro"], "guide": ["pro"], "season": ["pro"], "basic": ["basic"],
    ]

    private static let month = Sale("1", "month")
    private static let basic = Sale("2", "basic")

    init(
        _ claim: String, person: String? = nil, listed: [Sale] = [], elsewhere: [Sale] = [],
        granted: [String] = [], bundled: [String: [String]]? = nil,
        gives: [String: [String]] = shop, before: Answer, after: Answer
    ) {
        self.claim = claim
        self.person = person
        self.listed = listed
        self.elsewhere = elsewhere
        self.granted = granted
        self.bundled = bundled
        self.gives = gives
        self.before = before
        self.after = after
    }

    static let all: [AnswerRow] = [
        AnswerRow("nothing was ever bought", before: .unknown, after: .shut),
        AnswerRow("a subscription", listed: [month], before: .unknown, after: .open),
        AnswerRow(
            "a subscription, and offerings in the app that name it", listed: [month],
            bundled: shop, before: .open, after: .open),
        AnswerRow(
            "a subscription, and offerings in the app that do not know it yet", listed: [month],
            bundled: ["basic": ["basic"]], before: .unknown, after: .open),
        AnswerRow(
            "a subscription, and offerings in the app with its former right",
            listed: [month], bundled: ["month": ["basic"]], before: .unknown, after: .open),
        AnswerRow(
            "a subscription that no longer gives the right", listed: [month], bundled: shop,
            gives: ["month": ["basic"]], before: .open, after: .shut),
        AnswerRow(
            "a product that the server does not list", listed: [Sale("1", "odd")],
            before: .unknown, after: .shut),
        AnswerRow(
            "a product that neither server nor bundled offerings list", listed: [Sale("1", "odd")],
            bundled: shop,
            before: .unknown, after: .shut),
        AnswerRow(
            "a one-time purchase", listed: [.once("1", "guide")], before: .unknown, after: .open),
        AnswerRow("a term", listed: [.term("1", "season")], before: .unknown, after: .open),
        AnswerRow(
            "a subscription of a family member",
            listed: [Sale("1", "month") { $0.isFamilyShared = true }],
            before: .unknown, after: .open),
        AnswerRow(
            "a purchase that an earlier installation finished",
            listed: [Sale("1", "month") { $0.isUnfinished = false }], before: .unknown,
            after: .open),
        AnswerRow(
            "a purchase that gives another right", listed: [basic], before: .unknown, after: .shut),
        AnswerRow(
            "a purchase that gives another right by the offerings in the app", listed: [basic],
            bundled: shop, before: .unknown, after: .shut),
        AnswerRow(
            "a purchase that gives another right, and a grant", listed: [basic], granted: ["pro"],
            bundled: shop, before: .unknown, after: .open),
        AnswerRow("coins", listed: [.coins("1", "coins")], before: .unknown, after: .shut),
        AnswerRow(
            "a subscription that has ended", listed: [.lapsed("1", "month")], bundled: shop,
            before: .unknown,
            after: .shut),
        AnswerRow(
            "a subscription that was refunded", listed: [.refunded("1", "month")], bundled: shop,
            before: .unknown, after: .shut),
        AnswerRow(
            "a person who bought with another store account", person: "ann",
            elsewhere: [month], before: .unknown, after: .open),
        AnswerRow(
            "a person whose store account here has another purchase", person: "ann",
            listed: [basic], elsewhere: [month], bundled: shop, before: .unknown, after: .open),
        AnswerRow(
            "a person whose subscription here has ended", person: "ann",
            listed: [.lapsed("3", "month")], elsewhere: [Sale("4", "year")], bundled: shop,
            before: .unknown, after: .open),
        AnswerRow(
            "a person whose purchase here was refunded", person: "ann",
            listed: [.refunded("3", "month")], elsewhere: [Sale("4", "year")], bundled: shop,
            before: .unknown, after: .open),
        AnswerRow(
            "a person who already has another purchase", person: "ann", listed: [month],
            elsewhere: [basic], before: .unknown, after: .open),
    ]

    /// The delay of the server's answers, in milliseconds. Nil if the server never answers.
    static let delays: [Int64?] = [0, 50, 3_000, nil]

    var books: LateServer.Books {
        LateServer.Books(
            gives: gives, sales: person.map { [$0: elsewhere] } ?? [:], market: listed + elsewhere)
    }
}
