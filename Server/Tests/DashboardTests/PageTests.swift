import Foundation
import PerennialContract
import Testing

@testable import Dashboard

@Suite struct PageTests {
    @Test func `every page is well-formed`() {
        for (name, html) in Pages().all {
            #expect(HTMLDocument(html).faults == [], "\(name)")
        }
    }

    @Test func `every id of a page is unique, and every reference to an id has a target`() {
        for (name, html) in Pages().all {
            let elements = HTMLDocument(html).elements
            let ids = elements.compactMap { $0.attributes["id"] }
            #expect(Set(ids).count == ids.count, "\(name): \(ids.sorted())")
            for attribute in ["for", "popovertarget", "aria-labelledby"] {
                for id in elements.compactMap({ $0.attributes[attribute] }) {
                    #expect(ids.contains(id), "\(name): \(attribute)=\(id)")
                }
            }
        }
    }

    @Test func `no page has an inline style, an inline handler or an inline script`() {
        for (name, html) in Pages().all {
            for element in HTMLDocument(html).elements {
                let names = element.attributes.keys
                #expect(!names.contains("style"), "\(name): \(element)")
                #expect(!names.contains { $0.hasPrefix("on") }, "\(name): \(element)")
                #expect(element.name != "style", "\(name)")
                #expect(
                    element.name != "script"
                        || element.attributes["src"]?.hasPrefix("/assets/") == true, "\(name)")
            }
        }
    }

    @Test func `every form with an effect has the form token, but no search form has it`() {
        for (name, html) in Pages().all where !name.hasPrefix("login") {
            let elements = HTMLDocument(html).elements
            for (index, element) in elements.enumerated() where element.name == "form" {
                let next = elements[index + 1].attributes["name"] == "csrf"
                #expect(next == (element.attributes["method"] == "post"), "\(name): \(element)")
            }
        }
    }

    @Test func `no page exceeds the size limit`() {
        let common = Asset.style.bytes.count + Asset.script.bytes.count
        #expect(Asset.style.bytes.count <= 25 * 1024)
        #expect(Asset.script.bytes.count <= 5 * 1024)
        for (name, html) in Pages().all {
            #expect(html.utf8.count + common <= 60 * 1024, "\(name): \(html.utf8.count)")
        }
    }

    @Test func `a viewer sees no actions, secrets or documents`() {
        for (name, html) in Pages(samples: Samples(role: .viewer)).all
        where !name.hasPrefix("login") && !name.hasPrefix("account") {
            let document = HTMLDocument(html)
            let posts = document.elements.filter { $0.attributes["method"] == "post" }
                .compactMap { $0.attributes["action"] }
            #expect(
                posts.allSatisfy { $0.hasPrefix("/theme") || $0.hasPrefix("/logout") },
                "\(name): \(posts)")
            #expect(
                document.elements.filter { $0.name == "dialog" }
                    .allSatisfy { $0.attributes["id"] == "session" }, "\(name)")
            #expect(!html.contains("whsec_"), "\(name)")
            #expect(!html.contains("href=\"/documents"), "\(name)")
            #expect(!html.contains("upstream connect error</bdi></pre>"), "\(name)")
        }
    }

    @Test func `an operator with the role support can help customers and cannot configure`() {
        let samples = Samples(role: .support)
        #expect(samples.customer.html(in: samples.frame).contains("/customers/cleo/grants"))
        #expect(!samples.customer.html(in: samples.frame).contains("/customers/cleo/erase"))
        #expect(!samples.webhooks.html(in: samples.frame).contains("/webhooks/crm.example.com/"))
    }

    @Test func `an operator with the role support sees amounts only on the page of a customer`() {
        func amounts(_ html: String) -> [String] {
            html.matches(of: #/[$€£¥]\s?[0-9][0-9,.]*/#).map { String($0.output) }
        }
        let samples = Samples(role: .support)
        var frame = samples.frame
        func lists(in frame: Frame) -> [(name: String, html: String)] {
            var overview = samples.overview
            // The server computes these only for viewers who see money.
            overview.tiles = []
            overview.chart = nil
            overview.chartFinding = ""
            overview.movement = nil
            overview.conversion = ""
            return [
                ("overview", overview.html(in: frame)),
                ("events", samples.events.html(in: frame)),
                ("customers", samples.customers.html(in: frame)),
            ]
        }
        for (name, html) in lists(in: frame) {
            #expect(amounts(html) == [], "\(name)")
            #expect(!html.contains("href=\"/charts"), "\(name)")
            #expect(!html.contains("href=\"/reports"), "\(name)")
        }
        #expect(!amounts(samples.customer.html(in: frame)).isEmpty)
        #expect(!samples.products.html(in: frame).contains("> active</span>"))
        frame.viewer.isAlsoViewer = true
        #expect(samples.products.html(in: frame).contains("> active</span>"))
        for (name, html) in lists(in: frame) {
            #expect(!amounts(html).isEmpty, "\(name)")
            #expect(html.contains("href=\"/charts"), "\(name)")
        }
    }

    @Test func `the page about a refused form says what was wrong and links back`() {
        let problem = Problem(
            code: .requestNotUnderstood, status: 400, title: "The request was not understood.",
            detail: "The id that was typed is not this customer’s.", remedy: "Compare it.")
        let html = ProblemPage(problem, wasAct: true, origin: .customer("cleo"))
            .html(in: Samples().frame)
        #expect(
            html.contains(
                "<strong><bdi>The id that was typed is not this customer’s.</bdi></strong>"))
        #expect(html.contains("href=\"/customers/cleo\">Back</a>"))
        #expect(!html.contains("Compare it."))
    }

    @Test
    func `the page of a refused action has a remedy, and does not say that a page is missing`() {
        for (code, remedy) in ProblemPage.remediesOfActs {
            let problem = Problem(
                code: code, status: 404, title: "No.", remedy: "Send `until`, or POST /v1/x.")
            let act = ProblemPage(problem, wasAct: true).html(in: Samples().frame)
            #expect(act.contains("<bdi>\(remedy.replacing("'", with: "&#39;"))</bdi>"), "\(code)")
            #expect(!act.contains("POST /v1/x") && !act.contains("There is no such page"))
            let page = ProblemPage(problem).html(in: Samples().frame)
            #expect(page.contains("POST /v1/x") && page.contains("There is no such page"))
        }
    }

    @Test func `a search without results shows Apple's answer, and whether Apple was asked`() {
        let rows: [(AppleSearch, words: String?)] = [
            (.notAsked, nil), (.unknown, "Apple was asked and does not know it either."),
            (.known(originalTransactionID: "7001"), "but that purchase is not recorded here"),
            (.noKey, "this server has no key for the App Store"),
            (.away, "Search again in a few minutes."),
        ]
        for (apple, words) in rows {
            let pages = [
                CustomersPage(query: "7002", rows: [], apple: apple).html(in: Samples().frame),
                MovePage(customerID: "cleo", query: "7002", reason: "", found: [], apple: apple)
                    .html(in: Samples().frame),
            ]
            for page in pages {
                for other in rows.compactMap(\.words) {
                    #expect(page.contains(other) == (other == words), "\(apple): \(other)")
                }
            }
        }
    }

    @Test func `if a list has no matching entry yet, it offers to search older entries`() {
        let frame = Samples().frame
        let paid = CustomersPage(state: "paid", rows: [], olderCursor: "41").html(in: frame)
        #expect(paid.contains("No customer is “<bdi>paid</bdi>” here"))
        let any = CustomersPage(rows: [], olderCursor: "41").html(in: frame)
        #expect(any.contains("about purchases that no customer has claimed yet."))
        #expect(any.contains("href=\"/events\""))
        for page in [paid, any] {
            #expect(!page.contains("No customer yet") && page.contains(">Look further back</a>"))
        }
        for filter in [EventsPage.Filter(), .init(what: .wallets)] {
            let page = EventsPage(filter: filter, events: [], olderCursor: "41").html(in: frame)
            #expect(page.contains(">Look further back</a>"))
            #expect(!page.contains("No such event") && !page.contains("No event yet"))
        }
        let oldest = [
            CustomersPage(state: "paid", rows: [], isFirstPage: false).html(in: frame),
            EventsPage(filter: .init(what: .wallets), events: [], isFirstPage: false)
                .html(in: frame),
        ]
        for page in oldest {
            #expect(!page.contains("No customer") && !page.contains("No such event"))
        }
        let last = CustomersPage(state: "paid", rows: []).html(in: frame)
        #expect(last.contains("No customer is in this state now."))
    }

    @Test func `the bars of a webhook show waiting deliveries apart from successes and failures`() {
        let strip = Strip([.init(good: 2, waiting: 3), .init(good: 1, bad: 1)])
        #expect(
            strip.sentence
                == "By the hour, last 2 hours: 3 went well, 3 wait, "
                + "1 did not; at most 5 in an hour."
        )
        let bars = strip.markup.html.matches(of: /class="(f1b|f4b|f4)"/).map { String($0.1) }
        #expect(bars == ["f1b", "f4b", "f1b", "f4"])
    }

    @Test func `after grace, the page says when the card was refused and when access closed`() {
        let refused = Samples.at("2026-03-01T14:00:00Z")
        let closed = Samples.at("2026-03-17T14:00:00Z")
        func line(until: Timestamp, grace: Timestamp?) -> String {
            var customer = Samples().customer.customer
            customer.subscriptions = [
                Subscription(
                    purchaseID: "production:1", productID: "pro", originalTransactionID: "1",
                    state: .retry,
                    period: .init(from: Samples.at("2026-02-01T14:00:00Z"), until: refused),
                    willRenew: true, renewsTo: nil, graceUntil: grace, price: nil,
                    ownership: .purchased, environment: .production)
            ]
            customer.entitlements = [
                "pro": Entitlement(
                    active: false, until: until, state: .retry, reason: "", willRenew: true,
                    productID: "pro", purchaseID: "production:1")
            ]
            return Answer(customer, in: Samples().frame).text
        }
        let whole =
            "cleo has no access: pro closed on 17 March 2026, 14:00 UTC: the card was refused on "
            + "1 March 2026, 14:00 UTC, and the grace period is over. Apple keeps trying."
        #expect(line(until: closed, grace: closed) == whole)
        #expect(line(until: refused, grace: closed) == whole)
        #expect(
            line(until: refused, grace: nil)
                == "cleo has no access: pro closed on 1 March 2026, 14:00 UTC: the card was "
                + "refused. Apple keeps trying.")
    }

    @Test func `if a warning recommends a grant, this grant is preselected`() {
        var page = Samples().customer
        page.entitlements = ["archive", "pro"]
        page.customer.entitlements = [
            "pro": Entitlement(
                active: false, until: nil, state: .retry, reason: "", willRenew: nil,
                productID: "p", purchaseID: "production:1")
        ]
        let html = page.html(in: Samples().frame)
        #expect(html.contains("you can grant <b><bdi>pro</bdi></b>"))
        #expect(html.contains("<option value=\"pro\" selected>"))
        #expect(html.contains("<option value=\"archive\">"))
    }

    @Test func `a page calls a product a one-time purchase only if it is known to be one`() {
        func kinds(_ figures: [String: ProductsPage.Sold], listed: Bool) -> String {
            let products = ["monthly", "life"].map {
                Offerings.Product(productID: $0, entitlements: ["pro"])
            }
            return ProductsPage(
                offerings: Offerings(
                    app: "birds", bundleID: "b", environment: .production, products: products,
                    timeZone: "UTC", overlap: "append", unconfirmedHoldHours: 1, offlineDays: 30),
                figures: figures, listsSubscriptions: listed
            ).html(in: Samples().frame)
        }
        let active = kinds(["monthly": .init(kind: "subscription", active: 3)], listed: false)
        #expect(active.contains("subscription or one-time purchase") && !active.contains("to keep"))
        let listed = kinds(["monthly": .init(kind: "subscription", active: 0)], listed: true)
        #expect(listed.contains("one-time purchase"))
        #expect(!listed.contains("subscription or one-time purchase"))
    }

    @Test func `the page says that a webhook without deliveries has sent nothing recently`() {
        let samples = Samples()
        let webhook = samples.webhook("crm.example.com", failing: false)
        let card = WebhookCard(webhook: webhook, figures: .init(hours: []))
        #expect(card.chip(in: samples.frame).markup.html.contains("nothing sent lately"))
    }

    @Test func `a notification can be sent again only after the server has given up forwarding it`()
    {
        let samples = Samples()
        let forms = samples.forwarded.html(in: samples.frame).matches(of: />Send again</).count
        #expect(forms == 1)
    }

    @Test
    func `every page about the sandbox says so, and its links lead to pages about the sandbox`() {
        let samples = Samples()
        let html = samples.customer.html(in: samples.noticed)
        #expect(html.contains("You look at the sandbox."))
        #expect(html.contains("/customers/cleo/grants?environment=sandbox"))
        #expect(!samples.customer.html(in: samples.frame).contains("environment=sandbox\"><"))
    }

    /// Writes the pages and the files that they load into a folder, to look at them:
    /// `PERENNIAL_PAGES=folder bin/test DashboardTests`.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["PERENNIAL_PAGES"]?.isEmpty == false))
    func `the pages are written into the folder that PERENNIAL_PAGES names`() throws {
        let folder = URL(
            filePath: ProcessInfo.processInfo.environment["PERENNIAL_PAGES"] ?? "")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "assets"), withIntermediateDirectories: true)
        for (name, html) in Pages().all {
            try Data(html.utf8).write(to: folder.appending(path: "\(name).html"))
        }
        let hostile = "\u{202E}<b>\"" + String(repeating: "👩‍👩‍👧‍👦x", count: 100)
        for (name, html) in Pages(samples: Samples(text: { $0 + hostile })).all {
            try Data(html.utf8).write(to: folder.appending(path: "hostile-\(name).html"))
        }
        for asset in Asset.common {
            try Data(asset.bytes).write(to: folder.appending(path: asset.path))
        }
    }
}
