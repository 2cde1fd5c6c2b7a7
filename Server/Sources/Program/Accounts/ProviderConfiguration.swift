import AppStoreFormats
import Engine
import Foundation
import HTTPServer
import Ledger
import OpenIDConnect
import Storage
import Yams

/// The provider of OpenID Connect at which operators sign in.
package struct ProviderConfiguration: Hashable, Sendable {
    package var settings: OpenIDSettings
    /// The name of the provider on pages.
    package var name: String
    package var roles: GroupRoles
    package var sessionLife = Duration.hours(12)

    func access(sending send: @escaping OpenIDClient.Sender) -> ProviderAccess {
        ProviderAccess(
            client: OpenIDClient(settings, send: send), name: name, roles: roles,
            sessionLife: sessionLife)
    }
}

extension ConfigurationReader {
    static let signInKeys = ["passwords", "passkeys", "openid"]
    static let openIDKeys = [
        "issuer", "name", "client_id", "client_secret_env", "client_secret_file", "scopes",
        "groups_claim", "session_hours", "roles",
    ]
    private static let sessionHoursRange = 1...720
    private static let nameCharactersMax = 60

    mutating func read(signIn node: Node, into dashboard: inout DashboardConfiguration) {
        let found = members(of: node, known: Self.signInKeys, in: "sign_in")
        if let passwords = found["passwords"] { dashboard.takesPasswords = bool(passwords) ?? true }
        if let use = found["passkeys"] {
            dashboard.passkeyUse = word(use, "not a use of passkeys") ?? .optional
        }
        if let openID = found["openid"] {
            dashboard.provider = provider(openID, of: dashboard.origin)
        }
        if let passwords = found["passwords"], !dashboard.takesPasswords, found["openid"] == nil,
            dashboard.proxy?.userField == nil
        {
            complain(
                passwords, "Nobody could sign in: passwords are off, and there is no openid.",
                "Add `openid:` beside it, or leave out `passwords: false`.")
        }
    }

    private mutating func provider(
        _ node: Node, of origin: PageOrigin
    ) -> ProviderConfiguration? {
        let found = members(of: node, known: Self.openIDKeys, in: "openid")
        // Each is read, so that one run shows every problem.
        let issuer = issuer(found["issuer"], at: node)
        let clientID = clientID(found["client_id"], at: node)
        let secret = clientSecret(found, at: node)
        let roles = groupRoles(found["roles"], at: node)
        let scopes = found["scopes"].map { names($0, of: "scopes") } ?? ["openid", "profile"]
        check(scopes, at: found["scopes"])
        let claim = found["groups_claim"].map { nonEmptyText($0) } ?? "groups"
        if claim == nil {
            complain(
                found["groups_claim"], "groups_claim must be text.",
                "Write the name of the claim with the groups, such as `groups_claim: groups`.")
        }
        let hours = found["session_hours"].flatMap {
            number($0, in: Self.sessionHoursRange, of: "session_hours")
        }
        let name = providerName(found["name"]) ?? issuer?.host ?? ""
        guard let issuer, let clientID, let secret, let roles, let claim else { return nil }
        let path = "/login/openid/answer"
        let settings = OpenIDSettings(
            issuer: issuer, clientID: clientID, clientSecret: AppSecret(secret), scopes: scopes,
            groupsClaim: claim, redirectURL: origin.url(path) ?? path)
        var provider = ProviderConfiguration(settings: settings, name: name, roles: roles)
        if let hours { provider.sessionLife = .hours(hours) }
        return provider
    }

    private mutating func issuer(_ node: Node?, at place: Node) -> ProviderURL? {
        let found = node.flatMap { text($0) }
        if let url = found.flatMap({ ProviderURL($0) }), !url.text.contains("?") { return url }
        complain(
            node ?? place, "“\(found ?? "…")” is not the issuer of a provider.",
            "Write the https address that the provider shows as its issuer, such as "
                + "`issuer: https://login.example.com`. Only a provider on this machine may use "
                + "http.")
        return nil
    }

    /// The name of the provider on pages. Nil if the configuration has no valid one.
    private mutating func providerName(_ node: Node?) -> String? {
        guard let node else { return nil }
        if let name = nonEmptyText(node), name.count <= Self.nameCharactersMax { return name }
        complain(
            node, "This is not a name of a provider.",
            "Write text of at most \(Self.nameCharactersMax) characters, such as `name: Birds`, or "
                + "leave name out.")
        return nil
    }

    private mutating func clientID(_ node: Node?, at place: Node) -> String? {
        if let id = node.flatMap({ nonEmptyText($0) }) { return id }
        complain(
            node ?? place, "openid has no client_id.",
            "Register this server at the provider, and write the id that it gives: `client_id: "
                + "perennial`.")
        return nil
    }

    private mutating func clientSecret(_ members: [String: Node], at place: Node) -> String? {
        let found = hidden("client_secret", in: members)
        if let found, !found.text.isEmpty { return found.text }
        complain(
            found?.node ?? place, "There is no client secret for the provider.",
            "Let client_secret_env name an environment variable, or client_secret_file a file, "
                + "with the secret that the provider gave with the client_id.")
        return nil
    }

    private mutating func check(_ scopes: [String], at node: Node?) {
        let areValid = scopes.allSatisfy { scope in
            scope.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
        }
        guard !areValid || scopes.count > OpenIDSettings.scopesMax else { return }
        complain(
            node, "scopes is not a list of scopes.",
            "Write at most \(OpenIDSettings.scopesMax) words, such as `[openid, profile]`.")
    }

    // MARK: - Roles

    /// Reads `roles: {admins: admin, helpers: {birds: support}}`.
    private mutating func groupRoles(_ node: Node?, at place: Node) -> GroupRoles? {
        guard let mapping = node?.mapping, (1...GroupRoles.groupsMax).contains(mapping.count) else {
            complain(
                node ?? place, "openid needs roles for 1 to \(GroupRoles.groupsMax) groups.",
                "Write a role for each group of the provider, such as `roles: {admins: admin}`. "
                    + "People in no such group cannot sign in.")
            return nil
        }
        var roles: [String: OperatorRoles] = [:]
        for (key, value) in mapping {
            guard let group = nonEmptyText(key), group.utf8.count <= OpenIDSettings.groupBytesMax
            else {
                complain(
                    key, "This is not the name of a group.",
                    "Use at most \(OpenIDSettings.groupBytesMax) bytes.")
                continue
            }
            if let given = operatorRoles(value) { roles[group] = given }
        }
        return GroupRoles(roles)
    }

    private mutating func operatorRoles(_ node: Node) -> OperatorRoles? {
        guard let mapping = node.mapping else {
            return word(node, "not a role").map { OperatorRoles(everywhere: $0) }
        }
        if mapping.isEmpty {
            complain(
                node, "This group has no role.",
                "Write a role for every app, such as `admin`, or for some apps, such as `{birds: "
                    + "support}`; or leave the group out.")
        }
        var roles = OperatorRoles()
        for (key, value) in mapping {
            let app = AppID(rawValue: text(key) ?? "")
            guard appIDs.contains(app) else {
                complain(
                    key, "There is no app with the name “\(app)”.",
                    "Use one of \(appIDs.map(\.rawValue).sorted().joined(separator: ", ")).")
                continue
            }
            if let role: OperatorRole = word(value, "not a role") { roles.byApp[app] = role }
        }
        return roles.isEmpty ? nil : roles
    }
}
