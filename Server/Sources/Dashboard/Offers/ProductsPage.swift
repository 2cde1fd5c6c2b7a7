import PerennialContract

/// The page `/products`: what is sold, and what each product opens.
package struct ProductsPage: Sendable {
    package var offerings: Offerings
    package var figures: [String: Sold]
    /// How many customers have each entitlement open now.
    package var open: [String: Int]
    /// Products that were bought, and that the configuration does not list.
    package var unlisted: [Unlisted]
    /// Whether ``figures`` has the kind of each subscription, from the `.storekit` file.
    package var listsSubscriptions: Bool
    /// Whether a configuration can be pasted, to see what it would change.
    package var takesConfiguration: Bool

    /// What is known about a product besides the configuration.
    package struct Sold: Sendable {
        /// The name from the `.storekit` file or App Store Connect.
        package var displayName: String?
        /// `subscription, 1 month`
        package var kind: String?
        package var price: Money?
        package var active: Int?

        package init(
            displayName: String? = nil, kind: String? = nil, price: Money? = nil,
            active: Int? = nil
        ) {
            self.displayName = displayName
            self.kind = kind
            self.price = price
            self.active = active
        }
    }

    package struct Unlisted: Sendable {
        package var productID: String
        /// The line to add to the configuration.
        package var line: String
        package var purchases: Int
        package var since: Timestamp

        package init(productID: String, line: String, purchases: Int, since: Timestamp) {
            self.productID = productID
            self.line = line
            self.purchases = purchases
            self.since = since
        }
    }

    package init(
        offerings: Offerings, figures: [String: Sold] = [:], open: [String: Int] = [:],
        unlisted: [Unlisted] = [], listsSubscriptions: Bool = false,
        takesConfiguration: Bool = false
    ) {
        self.offerings = offerings
        self.figures = figures
        self.open = open
        self.unlisted = unlisted
        self.listsSubscriptions = listsSubscriptions
        self.takesConfiguration = takesConfiguration
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Products", section: .products, heading: "Products",
            lede: """
                The products, the entitlements they give, and the offerings in the app. They come \
                from perennial.yaml, and are changed there.
                """, content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        """
        <div class="stack">
        \(unlisted.map { warning($0, in: frame) }.joined())
        <section class="panel flush"><header><h2>Sold</h2></header>\(sold(in: frame))</section>
        <div class="cols c2">\(opens)\(placements)\(wallets)</div>
        \(takesConfiguration ? ConfigurationPage.form(in: frame) : "")
        </div>
        """
    }

    private func warning(_ product: Unlisted, in frame: Frame) -> Markup {
        """
        <div class="say warn">\(Icon.warning.markup)<div><strong>\(.bdi(product.productID)) is \
        sold, but gives no access.</strong> \(Figures.count(product.purchases, "purchase")) since \
        \(frame.day(product.since)). Add it to <code>perennial.yaml</code>: \
        <code>\(.bdi(product.line))</code>. Then it counts at once, for earlier purchases, \
        too.</div></div>
        """
    }

    // MARK: - Sold

    /// The products. With their prices, the numbers of active subscriptions would be an amount.
    private func sold(in frame: Frame) -> Markup {
        guard !offerings.products.isEmpty else {
            return Empty(
                title: "No product yet",
                text: """
                    Write each product and what it opens into <code>perennial.yaml</code>, then \
                    <code>perennial check</code> it.
                    """,
                actions:
                    """
                    <pre>apps:
                      \(.bdi(offerings.app)):
                        products:
                          pro.monthly: [pro]</pre>
                    """
            ).markup
        }
        var columns: [Table.Column] = [.init("Product"), .init("Is"), .init("Opens")]
        if hasPrices { columns.append(.number("Price")) }
        if frame.viewer.seesMoney { columns.append(.number("Active")) }
        return Table(
            name: "Products", columns: columns,
            rows: offerings.products.map { row($0, in: frame) }
        ).markup
    }

    private var hasPrices: Bool { figures.values.contains { $0.price != nil } }

    private func row(_ product: Offerings.Product, in frame: Frame) -> Markup {
        let known = figures[product.productID]
        let name: Markup =
            known?.displayName.map {
                "<br><span class=\"muted small\">\(.bdi($0))</span>"
            } ?? ""
        let family: Markup =
            product.familyShareable == true
            ? "<br><span class=\"muted small\">families share it</span>" : ""
        let price = Table.Cell(known?.price.map { "\(Figures.money($0))" } ?? "–", "num")
        let active: Markup =
            known?.active.map {
                "\(Figures.count($0))<span class=\"fold-only\"> active</span>"
            } ?? "–"
        var cells: [Table.Cell] = [
            .init("\(kind(of: product))\(family)", "full"), .init(Self.opens(product)),
        ]
        if hasPrices { cells.append(price) }
        if frame.viewer.seesMoney { cells.append(.init(active, "num")) }
        return Table.row(.init("\(.bdi(product.productID))\(name)"), cells)
    }

    private func kind(of product: Offerings.Product) -> Markup {
        if let kind = figures[product.productID]?.kind { return .bdi(kind) }
        if let term = product.term { return "term, \(Self.length(of: term))" }
        guard product.credits.isEmpty else {
            let credits = product.credits.sorted { $0.key < $1.key }.map { name, amount -> Markup in
                "\(Figures.count(amount)) \(.bdi(name))"
            }
            return "consumable, credits \(credits.joined(by: ", "))"
        }
        return listsSubscriptions ? "one-time purchase" : "subscription or one-time purchase"
    }

    private static func length(of term: Offerings.Term) -> Markup {
        var parts: [String] = []
        if term.months > 0 { parts.append(Figures.count(term.months, "month")) }
        if term.days > 0 { parts.append(Figures.count(term.days, "day")) }
        if term.bonusDays > 0 { parts.append(Figures.count(term.bonusDays, "bonus day")) }
        return "\(parts.joined(separator: " and "))"
    }

    private static func opens(_ product: Offerings.Product) -> Markup {
        guard !product.entitlements.isEmpty else {
            return "<span class=\"muted\">nothing by itself</span>"
        }
        let chips = product.entitlements.map { Chip($0, .plain).markup }
        return "<span class=\"row\">\(chips.joined())</span>"
    }

    // MARK: - Opens, and is shown

    private var opens: Markup {
        let names = Set(offerings.products.flatMap(\.entitlements)).sorted()
        guard !names.isEmpty else { return "" }
        let lines = names.map { name -> Markup in
            let by = offerings.products.filter { $0.entitlements.contains(name) }
                .map { Markup.bdi($0.productID) }.joined(by: ", ")
            let count: Markup = open[name].map { "\(Figures.count($0)) open now" } ?? ""
            return """
                <li><div><b>\(.bdi(name))</b> <span class="muted">\(by)</span></div>\
                <div class="num">\(count)</div></li>
                """
        }
        return Panel(title: "Opens", content: "<ul class=\"feed two\">\(lines.joined())</ul>")
            .markup
    }

    private var placements: Markup {
        guard !offerings.placements.isEmpty else { return "" }
        let lines = offerings.placements.enumerated().map { index, placement -> Markup in
            let chip = index == 0 ? Chip("the default", .open).markup : ""
            let products = placement.products.map(Markup.bdi).joined(by: ", ")
            return """
                <li><div><b>\(.bdi(placement.placementID))</b> \(chip)</div>\
                <div class="num">\(Figures.count(placement.products.count, "product"))</div>\
                <div class="sub">\(products)</div></li>
                """
        }
        return Panel(
            title: "Offerings", content: "<ul class=\"feed two\">\(lines.joined())</ul>"
        ).markup
    }

    private var wallets: Markup {
        guard !offerings.wallets.isEmpty else { return "" }
        let lines = offerings.wallets.sorted { $0.key < $1.key }.map { name, wallet -> Markup in
            let offline: Markup =
                wallet.maxOffline.map {
                    ", up to \(Figures.count($0)) while offline"
                } ?? ""
            let debt: Markup = wallet.allowsDebt ? ", also below zero" : ""
            return """
                <li><div><b>\(.bdi(name))</b></div><div class="num"></div>\
                <div class="sub">spent by the \(.bdi(wallet.spend))\(offline)\(debt)</div></li>
                """
        }
        return Panel(
            title: "Wallets", content: "<ul class=\"feed two\">\(lines.joined())</ul>"
        ).markup
    }
}
