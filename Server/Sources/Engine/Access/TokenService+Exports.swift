import AppStoreFormats
import Crypto
import Ledger

/// One file of an export.
package struct ExportedFile: Hashable, Sendable {
    /// The path of the file within the export.
    package var path: String
    package var bytesCount: Int
    /// The SHA-256 of the file, in hexadecimal digits.
    package var digest: String

    package init(path: String, content: [UInt8]) {
        self.path = path
        bytesCount = content.count
        digest = Hexadecimal.text(Array(SHA256.hash(data: content)))
    }
}

extension TokenService {
    /// The header's `typ` of a signed list of files, so that no verifier mistakes it for a
    /// customer's token.
    package static let exportType = "perennial-export+jwt"

    /// Signs the list of the files in an export about a customer, with the key that signs the app's
    /// tokens. Returns nil if the app issues no tokens.
    package func sign(
        _ files: [ExportedFile], about customer: CustomerID, of appID: AppID
    ) async throws(EngineFailure) -> String? {
        guard try context.settings(of: appID).tokens != nil else { return nil }
        let key = try await signingKey(of: appID)
        let list = files.map { file in
            JSON.object([
                .init("path", .string(file.path)), .init("bytes", .integer(Int64(file.bytesCount))),
                .init("sha256", .string(file.digest)),
            ])
        }
        let claims = JSON.object([
            .init("aud", .string(appID.rawValue)), .init("customer_id", .string(customer.rawValue)),
            .init("iat", .integer(context.now().milliseconds / 1000)),
            .init("files", .array(list)),
        ])
        do {
            return try key.sign(claims, type: Self.exportType)
        } catch { throw .storage("Signing the list of an export's files failed: \(error)") }
    }
}
