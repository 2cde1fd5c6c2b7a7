import AppStoreClient
import Foundation
import Yams

extension ConfigurationReader {
    static let appStoreKeys = [
        "key_id", "issuer_id", "private_key_file", "private_key_env", "older_host_names",
        "production_url", "reports", "sandbox_url",
    ]

    /// Parses an app's App Store key. Reports a missing or wrong part as a complaint and returns
    /// nil.
    mutating func appStore(_ node: Node, of app: AppConfiguration) -> AppStoreAccess? {
        let members = members(of: node, known: Self.appStoreKeys, in: "app_store")
        let keyID = required("key_id", members, node)
        let issuerID = required("issuer_id", members, node)
        let privateKey = privateKey(members, node)
        let hosts = hosts(members, node, isSimulated: app.settings.isSimulated)
        let reports = members["reports"].flatMap {
            reportsAccess($0, simulator: app.settings.isSimulated ? hosts : nil)
        }
        guard let keyID, let issuerID, let (source, pem) = privateKey, let hosts else { return nil }
        do {
            let credentials = try AppStoreCredentials(
                keyID: keyID, issuerID: issuerID, bundleID: app.settings.bundleID, privateKey: pem)
            var access = AppStoreAccess(credentials: credentials, hosts: hosts)
            access.reports = reports
            return access
        } catch {
            complain(
                source, "\(text(source) ?? "…") contains no private key.", error.remedy
            )
            return nil
        }
    }

    private mutating func required(
        _ key: String, _ members: [String: Node], _ place: Node
    ) -> String? {
        if let text = members[key].flatMap(nonEmptyText) { return text }
        complain(
            members[key] ?? place, "app_store has no \(key).",
            "Add it, as App Store Connect shows it under Integrations, In-App Purchase.")
        return nil
    }

    /// Returns the text of the key from the named file or variable, and the node with this name.
    mutating func privateKey(
        _ members: [String: Node], _ place: Node, in section: String = "app_store"
    ) -> (source: Node, pem: String)? {
        switch (members["private_key_file"], members["private_key_env"]) {
        case (let node?, nil):
            if let pem = textOfFile(node) { return (node, pem) }
            complain(
                node, "\(text(node) ?? "private_key_file") cannot be read.",
                "Name Apple's .p8 file relative to this file's folder, and make it readable.")
        case (nil, let node?):
            if let pem = textOfVariable(node) { return (node, pem) }
            complain(
                node, "There is no environment variable \(text(node) ?? "private_key_env").",
                "Set this variable to the text of Apple's .p8 file.")
        default:
            complain(
                members["private_key_env"] ?? place,
                "\(section) needs either private_key_file or private_key_env.",
                "Set exactly one of the two keys.")
        }
        return nil
    }

    /// Returns Apple's hosts, unless the app is simulated. A real app's purchases may only be
    /// checked with Apple, and Apple does not know a simulated app's purchases.
    private mutating func hosts(
        _ members: [String: Node], _ place: Node, isSimulated: Bool
    ) -> AppStoreHosts? {
        let isOlder = members["older_host_names"].flatMap { bool($0) } ?? false
        guard isSimulated else {
            guard let node = members["production_url"] ?? members["sandbox_url"] else {
                return isOlder ? .appleBefore2026 : .apple
            }
            complain(
                node, "A real app can only use Apple's addresses.",
                "Leave out the addresses, or set `simulated: true`.")
            return nil
        }
        guard let node = members["production_url"] else {
            complain(
                place, "app_store of a simulated app has no production_url.",
                "Set it to the simulator's address, such as http://localhost:8090.")
            return nil
        }
        guard let production = url(node) else { return nil }
        guard let sandbox = members["sandbox_url"] else { return .simulator(production) }
        return url(sandbox).map { AppStoreHosts(production: production, sandbox: $0) }
    }

    mutating func url(_ node: Node) -> String? {
        if let text = text(node), OutgoingAddress(text)?.hasQuery == false { return text }
        complain(
            node, "“\(text(node) ?? "…")” is not a URL.", "Write one like http://localhost:8090.")
        return nil
    }
}
