import AppStoreFormats
import Engine
import Foundation
import Ledger
import Testing

@testable import Program

/// A phone with RevenueCat's SDK: sends the requests that the SDK sends, and reads the answers by
/// its rules. The rules are written here independently of the server's own code.
struct RevenueCatPhone: Sendable {
    static let key = "appl_story_birds"

    let wire: Wire
    private(set) var user: String
    var isSandbox = false

    init(_ server: Wire, as user: String, key: String = key) {
        var wire = server
        wire.bearer = key
        (self.wire, self.user) = (wire, user)
    }

    /// The id that the SDK makes for a device on which nobody has signed in.
    static func anonymous(_ name: String) -> String {
        let digits = name.utf8.map { String($0, radix: 16) }.joined()
        return "$RCAnonymousID:" + digits.padding(toLength: 32, withPad: "0", startingAt: 0)
    }

    /// The example app, served to RevenueCat's SDK.
    static func app(_ policy: OwnershipClaim.RestorePolicy = .keep) -> AppConfiguration {
        var app = CopiedDocumentStories.app(policy)
        app.settings.revenueCat = RevenueCatSettings(
            keys: [key], packages: ["pro.monthly": "$rc_monthly", "pro.yearly": "$rc_annual"],
            supportEmail: "help@example.com")
        app.settings.offerings = OfferingRules(placements: [
            Placement(
                id: "default", products: ["pro.monthly", "pro.yearly"],
                metadata: ["description": .text("Standard"), "columns": .integer(2)])
        ])
        return app
    }

    // MARK: - Requests

    /// As the SDK encodes an id in a path: `$` and `+` as they are, `:` and `/` encoded.
    private static let plain = CharacterSet(
        charactersIn:
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=")

    static func path(_ id: String, _ rest: String = "") -> String {
        "/v1/subscribers/"
            + (id.addingPercentEncoding(withAllowedCharacters: plain) ?? id) + rest
    }

    func send(
        _ method: String, _ path: String, _ body: JSON? = nil, _ more: [String: String] = [:]
    ) async throws -> Wire.Answer {
        var headers = [
            "X-Platform": "iOS", "X-Version": "5.85.0", "X-StoreKit-Version": "2",
            "X-Is-Sandbox": "\(isSandbox)", "X-RevenueCat-ETag": "",
            "Content-Type": "application/json",
        ]
        headers.merge(more) { _, more in more }
        return try await wire.send(method, path, body: body?.bytes, headers: headers)
    }

    /// Reads the customer at a launch.
    func info() async throws -> RevenueCatAnswer {
        let answer = try await send("GET", Self.path(user))
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try RevenueCatAnswer(try answer.json)
    }

    /// Posts a transaction, or with nil only the app transaction.
    func post(
        _ token: String?, _ source: String = "purchase", appTransaction: String? = nil,
        isRestore: Bool? = nil
    ) async throws -> Wire.Answer {
        var members: [JSON.Member] = [
            .init("payload_version", 1), .init("app_user_id", .string(user)),
            .init("is_restore", .bool(isRestore ?? user.hasPrefix("$"))),
            .init("observer_mode", false), .init("initiation_source", .string(source)),
            .init("attributes", ["$attConsentStatus": ["value": "denied", "updated_at_ms": 1]]),
            .init("price", "9.99"), .init("presented_offering_identifier", "default"),
        ]
        if let token { members.append(.init("fetch_token", .string(token))) }
        if let appTransaction {
            members.append(.init("app_transaction", .string(appTransaction)))
        }
        return try await send("POST", "/v1/receipts", .object(members))
    }

    /// Returns whether the server says that it created the customer.
    @discardableResult
    mutating func logIn(_ wanted: String) async throws -> Bool {
        let answer = try await send(
            "POST", "/v1/subscribers/identify",
            ["app_user_id": .string(user), "new_app_user_id": .string(wanted)])
        #expect([200, 201].contains(answer.status))
        user = wanted
        _ = try RevenueCatAnswer(try answer.json)
        return answer.status == 201
    }

    /// Happens on the device alone.
    mutating func logOut(_ name: String) { user = Self.anonymous(name) }
}

/// A customer as RevenueCat's SDK decodes it: a missing required member, or a member of a wrong
/// type, makes the whole answer unreadable.
struct RevenueCatAnswer {
    struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    /// An entitlement as the SDK shows it.
    struct Right {
        var product: String
        var isActive: Bool
        var expires: String?
        var willRenew: Bool
        var store: String?
    }

    let json: JSON
    let requestDate: Instant
    private(set) var rights: [String: Right] = [:]
    /// The transaction ids of all purchases that do not renew.
    private(set) var oneTimeTransactions: [String] = []

    var active: Set<String> { Set(rights.filter(\.value.isActive).keys) }

    var subscriptions: JSON { json["subscriber"]?["subscriptions"] ?? [:] }

    init(_ json: JSON) throws {
        self.json = json
        requestDate = try Self.date(json, "request_date")
        guard let subscriber = json["subscriber"] else { throw Unreadable("no subscriber") }
        _ = try subscriber.text("original_app_user_id")
        _ = try Self.date(subscriber, "first_seen")
        _ = try Self.optionalDate(subscriber, "original_purchase_date")
        _ = try Self.optionalText(subscriber, "original_application_version")
        for (_, subscription) in Self.members(subscriber["subscriptions"]) {
            try Self.checkSubscription(subscription)
        }
        for (_, payments) in Self.members(subscriber["non_subscriptions"]) {
            for payment in payments.array ?? [] {
                oneTimeTransactions.append(try Self.transaction(payment))
            }
        }
        for (name, right) in Self.members(subscriber["entitlements"]) {
            rights[name] = try self.right(right, in: subscriber)
        }
    }

    private func right(_ right: JSON, in subscriber: JSON) throws -> Right? {
        let product = try right.text("product_identifier")
        let ends = try Self.optionalDate(right, "expires_date")
        _ = try Self.optionalDate(right, "purchase_date")
        let subscription = subscriber["subscriptions"]?[product]
        guard
            let source = subscription ?? subscriber["non_subscriptions"]?[product]?.array?.last
        else { return nil }
        let (unsubscribed, failed) = (
            source["unsubscribe_detected_at"]?.string, source["billing_issues_detected_at"]?.string
        )
        return Right(
            product: product, isActive: ends.map { $0 >= requestDate } ?? true,
            expires: right["expires_date"]?.string,
            willRenew: source["store"] != "promotional" && source["expires_date"]?.string != nil
                && unsubscribed == nil && failed == nil, store: source["store"]?.string)
    }

    private static func checkSubscription(_ subscription: JSON) throws {
        _ = try date(subscription, "purchase_date")
        for key in [
            "expires_date", "original_purchase_date", "unsubscribe_detected_at",
            "billing_issues_detected_at", "grace_period_expires_date", "refunded_at",
            "auto_resume_date",
        ] { _ = try optionalDate(subscription, key) }
        for key in ["store_transaction_id", "display_name", "management_url"] {
            guard try optionalText(subscription, key) != "" else {
                throw Unreadable("\(key) empty")
            }
        }
        let kinds: Set = ["normal", "intro", "trial"]
        guard kinds.contains(try subscription.text("period_type")),
            ["PURCHASED", "FAMILY_SHARED"].contains(try subscription.text("ownership_type")),
            ["app_store", "promotional"].contains(try subscription.text("store")),
            subscription["is_sandbox"]?.bool != nil
        else { throw Unreadable("a word of \(subscription.text)") }
        try checkPrice(subscription)
    }

    private static func checkPrice(_ source: JSON) throws {
        guard let price = source["price"], price != .null else { return }
        _ = try price.text("currency")
        switch price["amount"] {
        case .integer, .decimal: return
        default: throw Unreadable("the price \(price.text)")
        }
    }

    private static func transaction(_ payment: JSON) throws -> String {
        _ = try date(payment, "purchase_date")
        _ = try payment.text("id")
        guard payment["is_sandbox"]?.bool != nil else { throw Unreadable("no is_sandbox") }
        try checkPrice(payment)
        return try payment.text("store_transaction_id")
    }

    // MARK: - Values

    static func members(_ json: JSON?) -> [(String, JSON)] {
        (json?.members ?? []).map { ($0.key, $0.value) }
    }

    private static func optionalText(_ json: JSON, _ key: String) throws -> String? {
        guard let value = json[key], value != .null else { return nil }
        guard let text = value.string else { throw Unreadable("\(key) is \(value.text)") }
        return text
    }

    private static func date(_ json: JSON, _ key: String) throws -> Instant {
        guard let date = try optionalDate(json, key) else { throw Unreadable("no \(key)") }
        return date
    }

    private static func optionalDate(_ json: JSON, _ key: String) throws -> Instant? {
        guard let text = try optionalText(json, key) else { return nil }
        guard let date = try? Date(text, strategy: .iso8601) else {
            throw Unreadable("\(key) is \(text)")
        }
        return Instant(milliseconds: Int64(date.timeIntervalSince1970) * 1000)
    }
}

extension RevenueCatAnswer.Unreadable {
    fileprivate init(_ what: String) { self.init(description: what) }
}
