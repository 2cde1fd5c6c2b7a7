import Courier
import Engine
import Foundation
import Ledger
import Storage
import Yams

extension ConfigurationReader {
    static let webhookCharactersMax = 40
    private static let privateHostsMax = 100

    static let webhookKeys = ["allow_private", "endpoints"]
    static let endpointKeys = [
        "name", "url", "types", "products", "environments", "secret_file", "secret_env",
        "authorization_file", "authorization_env", "format", "paused",
    ]

    /// Parses an app's webhooks. Invalid webhooks are reported as complaints and left out.
    mutating func read(webhooks node: Node, into app: inout AppSettings) {
        let members = members(of: node, known: Self.webhookKeys, in: "webhooks")
        if let hosts = members["allow_private"] {
            let names = names(hosts, of: "allow_private").prefix(Self.privateHostsMax)
            app.webhooks.privateHosts = Set(names.map { $0.lowercased() })
        }
        guard let list = members["endpoints"] else { return }
        guard let nodes = list.sequence, nodes.count <= WebhookRules.webhooksMax else {
            complain(
                list, "endpoints must be a list of at most \(WebhookRules.webhooksMax).",
                "Write `- name: …` lines under it.")
            return
        }
        for node in nodes {
            guard let webhook = webhook(node, app.webhooks) else { continue }
            if app.webhooks.endpoints.contains(where: { $0.id == webhook.id }) {
                complain(node, "The name \(webhook.id) is used twice.", "Use another name.")
            } else {
                app.webhooks.endpoints.append(webhook)
            }
        }
    }

    private mutating func webhook(_ node: Node, _ rules: WebhookRules) -> ConfiguredWebhook? {
        let members = members(of: node, known: Self.endpointKeys, in: "a webhook")
        let name = members["name"].flatMap { nonEmptyText($0) } ?? ""
        let isPlain = name.allSatisfy {
            $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-")
        }
        guard !name.isEmpty, name.count <= Self.webhookCharactersMax, isPlain else {
            complain(
                members["name"] ?? node, "“\(name)” is not a valid name of a webhook.",
                "Use at most \(Self.webhookCharactersMax) of a-z 0-9 -.")
            return nil
        }
        guard let address = members["url"], let url = text(address), permits(url, rules) else {
            complain(
                members["url"] ?? node, "The webhook \(name) has no valid url.",
                "Use a URL like https://example.com/events: with https, unless the host is listed "
                    + "in allow_private, and without user, password, or fragment.")
            return nil
        }
        guard let secrets = secrets(of: name, members, node) else { return nil }
        var settings = WebhookSettings(url: url, filter: filter(members))
        settings.authorization = authorization(
            in: members, bytesMax: WebhookService.authorizationBytesMax)
        if let format = members["format"] {
            settings.format = word(format, "not a format") ?? .perennial
        }
        let isPaused = members["paused"].flatMap { bool($0) } ?? false
        return ConfiguredWebhook(
            id: WebhookID(rawValue: name), settings: settings, secrets: secrets,
            isPaused: isPaused)
    }

    /// Whether a webhook may have a URL. Permits addresses of this machine. `perennial dev` permits
    /// them, and it is not known yet whether this command runs.
    private func permits(_ url: String, _ rules: WebhookRules) -> Bool {
        var rules = rules
        rules.allowsLoopback = true
        return rules.permits(url: url)
    }

    private mutating func filter(_ members: [String: Node]) -> WebhookFilter {
        var filter = WebhookFilter()
        if let node = members["types"] {
            let names = names(node, of: "types")
            for name in names where Change.Kind(rawValue: name) == nil {
                complain(
                    node, "“\(name)” is not a type of event.",
                    Spelling.remedy(
                        for: name, among: Change.Kind.allCases.map(\.rawValue),
                        else: "docs/events.md lists the types."))
            }
            filter.types = Set(names.compactMap(Change.Kind.init(rawValue:)))
        }
        if let node = members["products"] {
            filter.products = Set(names(node, of: "products").map(ProductID.init(rawValue:)))
        }
        if let node = members["environments"] {
            let names = names(node, of: "environments")
            let known = names.compactMap(Ledger.Environment.init(rawValue:))
            if known.count < names.count {
                complain(
                    node, "The environment is unknown.", "Use production, sandbox, or both.")
            }
            filter.environments = Set(known)
        }
        return filter
    }

    /// Parses one secret, or several secrets separated by white space. There are several while the
    /// receiver changes its secret.
    private mutating func secrets(
        of name: String, _ members: [String: Node], _ node: Node
    ) -> [String]? {
        let found = hidden("secret", in: members)
        let secrets = (found?.text ?? "").split { $0.isWhitespace }.map(String.init)
        guard (1...Courier.secretsMax).contains(secrets.count),
            secrets.allSatisfy({ WebhookSecret($0) != nil })
        else {
            complain(
                found?.node ?? node,
                "The webhook \(name) has no valid secret.",
                "Let secret_file or secret_env name a secret: whsec_ and base64 of 24 to 64 "
                    + "bytes, such as echo whsec_$(openssl rand -base64 32) prints.")
            return nil
        }
        return secrets
    }
}

extension AppSettings {
    var webhookLines: [String] {
        webhooks.privateHosts.map { "webhooks allow_private \($0)" }
            + webhooks.endpoints.map { webhook in
                let filter = webhook.settings.filter
                let parts = [
                    filter.types.map { "types \(Self.list($0.map(\.rawValue)))" },
                    filter.products.map { "products \(Self.list($0.map(\.rawValue)))" },
                    filter.environments.map { "environments \(Self.list($0.map(\.rawValue)))" },
                    webhook.isPaused ? "paused" : nil,
                    webhook.settings.authorization == nil ? nil : "with an authorization",
                ]
                // The path may contain a secret. The digits show whether the address has changed.
                return
                    (["webhook \(webhook.id) to \(ForwardLabel.distinct(webhook.settings.url))"]
                    + parts.compactMap(\.self)).joined(separator: ", ")
            }
    }

    private static func list(_ words: [String]) -> String {
        words.sorted().joined(separator: " ")
    }
}
