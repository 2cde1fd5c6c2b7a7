import PerennialContract

/// The paths of the dashboard.
///
/// Pages, all `GET`. Each takes `environment` (`production` or `sandbox`) in its query, too.
///
/// | path | query |
/// |---|---|
/// | `/` | |
/// | `/charts/{name}` | the view: `by`, `segment`, `currency`, `column`, `known`; |
/// | | `format` (`csv`, `json`) |
/// | `/charts/{name}/purchases` | the view, and `part`, `from`, `to`; `cursor`, `format` (`csv`) |
/// | `/reports` | `month`, `report` |
/// | `/reports/{month}/{report}` | |
/// | `/customers` | `query`, `state`, `cursor` |
/// | `/customers/{id}` | `history` (`all`, a number), `wallet` (a currency), `entries` (a cursor) |
/// | | of a group: `group` (its first transaction), `members` (a cursor) |
/// | `/events` | `customer_id`, `what`, `from`, `to`, `cursor` |
/// | `/documents` | `transaction` (the first one of a purchase) |
/// | `/documents/{document_id}` | `transaction`, `known` (ms): how it is found; `format` (`raw`) |
/// | `/notifications`, `/notifications/forwarded` | `cursor` |
/// | `/notifications/asked` | |
/// | `/webhooks` | |
/// | `/webhooks/{webhook_id}` | `state`, `cursor`, `delivery` |
/// | `/products`, `/checks`, `/phone` | |
/// | `/login`, `/login/openid` | `next` |
/// | `/login/openid/answer` | what the provider adds: `state`, `code`, `error`, `iss` |
/// | `/login/passkey` | `next` |
/// | `/login/step` | the step after the password |
/// | `/live`, `/live/…` | the stream of server-sent events of a page: its path and query |
/// | `/assets/{file}` | |
///
/// The pages that are live: `/`, `/customers/{id}`, `/events`, `/notifications`, `/webhooks`,
/// `/webhooks/{webhook_id}`, `/checks`. Each message is `{"id": …, "html": …}`, see ``LivePieces``.
///
/// Actions, all `POST`, as `application/x-www-form-urlencoded` with the field `csrf`. Each action
/// responds with a redirect to the page with the form, which then shows a ``Notice``. Each action
/// is permitted for everybody, for `support` and `admin`, or only for `admin`.
///
/// | path | fields | who |
/// |---|---|---|
/// | `/login` | `name`, `password`, `next`; no `csrf` | |
/// | `/login/passkey` | `credential`, `client`, `authenticator`, `signature`, `user`; no `csrf` | |
/// | `/login/recovery` | `code`; no `csrf` | |
/// | `/login/enrol` | `name`, `client`, `attestation`; no `csrf` | |
/// | `/account/passkeys/new` | `password`: responds with ``NewPasskeyPage`` | everybody |
/// | `/account/passkeys` | `name`, `client`, `attestation` | everybody |
/// | `/account/passkeys/name` | `passkey`, `name` | everybody |
/// | `/account/passkeys/remove` | `passkey`, `password` | everybody |
/// | `/account/passkeys/codes` | `password`: responds with ``RecoveryCodesPage`` | everybody |
/// | `/logout` | | everybody |
/// | `/theme` | `theme` (`light`, `dark`), `next` | everybody |
/// | `/customers/{id}/grants` | `entitlement`, `until` (a day, or empty), `reason` | support |
/// | `/customers/{id}/grants/{grant_id}/withdraw` | | support |
/// | `/customers/{id}/transfers` | `query` (a transaction or order), `reason`; | support |
/// | | `original_transaction_id` once ``MovePage`` was confirmed | |
/// | `/customers/{id}/transfers/{transfer_id}/undo` | | support |
/// | `/customers/{id}/blocks` | `original_transaction_id`, `reason` | support |
/// | `/customers/{id}/blocks/{original_transaction_id}/end` | | support |
/// | `/customers/{id}/consumption` | `transaction_id`, `consented` (`yes`, `no`), | support |
/// | | `delivery`, `used_percent` (may be empty); of other purchases with `_2`, `_3` | |
/// | `/customers/{id}/wallets/{currency}/debits` | `amount`, `reason`, `key` | support |
/// | `/customers/{id}/wallets/{currency}/credits` | `amount`, `reason`, `key`; | support |
/// | | `confirmed` (`yes`) once ``CreditPage`` was confirmed | |
/// | `/customers/{id}/groups/{original_transaction_id}/invitations` | `days`, `key`, | support |
/// | | `customer_id` (may be empty): responds with ``InvitationPage`` | |
/// | `…/invitations/{invitation_id}/renew` | responds with ``InvitationPage`` | support |
/// | `…/invitations/{invitation_id}/withdraw` | | support |
/// | `/customers/{id}/seats/{claim_id}/release` | | support |
/// | `/customers/{id}/erase` | `confirm`: the id, typed | admin |
/// | `/forwards/{document_id}/retry` | `address` | admin |
/// | `/notifications/test` | | admin |
/// | `/products/preview` | `configuration`: responds with the page | admin |
/// | `/webhooks` | `url`, `format`, `types` (words with commas), `authorization` | admin |
/// | `/webhooks/{webhook_id}/pause`, `…/resume`, `…/test`, `…/secret` | | admin |
/// | `/webhooks/{webhook_id}/delete` | `confirm`: `delete`, typed | admin |
/// | `/webhooks/{webhook_id}/replay` | `from`, `to` (minutes in UTC), `customer_id`; | admin |
/// | | or `delivery_id` alone | |
package struct DashboardPath: Hashable, Sendable {
    package private(set) var path: String
    package private(set) var query: [(name: String, value: String)] = []

    package static func == (one: Self, other: Self) -> Bool { one.text == other.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    private init(_ segments: [String]) {
        path = "/" + segments.map(Paths.percentEncoded).joined(separator: "/")
    }

    private init(_ segments: String...) { self.init(segments) }

    /// Path and query, as an address needs them.
    package var text: String {
        guard !query.isEmpty else { return path }
        let parts = query.map {
            "\(Paths.percentEncoded($0.name))=\(Paths.percentEncoded($0.value))"
        }
        return path + "?" + parts.joined(separator: "&")
    }

    /// This path with a parameter in its query. A value that is nil or empty adds nothing.
    package func with(_ name: String, _ value: String?) -> DashboardPath {
        guard let value, !value.isEmpty else { return self }
        var path = self
        path.query.removeAll { $0.name == name }
        path.query.append((name, value))
        return path
    }

    /// A path without `environment` means production.
    package func `in`(_ environment: StoreEnvironment) -> DashboardPath {
        environment == .production ? self : with("environment", environment.rawValue)
    }
}

// MARK: - Pages

extension DashboardPath {
    package static let overview = DashboardPath([])
    package static let customers = DashboardPath("customers")
    package static let events = DashboardPath("events")
    package static let notifications = DashboardPath("notifications")
    package static let forwarded = DashboardPath("notifications", "forwarded")
    package static let asked = DashboardPath("notifications", "asked")
    package static let webhooks = DashboardPath("webhooks")
    package static let products = DashboardPath("products")
    package static let checks = DashboardPath("checks")
    package static let reports = DashboardPath("reports")
    package static let phone = DashboardPath("phone")
    package static let login = DashboardPath("login")
    /// Leads to the provider at which operators sign in, and back.
    package static let provider = DashboardPath("login", "openid")
    package static let providerAnswer = DashboardPath("login", "openid", "answer")
    /// The sign-in with a passkey, alone or after the password.
    package static let passkeySignIn = DashboardPath("login", "passkey")
    /// The step after the password: a passkey, a recovery code, or the first passkey.
    package static let signInStep = DashboardPath("login", "step")
    package static let recovery = DashboardPath("login", "recovery")
    package static let enrolment = DashboardPath("login", "enrol")
    package static let operators = DashboardPath("operators")
    package static let account = DashboardPath("account")
    package static let audit = DashboardPath("audit")
    package static let rehearsal = DashboardPath("rehearsal")

    /// The page of a link that works once.
    package static func link(_ token: String) -> DashboardPath { .init("links", token) }

    package static func customer(_ id: String) -> DashboardPath { .init("customers", id) }
    package static func chart(_ name: String) -> DashboardPath { .init("charts", name) }
    package static func chartPurchases(_ name: String) -> DashboardPath {
        .init("charts", name, "purchases")
    }
    package static func report(_ report: String, month: String) -> DashboardPath {
        .init("reports", month, report)
    }
    /// A page of a document. The query says how to find the document: by the first transaction of a
    /// purchase that it is about, and by the time when it became known.
    package static func document(
        _ id: String, transaction: String? = nil, knownAt: Timestamp? = nil
    ) -> DashboardPath {
        .init("documents", id).with("transaction", transaction)
            .with("known", knownAt.map { "\($0.milliseconds)" })
    }
    /// The documents about a purchase.
    package static func documents(of transaction: String) -> DashboardPath {
        .init("documents").with("transaction", transaction)
    }
    package static func webhook(_ id: String) -> DashboardPath { .init("webhooks", id) }
}

// MARK: - Acts

extension DashboardPath {
    package static let logout = DashboardPath("logout")
    package static let theme = DashboardPath("theme")
    /// An action on the operator's own account: `password`, `sign-out`.
    package static func account(_ act: String) -> DashboardPath { .init("account", act) }
    /// An action on the operator's own passkeys: `new`, `name`, `remove`, `codes`. If nil, the path
    /// adds a passkey.
    package static func passkeys(_ act: String? = nil) -> DashboardPath {
        .init(["account", "passkeys"] + (act.map { [$0] } ?? []))
    }
    /// An action on an operator: `roles`, `link`, `sign-out`, `block`, `unblock`, `withdraw`.
    package static func act(_ act: String, onOperator name: String) -> DashboardPath {
        .init("operators", name, act)
    }
    package static let configurationPreview = DashboardPath("products", "preview")
    package static let notificationTest = DashboardPath("notifications", "test")

    /// An action on a customer: `grants`, `transfers`, `blocks`, `consumption`, `erase`.
    package static func act(_ act: String, on customer: String) -> DashboardPath {
        .init("customers", customer, act)
    }
    package static func withdrawal(of grant: String, from customer: String) -> DashboardPath {
        .init("customers", customer, "grants", grant, "withdraw")
    }
    package static func undo(_ transfer: String, of customer: String) -> DashboardPath {
        .init("customers", customer, "transfers", transfer, "undo")
    }
    package static func blockEnd(_ transaction: String, of customer: String) -> DashboardPath {
        .init("customers", customer, "blocks", transaction, "end")
    }
    package static func debit(of currency: String, from customer: String) -> DashboardPath {
        .init("customers", customer, "wallets", currency, "debits")
    }
    package static func credit(of currency: String, to customer: String) -> DashboardPath {
        .init("customers", customer, "wallets", currency, "credits")
    }
    /// Invitations to a group that a customer pays for.
    package static func invitations(
        to original: String, of customer: String
    ) -> DashboardPath {
        .init("customers", customer, "groups", original, "invitations")
    }
    /// An action on an invitation: `renew`, `withdraw`.
    package static func act(
        _ act: String, on invitation: String, to original: String, of customer: String
    ) -> DashboardPath {
        .init("customers", customer, "groups", original, "invitations", invitation, act)
    }
    /// Ends a claim, on the page of its member or of the purchaser.
    package static func release(of claim: String, from customer: String) -> DashboardPath {
        .init("customers", customer, "seats", claim, "release")
    }
    package static func retry(_ document: String) -> DashboardPath {
        .init("forwards", document, "retry")
    }
    /// An action on a webhook: `pause`, `resume`, `test`, `secret`, `delete`, `replay`.
    package static func act(_ act: String, onWebhook webhook: String) -> DashboardPath {
        .init("webhooks", webhook, act)
    }
}
