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
        guard let found = hidden("shared_secret", in: members) else { return nil }
        if !found.text.isEmpty, found.text.count <= Self.secretCharactersMax {
            return AppSecret(found.text)
        }
        complain(
            found.node, "“\(text(found.node) ?? "…")” contains no shared secret.",
            found.isInFile
                ? "Name a file that contains the secret, relative to this file's folder."
                : "Set the variable to the shared secret from App Store Connect.")
        return nil
    }
}
