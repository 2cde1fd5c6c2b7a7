/// The paths of the HTTP interface, relative to the server's address.
public struct Paths: Sendable {
    private init() {}

    public static let notifications = "/apple/notifications"
    /// The path that replaces Apple's verifyReceipt endpoint of production.
    /// ``sandboxVerifyReceipt`` replaces the endpoint of the sandbox.
    public static let verifyReceipt = "/verifyReceipt"
    public static let sandboxVerifyReceipt = "/sandbox/verifyReceipt"
    public static let purchases = "/v1/purchases"
    public static let preview = "/v1/purchases/preview"
    public static let seatClaims = "/v1/seats/claims"
    public static let offerSignatures = "/v1/offers/signatures"
    public static let offerings = "/v1/offerings"
    public static let publishedKeys = "/.well-known/jwks.json"
    public static let ping = "/v1/ping"
    public static let customers = "/v1/customers"
    public static let events = "/v1/events"
    public static let eventStream = "/v1/events/stream"
    public static let forwards = "/v1/forwards"
    public static let webhooks = "/v1/webhooks"
    public static let reports = "/v1/reports"
    public static let audit = "/v1/audit"
    public static let configurationPreview = "/v1/configuration/preview"
    public static let documents = "/v1/documents"
    public static let receivedNotifications = "/v1/notifications"
    public static let notificationSummary = "/v1/notifications/summary"
    public static let storeInquiries = "/v1/notifications/asked"
    public static let health = "/health"
    public static let ready = "/ready"
    public static let metrics = "/metrics"
    public static let openAPI = "/openapi.json"

    /// The path of a group. With an app key, add `?customer_id=` with the purchaser's id.
    public static func seats(of originalTransactionID: String) -> String {
        "\(purchases)/\(percentEncoded(originalTransactionID))/seats"
    }

    /// The path of a group's invitations. With an app key, add `?customer_id=` with the purchaser's
    /// id.
    public static func invitations(of originalTransactionID: String) -> String {
        "\(purchases)/\(percentEncoded(originalTransactionID))/invitations"
    }

    /// The path to withdraw an invitation.
    public static func invitation(
        _ id: String, of originalTransactionID: String
    ) -> String {
        "\(invitations(of: originalTransactionID))/\(percentEncoded(id))"
    }

    /// The path to end a claim. With an app key, add `?customer_id=` with the id of the purchaser
    /// or of the member.
    public static func seatClaim(_ id: String) -> String {
        "\(seatClaims)/\(percentEncoded(id))"
    }

    public static func customer(_ id: String) -> String { "/v1/customers/\(percentEncoded(id))" }

    public static func aliases(of id: String) -> String { "\(customer(id))/aliases" }

    public static func attributes(of id: String) -> String { "\(customer(id))/attributes" }

    /// The path to remove an alias from a customer.
    public static func alias(_ alias: String, of id: String) -> String {
        "\(aliases(of: id))/\(percentEncoded(alias))"
    }

    public static func transfers(of id: String) -> String { "\(customer(id))/transfers" }

    public static func grants(of id: String) -> String { "\(customer(id))/grants" }

    public static func explanation(of id: String) -> String { "\(customer(id))/explain" }

    public static func history(of id: String) -> String { "\(customer(id))/history" }

    public static func documents(of id: String) -> String { "\(customer(id))/documents" }

    public static func document(_ id: String) -> String { "\(documents)/\(percentEncoded(id))" }

    public static func wallet(_ currency: String, of id: String) -> String {
        "\(customer(id))/wallets/\(percentEncoded(currency))"
    }

    public static func debits(_ currency: String, of id: String) -> String {
        "\(wallet(currency, of: id))/debits"
    }

    public static func credits(_ currency: String, of id: String) -> String {
        "\(wallet(currency, of: id))/credits"
    }

    public static func content(of id: String) -> String { "\(customer(id))/content" }

    public static func webhook(_ id: String) -> String { "\(webhooks)/\(percentEncoded(id))" }

    public static func deliveries(to webhook: String) -> String {
        "\(self.webhook(webhook))/deliveries"
    }

    public static func report(_ name: String) -> String { "\(reports)/\(percentEncoded(name))" }

    public static func transactions(of report: String) -> String {
        "\(self.report(report))/transactions"
    }

    public static func contentFile(of content: String) -> String {
        "/v1/content/\(percentEncoded(content))/file"
    }

    /// Percent-encodes everything except RFC 3986's unreserved characters, so that an id can
    /// contain any character, including a slash.
    public static func percentEncoded(_ segment: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in segment.utf8 {
            if isUnreserved(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
