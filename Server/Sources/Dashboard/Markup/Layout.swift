/// The document around a page's content: head, navigation, app menu, heading, notices.
package struct Layout: Sendable {
    /// The title in the browser's tab, before the app.
    package var title: String
    package var section: Section
    /// The heading. Empty if the content has its own.
    package var heading: Markup
    package var lede: Markup = ""
    /// Buttons beside the heading.
    package var actions: Markup = ""
    /// The breadcrumb above the heading.
    package var trail: Markup = ""
    /// Whether the page is updated while it is open.
    package var isLive: Bool
    /// Whether the page replaces another page that cannot be shown now. The browser reloads it
    /// until the other page can be shown.
    package var loadsAgain = false
    package var isWide = true
    package var scripts: [Asset] = []
    package var content: Markup

    package init(
        title: String, section: Section, heading: Markup, lede: Markup = "", actions: Markup = "",
        trail: Markup = "", isLive: Bool = false, isWide: Bool = true, scripts: [Asset] = [],
        content: Markup
    ) {
        self.title = title
        self.section = section
        self.heading = heading
        self.lede = lede
        self.actions = actions
        self.trail = trail
        self.isLive = isLive
        self.isWide = isWide
        self.scripts = scripts
        self.content = content
    }

    /// The header `Content-Security-Policy` of every page.
    package static let contentSecurityPolicy = """
        default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
        connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        """

    /// The entry of the navigation that is marked.
    package enum Section: Sendable {
        case overview, charts, reports, customers, events, notifications, webhooks, products
        case checks, phone, operators, audit
        /// A page outside of the navigation.
        case none
    }

    package func html(in frame: Frame) -> String {
        let document: Markup = """
            <!doctype html>
            <html lang="en"\(frame.theme.map { " data-theme=\"\($0.rawValue)\"" as Markup })>
            <head>
            \(Self.head(title: "\(title) · \(frame.app)", scripts: scripts))
            </head>
            <body class="app"\(bodyAttribute(in: frame))>
            <a class="skip" href="#main">Skip to content</a>
            <header class="side">
            <a class="brand" href="\(frame.link(.overview))">\(Icon.brand)Perennial</a>
            <button class="btn s" type="button" popovertarget="nav">\(Icon.menu.markup)Menu</button>
            <nav class="main" id="nav" popover aria-label="Pages">\(navigation(in: frame))</nav>
            </header>
            <div>
            <section class="top" aria-label="App and session">\(app(in: frame))\
            \(environments(in: frame))<div class="end">\(session(in: frame))</div></section>
            <main id="main"\(isWide ? " class=\"wide\"" : "")>
            \(trail.inside { "<p class=\"small\">\($0)</p>" })\(head)\
            <div class="stack" id="news">\(news(in: frame))</div>
            \(content)
            </main>
            </div>
            </body>
            </html>

            """
        return document.html
    }

    /// The heading, with the elements below and beside it.
    private var head: Markup {
        heading.inside { heading in
            """
            <div class="head"><div><h1>\(heading)</h1>\
            \(lede.inside { "<p class=\"lede\">\($0)</p>" })</div>\
            \(actions.inside { "<div class=\"row\">\($0)</div>" })</div>
            """
        }
    }

    /// The attribute by which the script knows whether the page has a stream, or waits to be
    /// reloaded.
    private func bodyAttribute(in frame: Frame) -> Markup {
        if loadsAgain { return " data-again" }
        return isLive && frame.isLive ? " data-source=\"\(frame.source)\"" : ""
    }

    static func head(title: String, scripts: [Asset] = []) -> Markup {
        let sources = ([Asset.script] + scripts).map { asset -> Markup in
            "<script src=\"\(asset.path)\" defer></script>"
        }
        return """
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title) · Perennial</title>
            <link rel="icon" href="\(Asset.icon.path)">
            <link rel="stylesheet" href="\(Asset.style.path)">
            \(sources.joined(by: "\n"))
            """
    }

    // MARK: - The line of the app

    /// The app's name, and the other apps that the operator may see.
    private func app(in frame: Frame) -> Markup {
        guard frame.apps.count > 1 else { return "<strong>\(.bdi(frame.app))</strong>" }
        let links = frame.apps.map { app -> Markup in
            let path = DashboardPath.overview.with("app", app).in(frame.environment).text
            let current: Markup = app == frame.app ? " aria-current=\"true\"" : ""
            return "<li><a href=\"\(path)\"\(current)>\(.bdi(app))</a></li>"
        }
        return """
            <strong><button class="link" type="button" popovertarget="apps">\(.bdi(frame.app)) ▾\
            </button></strong>\
            <dialog popover id="apps" aria-labelledby="apps-h"><h2 id="apps-h">Another app</h2>\
            <ul>\(links.joined())</ul></dialog>
            """
    }

    private func environments(in frame: Frame) -> Markup {
        if frame.isSimulated { return "<span class=\"chip plain hand\">simulated App Store</span>" }
        guard frame.environments.count > 1 else { return "" }
        let links = frame.environments.map { environment -> Markup in
            let path = DashboardPath.overview.in(environment).text
            let current: Markup = environment == frame.environment ? " aria-current=\"true\"" : ""
            let name =
                environment.rawValue.prefix(1).uppercased() + environment.rawValue.dropFirst()
            return "<a href=\"\(path)\"\(current)>\(name)</a>"
        }
        return "<nav class=\"seg\" aria-label=\"Environment\">\(links.joined())</nav>"
    }

    private func session(in frame: Frame) -> Markup {
        let live: Markup =
            !isLive || !frame.isLive
            ? "" : "<span data-live><span class=\"dot\"></span>Live</span>"
        let next = frame.theme == .dark ? "light" : "dark"
        let signedIn: Markup =
            "Signed in as \(.bdi(frame.viewer.name)), \(frame.viewer.role.rawValue)"
        return """
            \(live)<form method="post" action="\(frame.link(.theme))">\(frame.csrf)\
            <input type="hidden" name="next" value="\(.value(frame.path))">\
            <button class="link" type="submit" name="theme" value="\(next)" data-theme-button \
            aria-label="Change between light and dark">\(Icon.halfMoon.markup)</button></form>\
            <button class="link" type="button" popovertarget="session">\(.bdi(frame.viewer.name))\
            </button><dialog popover id="session" aria-labelledby="session-h">\
            <h2 id="session-h">\(signedIn)</h2>\
            \(frame.viewer.hasSession ? Self.account(in: frame) : "")\
            <form method="post" action="\(frame.link(.logout))">\(frame.csrf)<div class="row">\
            <button class="btn" type="button" popovertarget="session" \
            popovertargetaction="hide">Stay</button>\
            <button class="btn go" type="submit">Sign out</button></div></form></dialog>
            """
    }

    private static func account(in frame: Frame) -> Markup {
        "<p><a href=\"\(frame.link(.account))\">Password and sessions</a></p>"
    }

    /// The notice about the sandbox first, then the notices of actions.
    private func news(in frame: Frame) -> Markup {
        var notices = frame.notices.map { $0.markup(in: frame) }
        if frame.environment == .sandbox {
            let time: Markup =
                frame.isSimulated
                ? "" : " No money here, and time is short: a month is five minutes."
            notices.insert(
                """
                <div class="say">\(Icon.about.markup)<div><strong>You look at the \
                sandbox.</strong>\(time) \
                <a href="\(DashboardPath.overview.text)">Back to production</a></div></div>
                """, at: 0)
        }
        return notices.joined()
    }
}
