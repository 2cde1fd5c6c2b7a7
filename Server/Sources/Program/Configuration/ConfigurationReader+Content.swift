import Engine
import Foundation
import Ledger
import Yams

/// Parses the content that an app publishes.
extension ConfigurationReader {
    private static let itemsMax = 10_000
    private static let linkMinutesRange = 1...1440
    static let contentKeys: [Key<ContentSettings>] = [
        // These three keys are read together.
        Key("folder"),
        Key("redirect"),
        Key("redirect_secret_env"),
        Key("after_lapse", \.rules.staysAfterLapse) {
            $0.word($1, ["keep": true, "close": false])
        },
        Key("earlier", \.rules.opensEarlier) { $0.word($1, ["none": false, "open": true]) },
        Key("link_minutes", \.linkLifetime, in: linkMinutesRange) { .seconds($0 * 60) },
        Key("sandbox", \.opensSandbox) { $0.bool($1) },
        Key("items"),
    ]
    static let itemKeys = ["title", "published", "entitlement", "products", "file"]

    /// Reads the content that the app publishes. The products and the time zone must be read first.
    mutating func read(content node: Node, into app: inout AppSettings) {
        let members = read(node, Self.contentKeys, into: &app.content, in: "content")
        app.content.place = place(members)
        guard let items = members["items"]?.mapping else {
            complain(
                members["items"] ?? node, "content has no items.",
                "Add them: `items: {2026-01: {published: 2026-01-15, entitlement: magazine}}`.")
            return
        }
        if items.count > Self.itemsMax {
            complain(node, "content has too many items.", "Use at most \(Self.itemsMax).")
        }
        let rights = Set(app.entitlements.keys.map(\.rawValue))
        for (key, value) in items.prefix(Self.itemsMax) {
            guard let item = item(key, value, rights, app.terms.clock) else { continue }
            if item.file != nil && app.content.place == nil {
                complain(
                    value, "\(item.publication.id) has a file, but content has no place for files.",
                    "Add `folder:` or `redirect:`.")
            }
            app.content.items.append(item)
        }
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

    /// Parses a moment. A date means its first moment in the time zone of the terms.
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
            "Write it relative to the folder. No part of it may begin with a dot.")
        return nil
    }

    private mutating func place(_ members: [String: Node]) -> ContentSettings.Place? {
        switch (members["folder"], members["redirect"]) {
        case (nil, nil): return nil
        case (let node?, nil):
            guard let name = text(node), let path = folder(name) else {
                complain(
                    node, "\(text(node) ?? "folder") is not a folder.",
                    "Name a folder relative to this file's folder, and make it readable.")
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
                    variable,
                    "There is no environment variable \(text(variable) ?? "redirect_secret_env").",
                    "Set this variable to the secret with which your storage verifies links.")
                return nil
            }
            return .elsewhere(url: url, secret: Array(secret.utf8))
        case (_, let node?):
            complain(node, "content has both folder and redirect.", "Keep one of them.")
            return nil
        }
    }
}

extension AppSettings {
    var contentLines: [String] {
        guard !content.items.isEmpty else { return [] }
        let items = content.items.map { item in
            let publication = item.publication
            let opens =
                (publication.entitlement.map { [$0.rawValue] } ?? [])
                + publication.products.map(\.rawValue).sorted()
            let file = item.file.map { ", in \($0)" } ?? ""
            return "content \(publication.id) on \(publication.publishedAt.minute) for "
                + opens.joined(separator: ", ") + file
        }
        let minutes = (content.linkLifetime.components.seconds / 60).counted("minute")
        return items + placeLines + [
            "content \(content.rules.staysAfterLapse ? "stays" : "closes") after a lapse",
            "content of earlier dates is \(content.rules.opensEarlier ? "open" : "closed")",
            "content files are \(content.opensSandbox ? "open" : "closed") for the sandbox",
            "content links are valid for \(minutes)",
        ]
    }

    private var placeLines: [String] {
        switch content.place {
        case nil: []
        case .folder(let path)?: ["content is in \(path)"]
        case .elsewhere(let url, let secret)?:
            [
                "content is at \(DatabaseAddress.withoutPassword(url)), with "
                    + (secret == nil ? "plain links" : "signed links")
            ]
        }
    }
}
