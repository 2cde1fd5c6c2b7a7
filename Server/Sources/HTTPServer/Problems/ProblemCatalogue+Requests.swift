import Engine
import HTTPTypes
import Ledger
import Storage

// Problems of requests in general.

extension ProblemCatalogue {
    static let requestEntries: [Entry] = [
        // Keys
        Entry(
            .keyMissing, .unauthorized, "The request has no key.",
            remedy: "Send the header Authorization: Bearer KEY. `perennial keys create` makes one.",
            headers: [.wwwAuthenticate: "Bearer"]),
        Entry(
            .keyUnknown, .unauthorized, "The key is not known to this server.",
            remedy: "Check that it belongs to this server. `perennial keys create` makes a key.",
            headers: [.wwwAuthenticate: "Bearer error=\"invalid_token\""]),
        Entry(
            .keyNotSecret, .forbidden, "This needs a secret key, and the request has an app key.",
            remedy: "Use a secret key (sk_…) on your server. Never put one into an app."),
        // The text reveals nothing about the key itself, not even whether it is known.
        Entry(
            .secretKeyAtWrongAddress, .forbidden, "This address accepts no secret keys.",
            remedy: """
                Send the request to the server's address for secret keys: listen_secret in \
                perennial.yaml. An app uses its app key (pk_…).
                """),
        Entry(
            .keyExpired, .unauthorized, "The key has expired.",
            remedy: "Create another with `perennial keys create`, and use that one.",
            headers: [.wwwAuthenticate: "Bearer error=\"invalid_token\""]),
        .keyScopeMissing(.read, has: []),

        // Path, query, and header
        Entry(
            .routeUnknown, .notFound, "There is nothing at this path.",
            remedy: "Look for the path in /openapi.json."),
        .methodNotAllowed(.get, allowed: []),
        Entry(
            .requestNotUnderstood, .badRequest, "The request could not be understood.",
            remedy: "Compare it with /openapi.json."),
        Entry(
            .environmentUnknown, .badRequest, "The environment is unknown.",
            remedy: "Use environment=production or environment=sandbox."),
        .stateUnknown(known: []), .limitOutOfRange(max: 1),
        Entry(
            .cursorUnknown, .badRequest, "The cursor is not valid.",
            remedy: "Send next_cursor from a response unchanged, or leave it out to start."),
        Entry(
            .cursorOutdated, .gone, "The cursor belongs to a log that was lost.",
            detail: "The database was restored from a backup that is older than this cursor.",
            remedy: """
                Read from the beginning, without after. Skip the events whose id you know, and \
                undo what you did for events that no longer exist.
                """),

        // Bodies
        Entry(
            .bodyNotJSON, .badRequest, "The body is not a JSON object.",
            remedy: "Send JSON as /openapi.json describes it."),
        Entry(
            .bodyTooLarge, .contentTooLarge, "The body is too large.",
            remedy: "Send a smaller body."),
        // The connection is closed, because otherwise the server would wait for the rest of the
        // body.
        Entry(
            .bodyTooSlow, .requestTimeout, "The body arrived too slowly.", remedy: "Send it again.",
            headers: [.connection: "close"]),
        Entry(
            .bodyHasTooManyItems, .contentTooLarge, "The request contains too many items.",
            remedy: "Send several smaller requests."),
        // The body is valid JSON, but not what the route expects.
        Entry(
            .bodyNotUnderstood, .badRequest, "The body does not have the expected form.",
            remedy: "Compare it with /openapi.json."),
    ]
}

// MARK: - Keys

extension ProblemCatalogue.Entry {
    static func keyExpired(at end: Instant) -> Self {
        of(.keyExpired).variant(detail: "It expired at \(end.minute).")
    }

    static func keyScopeMissing(_ needed: KeyScope, has scopes: Set<KeyScope>) -> Self {
        Self(
            .keyScopeMissing, .forbidden, "The key may not be used for this.",
            detail: "This needs the scope \(needed.rawValue). The key has: \(scopes.text).",
            remedy: "Use a key with the scope \(needed.rawValue): `perennial keys create --scope "
                + "\(needed.rawValue)` makes one.")
    }

    static let keyNotSecretNorProof = of(.keyNotSecret).variant(
        "This needs a secret key, or a proof of identity.",
        remedy: "Use a secret key on your server; or configure a proof below `identity` in "
            + "perennial.yaml, and send Perennial-Customer-Proof with the app key.")

    static let reportNotFromServer = of(.keyNotSecret).variant(
        "With an app key only `consented` can be reported.",
        remedy: "Leave the other members out, or report them from your server with a secret key.")
}

// MARK: - Path, query, and header

extension ProblemCatalogue.Entry {
    static let metricsElsewhere = of(.routeUnknown).variant(
        "Metrics are served at another address.",
        remedy: "Use the address that listen_metrics in perennial.yaml names.")

    static let onlyMetricsHere = of(.routeUnknown).variant(
        "This address serves nothing but metrics.",
        remedy: "Use the address that host and port in perennial.yaml name.")

    static let onlyDashboardHere = onlyMetricsHere.variant(
        "This address serves nothing but the dashboard.")

    static func methodNotAllowed(
        _ method: HTTPRequest.Method, allowed: [HTTPRequest.Method]
    ) -> Self {
        let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        let refused = method == .other ? "this method" : method.rawValue
        return Self(
            .methodNotAllowed, .methodNotAllowed, "This path does not support \(refused).",
            remedy: "Use \(names).", headers: [.allow: names])
    }

    static let requestNotHTTP = of(.requestNotUnderstood).variant(
        "This is not a valid HTTP request.", remedy: "Send HTTP/1.1 according to RFC 9112.")

    static func actorNotPlain(bytesMax: Int) -> Self {
        of(.requestNotUnderstood).variant(
            "Perennial-Actor is not a plain name.",
            remedy: "Send 1 to \(bytesMax) printable ASCII characters, or leave the header out.")
    }

    static let pathWithNUL = of(.requestNotUnderstood).variant(
        "The path contains the character U+0000.", remedy: "Leave %00 out.")

    static let pathSegmentEmpty = of(.requestNotUnderstood).variant(
        "A segment of the path is empty.",
        remedy: "Put the missing customer id, or other part, between the slashes.")

    static func pathNotDecodable(_ part: String) -> Self {
        of(.requestNotUnderstood).variant(
            "The \(part) in the path cannot be decoded.",
            remedy: "Percent-encode it as UTF-8 (RFC 3986).")
    }

    static let parameterUnknown = of(.requestNotUnderstood).variant(
        "The query has an unknown parameter.")

    static let storefrontUnknown = of(.requestNotUnderstood).variant(
        "storefront is not a country in three letters.",
        remedy: "Send Storefront.countryCode as StoreKit returns it, such as USA.")

    static let queryMissing = of(.requestNotUnderstood).variant(
        "query is missing.",
        remedy: "Add ?query= with the id of a customer, a transaction, or an order.")

    static let contentCustomerMissing = of(.requestNotUnderstood).variant(
        "customer_id is missing.",
        remedy: "Add customer_id=…, or use a url from GET /v1/customers/{id}/content.")

    static func idempotencyKeyLength(bytesMax: Int) -> Self {
        of(.requestNotUnderstood).variant(
            "The Idempotency-Key is empty or too long.",
            remedy: "Send 1 to \(bytesMax) bytes, such as a UUID.")
    }

    static let bodyCutOff = of(.requestNotUnderstood).variant(
        "The body was cut off.", remedy: "Send the whole body.")

    static func stateUnknown(known: [String]) -> Self {
        Self(
            .stateUnknown, .badRequest, "There is no such state.",
            remedy: "Use one of \(known.joined(separator: ", ")).")
    }

    static func limitOutOfRange(max: Int) -> Self {
        Self(
            .limitOutOfRange, .badRequest, "limit must be between 1 and \(max).",
            remedy: "Send a limit from 1 to \(max).")
    }

    static func waitOutOfRange(_ range: ClosedRange<Int>) -> Self {
        limitOutOfRange(max: range.upperBound).variant(
            "wait must be a number of seconds between \(range.lowerBound) and "
                + "\(range.upperBound).",
            remedy: "Send a wait from \(range.lowerBound) to \(range.upperBound).")
    }

    static let eventUnknown = of(.cursorUnknown).variant(
        "The log has no such event.",
        remedy: "Send the event_id of an event: GET /v1/events lists them.")

    /// The response if the database was restored from a backup, and the reader knows events that
    /// the database no longer has.
    ///
    /// - Parameter place: the last position at which the present log equals the log to which the
    ///   cursor belongs.
    static func cursorOutdated(after place: LogPosition) -> Self {
        of(.cursorOutdated).variant(
            "The cursor belongs to the log before a restore from a backup.",
            detail: "Up to event \(place.sequence) the log is the one that you have read.",
            remedy: "Undo what you did for events after that one, and continue with "
                + "after=\(place); or read from the beginning, without after.")
    }
}

// MARK: - Bodies

extension ProblemCatalogue.Entry {
    static let bodyEmpty = of(.bodyNotJSON).variant(detail: "The body is empty.")

    static func bodyTooLarge(bytesMax: Int) -> Self {
        of(.bodyTooLarge).variant(detail: "At most \(bytesMax) bytes are read.")
    }

    static func purchasesTooLarge(bytesMax: Int) -> Self {
        bodyTooLarge(bytesMax: bytesMax).variant(remedy: smallerPurchases)
    }

    /// The document is genuine but too large to be read.
    static let documentTooLarge = of(.bodyTooLarge).variant(
        "A document is too large.", remedy: smallerPurchases)

    private static let smallerPurchases =
        "Send fewer documents at once. In place of a large app receipt, send the customer's "
        + "signed_transactions, or import the id of any of the purchases (perennial import "
        + "original-transaction-ids): Apple then reports the rest."

    static func bodyTooSlow(secondsMax: Int64) -> Self {
        of(.bodyTooSlow).variant(detail: "It must arrive within \(secondsMax) seconds.")
    }

    static func tooManyJSONValues(max: Int) -> Self {
        of(.bodyHasTooManyItems).variant(
            "The body holds too many values.", detail: "At most \(max) are read.",
            remedy: "Send several requests.")
    }

    static func tooManyIDs(max: Int) -> Self {
        of(.bodyHasTooManyItems).variant(
            "The customer would have too many ids.",
            detail: "At most \(max) ids are accepted for one customer.",
            remedy: "Use one of the existing ids, or remove one that was added wrongly. Let the "
                + "app keep the id it made instead of making one at each start. Support can move "
                + "purchases of another id: POST /v1/customers/{id}/transfers.")
    }

    static func queryTooLong(bytesMax: Int) -> Self {
        of(.bodyHasTooManyItems).variant(
            "query is too long.", detail: "Found more than \(bytesMax) bytes of UTF-8.",
            remedy: "Send one id of a customer, transaction, or order as ?query=. No id is longer. "
                + "Search for several one by one.")
    }

    static let bodyWithNUL = of(.bodyNotUnderstood).variant(
        "The body holds the character U+0000.",
        remedy: "Remove it: a database cannot store it as text.")

    static let timeNotReadable = of(.bodyNotUnderstood).variant(
        remedy: "Send RFC 3339, such as 2026-12-01T00:00:00Z.")

    static func reasonTooLong(bytesMax: Int) -> Self {
        of(.bodyNotUnderstood).variant(
            detail: "reason must have at most \(bytesMax) bytes of UTF-8.", remedy: "Shorten it.")
    }

    static let reasonMissing = of(.bodyNotUnderstood).variant(
        detail: "reason must not be empty.", remedy: "Say why, for the customer's statement.")

    static func deliveryUnknown(_ found: String, known: [String]) -> Self {
        of(.bodyNotUnderstood).variant(
            detail: "“\(found)” is not a delivery value.",
            remedy: "Send one of \(known.joined(separator: ", ")).")
    }

    static let usedPercentOutOfRange = of(.bodyNotUnderstood).variant(
        detail: "used_percent must be between 0 and 100.",
        remedy: "Send a number from 0 to 100, or leave it out.")

    static let offerTransactionMissing = of(.bodyNotUnderstood).variant(
        detail: "transaction_id is missing.",
        remedy: "Add the transaction_id of a transaction that the customer has posted.")

    static let offerTokenNotUUID = of(.bodyNotUnderstood).variant(
        detail: "app_account_token must be a UUID.",
        remedy: "Send the appAccountToken of the purchase, or leave it out in both places.")

    static let offerKindMismatch = of(.bodyNotUnderstood).variant(
        detail: "kind and offer_id do not fit together.",
        remedy: "Send kind promotional or promotional_v1 with an offer_id, or introductory "
            + "without one.")
}
