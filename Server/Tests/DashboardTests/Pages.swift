@testable import Dashboard

/// Every page with its sample values.
struct Pages {
    var samples = Samples()

    var all: [(name: String, html: String)] {
        let frame = samples.frame
        return [
            ("index", samples.overview.html(in: frame)),
            ("index-empty", OverviewPage(tiles: [], events: []).html(in: simulated)),
            ("customers", samples.customers.html(in: frame)),
            ("customers-none", emptySearch.html(in: samples.noticed)),
            ("customers-elsewhere", elsewhereSearch.html(in: frame)),
            ("customers-empty", CustomersPage(rows: []).html(in: frame)),
            ("customer", samples.customer.html(in: frame)),
            ("customer-sandbox", samples.customer.html(in: samples.noticed)),
            ("customer-anna", samples.anna.html(in: frame)),
            ("customer-empty", samples.emptyCustomer.html(in: frame)),
            ("customer-purchaser", samples.purchaser.html(in: frame)),
            ("customer-member", samples.member.html(in: frame)),
            ("invitation", samples.invitationPage(token: "70ken").html(in: frame)),
            ("invitation-before", samples.invitationPage(token: nil).html(in: frame)),
            ("move", samples.move.html(in: frame)),
            ("move-none", samples.moveNothing.html(in: frame)),
            ("credit", samples.credit.html(in: frame)),
            ("events", samples.events.html(in: frame)),
            ("events-none", samples.filteredEvents.html(in: frame)),
            ("events-empty", EventsPage(events: []).html(in: simulated)),
            ("events-waiting", EventsPage(events: [], isWaiting: true).html(in: frame)),
            ("webhooks", samples.webhooks.html(in: frame)),
            ("webhooks-empty", WebhooksPage(webhooks: []).html(in: frame)),
            ("webhook", samples.openedWebhook.html(in: frame)),
        ] + moneyPages + operationPages
    }

    private var moneyPages: [(name: String, html: String)] {
        let frame = samples.frame
        return [
            ("mrr", samples.mrrPage.html(in: frame)),
            ("mrr-movement", samples.movementPage.html(in: frame)),
            ("retention", samples.retentionPage.html(in: frame)),
            ("chart-empty", samples.emptyChart.html(in: frame)),
            ("chart-counting", samples.countingChart.html(in: frame)),
            ("purchases", samples.behind.html(in: frame)),
            ("reports", samples.apple.html(in: frame)),
            ("reports-empty", AppleReportsPage(comparison: nil).html(in: frame)),
        ]
    }

    private var operationPages: [(name: String, html: String)] {
        let frame = samples.frame
        let nothing = NotificationsPage(.cameIn(.init(items: [])))
        let nothingSent = NotificationsPage(
            .forwarded(.init(addresses: [], forwards: .init(items: [], nextCursor: nil))))
        return [
            ("notifications", samples.cameIn.html(in: frame)),
            ("notifications-forwarded", samples.forwarded.html(in: frame)),
            ("notifications-asked", samples.asked.html(in: frame)),
            ("notifications-trouble", samples.cannotAsk.html(in: frame)),
            ("notifications-empty", nothing.html(in: frame)),
            ("forwarded-empty", nothingSent.html(in: frame)),
            ("products", samples.products.html(in: frame)),
            ("products-empty", samples.noProducts.html(in: frame)),
            ("configuration", samples.configuration.html(in: frame)),
            ("configuration-same", samples.sameConfiguration.html(in: frame)),
            ("checks", samples.checks.html(in: frame)),
            ("rehearsal", samples.rehearsal.html(in: frame)),
            ("rehearsal-empty", RehearsalPage.empty(isChanged: false, in: frame)),
            ("rehearsal-changed", RehearsalPage.empty(isChanged: true, in: frame)),
            ("checks-waiting", ChecksPage(checks: []).html(in: frame)),
            ("problem-404", samples.problem(404, "route_unknown").html(in: frame)),
            ("problem-403", samples.problem(403, "key_scope_missing").html(in: frame)),
            ("problem-500", samples.problem(500, "internal").html(in: frame)),
            ("document", samples.document.html(in: frame)),
            ("operators", samples.operators.html(in: samples.signedIn)),
            ("account", samples.account.html(in: samples.signedIn)),
            ("account-no-passkeys", samples.noPasskeys.html(in: samples.signedIn)),
            (
                "account-new-passkey",
                NewPasskeyPage(request: samples.passkeyRequest, agent: samples.text("Browser"))
                    .html(in: samples.signedIn)
            ),
            (
                "account-codes",
                RecoveryCodesPage(codes: ["0123-4567-89ab-cdef"]).html(in: samples.signedIn)
            ),
            ("login-passkey", samples.passkey(.alone).html()),
            ("login-second", samples.passkey(.second(name: samples.text("mira"))).html()),
            (
                "login-enrol",
                samples.passkey(
                    .first(name: samples.text("mira"), agent: samples.text("Browser"))
                ).html()
            ),
            ("login-passkey-ended", PasskeyPage.ended(host: samples.text("store.example")).html()),
            (
                "login-passkey-shut",
                PasskeyPage.shut(
                    by: .nameFromAddress, until: Samples.now, host: samples.text("store.example")
                ).html()
            ),
            ("audit", samples.audit.html(in: samples.signedIn)),
            ("audit-empty", AuditPage(entries: []).html(in: frame)),
            ("login-link", samples.link(.first).html()),
            ("login-reset", samples.link(.reset(name: samples.text("mira"))).html()),
            ("login-ended", Card.linkEnded(host: samples.text("store.example")).html()),
            ("document-receipt", samples.receipt.html(in: frame)),
            ("documents", samples.documents.html(in: frame)),
            (
                "documents-none",
                DocumentsPage(transaction: samples.text("1"), documents: []).html(in: frame)
            ),
            ("login", samples.login(.wrong(triesLeft: 4)).html()),
            ("login-shut", samples.login(.shut(by: .address, until: Samples.now)).html()),
            ("login-busy", samples.login(.busy).html()),
            ("login-first", samples.login(.firstRun).html()),
        ]
    }

    private var simulated: Frame {
        var samples = samples
        samples.isSimulated = true
        return samples.frame
    }

    private var elsewhereSearch: CustomersPage {
        CustomersPage(
            query: samples.text("7"), rows: [],
            apple: .known(originalTransactionID: samples.text("7001")))
    }

    private var emptySearch: CustomersPage {
        CustomersPage(query: samples.text("clea"), rows: [], apple: .away)
    }
}
