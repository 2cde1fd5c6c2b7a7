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

    @Test func `every page names each id once, and refers only to ids that it has`() {
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

    @Test func `every form that changes something carries the token, and no search does`() {
        for (name, html) in Pages().all where !name.hasPrefix("login") {
            let elements = HTMLDocument(html).elements
            for (index, element) in elements.enumerated() where element.name == "form" {
                let next = elements[index + 1].attributes["name"] == "csrf"
                #expect(next == (element.attributes["method"] == "post"), "\(name): \(element)")
            }
        }
    }

    @Test func `a page weighs no more than it should`() {
        let common = Asset.style.bytes.count + Asset.script.bytes.count
        #expect(Asset.style.bytes.count <= 25 * 1024)
        #expect(Asset.script.bytes.count <= 4 * 1024)
        for (name, html) in Pages().all {
            #expect(html.utf8.count + common <= 60 * 1024, "\(name): \(html.utf8.count)")
        }
    }

    @Test func `a viewer sees no acts, no secrets and no documents`() {
        for (name, html) in Pages(samples: Samples(role: .viewer)).all
        where !name.hasPrefix("login") && name != "account" {
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

    @Test func `support helps customers, and does not configure`() {
        let samples = Samples(role: .support)
        #expect(samples.customer.html(in: samples.frame).contains("/customers/cleo/grants"))
        #expect(!samples.customer.html(in: samples.frame).contains("/customers/cleo/erase"))
        #expect(!samples.webhooks.html(in: samples.frame).contains("/webhooks/crm.example.com/"))
    }

    @Test func `of a form that was filled in wrongly the page says what, and leads back`() {
        let problem = Problem(
            code: .requestNotUnderstood, status: 400, title: "The request was not understood.",
            detail: "The id that was typed is another one.", remedy: "Compare it.")
        let html = ProblemPage(problem, wasAct: true, origin: .customer("cleo"))
            .html(in: Samples().frame)
        #expect(html.contains("<strong><bdi>The id that was typed is another one.</bdi></strong>"))
        #expect(html.contains("href=\"/customers/cleo\">Back</a>"))
        #expect(!html.contains("Compare it."))
    }

    @Test func `a refused act has a remedy for people, and is not called a page`() {
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

    @Test func `a search that found nothing says what Apple said, and whether it was asked`() {
        let rows: [(AppleSearch, words: String?)] = [
            (.notAsked, nil), (.unknown, "Apple was asked, and knows none either."),
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

    @Test func `a page on which nothing is found yet leads on, and denies nothing`() {
        let frame = Samples().frame
        let paid = CustomersPage(state: "paid", rows: [], olderCursor: "41").html(in: frame)
        #expect(paid.contains("name nobody who is “<bdi>paid</bdi>” now. Go on with Older."))
        let any = CustomersPage(rows: [], olderCursor: "41").html(in: frame)
        #expect(any.contains("name nobody. Go on with Older."))
        for page in [paid, any] {
            #expect(!page.contains("No customer") && page.contains(">Older</a>"))
        }
        for filter in [EventsPage.Filter(), .init(what: .wallets)] {
            let page = EventsPage(filter: filter, events: [], olderCursor: "41").html(in: frame)
            #expect(page.contains("Go on with Older.") && page.contains(">Older</a>"))
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

    @Test func `a webhook to which nothing was sent is not called delivered`() {
        let samples = Samples()
        let webhook = samples.webhook("crm.example.com", failing: false)
        let card = WebhookCard(webhook: webhook, figures: .init(hours: []))
        #expect(card.chip(in: samples.frame).markup.html.contains("nothing sent lately"))
    }

    @Test func `only a notification that was given up can be sent again`() {
        let samples = Samples()
        let forms = samples.sentOn.html(in: samples.frame).matches(of: />Send again</).count
        #expect(forms == 1)
    }

    @Test func `the sandbox is said on top of every page, and stays in every link`() {
        let samples = Samples()
        let html = samples.customer.html(in: samples.noticed)
        #expect(html.contains("You look at the sandbox."))
        #expect(html.contains("/customers/cleo/grants?environment=sandbox"))
        #expect(!samples.customer.html(in: samples.frame).contains("environment=sandbox\"><"))
    }

    /// Writes the pages and what they load, to look at them:
    /// `PERENNIAL_PAGES=folder bin/test DashboardTests`.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["PERENNIAL_PAGES"]?.isEmpty == false))
    func `the pages can be written into a folder`() throws {
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
