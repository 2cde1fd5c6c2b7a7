import Engine
import Foundation
import Ledger
import Yams

/// Parses the content that an app publishes.
extension ConfigurationReader {
    private static let itemsMax = 10_000
    private static let linkMinutesRange = 1...1440
    private static let contentKeys = [
        "folder", "redirect", "redirect_secret_env", "after_lapse", "earlier", "link_minutes",
        "sandbox", "items",
    ]
    private static let itemKeys = ["title", "published", "entitlement", "products", "file"]

    mutating func content(
        _ node: Node, of products: [Product], _ clock: WallClock
    ) -> ContentSettings {
        let members = members(of: node, known: Self.contentKeys, in: "content")
        var content = ContentSettings.none
        content.place = place(members)
        if let lapse = members["after_lapse"] {
            content.rules.staysAfterLapse = word(lapse, ["keep": true, "close": false]) ?? true
        }
        if let earlier = members["earlier"] {
            content.rules.opensEarlier = word(earlier, ["none": false, "open": true]) ?? false
        }
        if let sandbox = members["sandbox"] { content.opensSandbox = bool(sandbox) ?? false }
        if let minutes = number("link_minutes", members, in: Self.linkMinutesRange) {
            content.linkLifetime = .seconds(minutes * 60)
        }
        guard let items = members["items"]?.mapping else {
            complain(
                members["items"] ?? node, "content has no items.",
                "Add them: `items: {2026-01: {published: 2026-01-15, entitlement: magazine}}`.")
            return content
        }
        if items.count > Self.itemsMax {
            complain(node, "content has too many items.", "Use at most \(Self.itemsMax).")
        }
        let rights = Set(products.flatMap(\.entitlements))
        for (key, value) in items.prefix(Self.itemsMax) {
            guard let item = item(key, value, rights, clock) else { continue }
            if item.file != nil && content.place == nil {
                complain(
                    value, "\(item.publication.id) has a file, but content has no place for files.",
                    "Add `folder:` or `redirect:`.")
            }
            content.items.append(item)
        }
        return content
    }

    private mutating func item(
        _ key: Node, _ node: Node, _ rights: Set<String>, _ clock: WallClock
    ) -> ContentSettings.Entry? {
        let name = text(key) ?? ""
        let members = members(of: node, known: Self.itemKeys, in: "content \(name)")
        guard !name.isEmpty, let published = members["published"] else {
            complain(key, "“\(name)” has no date.", "Add its date: published: 2026-01-15.")
            return nil
        }
        guard let moment = moment(published, clock) else { return nil }
        let entitlement = members["entitlement"].flatMap(text)
        let products = members["products"].map { names($0, of: "products") } ?? []
        if let entitlement, !rights.contains(entitlement) {
            complain(
                members["entitlement"], "No product gives “\(entitlement)”.",
                Spelling.remedy(
                    for: entitlement, among: rights, else: "Use an entitlement of a product."))
        }
        if entitlement == nil && products.isEmpty {
            complain(
                key, "Nothing gives access to “\(name)”.", "Add its entitlement or its products.")
        }
        let publication = Publication(
            id: PublicationID(rawValue: name), publishedAt: moment,
            entitlement: entitlement.map { EntitlementID(rawValue: $0) },
            products: Set(products.map { ProductID(rawValue: $0) }))
        return ContentSettings.Entry(
            publication, title: members["title"].flatMap(text) ?? name,
            file: members["file"].flatMap { path($0) })
    }

    /// A date means its first moment in the time zone of the terms.
    private mutating func moment(_ node: Node, _ clock: WallClock) -> Instant? {
        let text = text(node) ?? ""
        if let date = text.wholeMatch(of: #/(\d{4})-(\d\d)-(\d\d)/#)?.output,
            let year = Int64(date.1), let month = Int64(date.2), let day = Int64(date.3),
            let moment = clock.midnight(year: year, month: month, day: day)
        {
            return moment
        }
        if let date = try? Date(text, strategy: .iso8601) {
            return Instant(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
        }
        complain(
            node, "“\(text)” is not a date.", "Write 2026-01-15, or a time: 2026-01-15T06:00:00Z.")
        return nil
    }

    /// Requires a path below the folder.
    private mutating func path(_ node: Node) -> String? {
        let path = text(node) ?? ""
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        if !path.isEmpty, !parts.contains(where: { $0.isEmpty || $0.hasPrefix(".") }) {
            return path
        }
        complain(
            node, "“\(path)” is not a path below the folder.",
            "Write it relative to the folder, with no name that begins with a dot.")
        return nil
    }

    private mutating func place(_ members: [String: Node]) -> ContentSettings.Place? {
        switch (members["folder"], members["redirect"]) {
        case (nil, nil): return nil
        case (let node?, nil):
            guard let name = text(node), let path = folder(name) else {
                complain(
                    node, "\(text(node) ?? "folder") is not a folder.",
                    "Name one relative to this file's folder, and make it readable.")
                return nil
            }
            return .folder(path)
        case (nil, let node?):
            guard let url = url(node) else { return nil }
            guard let variable = members["redirect_secret_env"] else {
                return .elsewhere(url: url, secret: nil)
            }
            guard let secret = textOfVariable(variable), !secret.isEmpty else {
                complain(
                    variable, "There is no variable \(text(variable) ?? "redirect_secret_env").",
                    "Set it to the secret with which your storage verifies links.")
                return nil
            }
            return .elsewhere(url: url, secret: Array(secret.utf8))
        case (_, let node?):
            complain(node, "content has both folder and redirect.", "Keep one of them.")
            return nil
        }
    }

    private mutating func word<Value>(_ node: Node, _ known: [String: Value]) -> Value? {
        if let value = text(node).flatMap({ known[$0] }) { return value }
        complain(
            node, "“\(text(node) ?? "…")” is not a known value.",
            "Use one of \(known.keys.sorted().joined(separator: ", ")).")
        return nil
    }
}
