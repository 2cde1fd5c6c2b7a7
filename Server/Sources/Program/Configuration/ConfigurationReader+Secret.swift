import AppStoreClient
import AppStoreFormats
import Foundation
import Yams

extension ConfigurationReader {
    /// The maximum length of a shared secret. The secrets that Apple makes have 32 hexadecimal
    /// digits.
    private static let secretCharactersMax = 200

    func hasSecret(_ members: [String: Node]) -> Bool {
        members["shared_secret_file"] != nil || members["shared_secret_env"] != nil
    }

    /// Parses an app's shared secret, from a file or variable, and the host that verifies receipts
    /// with it: Apple's host, unless the app is simulated.
    mutating func readSecret(_ members: [String: Node], into app: inout AppConfiguration) {
        app.settings.sharedSecret = secret(members)
        guard app.settings.isSimulated else {
            app.receiptHosts = .appleReceipts
            if let node = members["verify_receipt_url"] {
                complain(
                    node, "A real app's receipts can only be verified by Apple.",
                    "Leave out the address, or set `simulated: true`.")
            }
            return
        }
        app.receiptHosts =
            members["verify_receipt_url"].flatMap { url($0) }.map { .simulator($0) }
            ?? app.appStore?.hosts
    }

    private mutating func secret(_ members: [String: Node]) -> AppSecret? {
        switch (members["shared_secret_file"], members["shared_secret_env"]) {
        case (nil, nil): return nil
        case (let node?, nil):
            return secret(
                textOfFile(node), named: node,
                "Name a file that contains the secret, relative to this file's folder.")
        case (nil, let node?):
            return secret(
                textOfVariable(node), named: node,
                "Set the variable to the shared secret from App Store Connect.")
        case (_, let node?):
            complain(
                node, "shared_secret_file and shared_secret_env are both set.",
                "Leave out one of them.")
            return nil
        }
    }

    private mutating func secret(
        _ found: String?, named node: Node, _ remedy: String
    ) -> AppSecret? {
        let text = found?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard !text.isEmpty, text.count <= Self.secretCharactersMax else {
            complain(node, "“\(self.text(node) ?? "…")” contains no shared secret.", remedy)
            return nil
        }
        return AppSecret(text)
    }
}
