import BucketClient
import Foundation
import Yams

extension ConfigurationReader {
    private static let bucketKeys = [
        "address", "endpoint", "region", "access_key_id_env", "access_key_id_file",
        "secret_access_key_env", "secret_access_key_file", "session_token_env",
        "session_token_file",
    ]

    /// Reads the mapping `bucket`. A missing or wrong part is a complaint, and nil is returned.
    mutating func bucket(_ node: Node) -> BucketAccess? {
        let complaintsBefore = complaints.count
        let members = members(of: node, known: Self.bucketKeys, in: "bucket")
        let endpoint = members["endpoint"].flatMap { self.endpoint($0) }
        let address = bucketAddress(members["address"] ?? node)
        let region = region(members, node)
        let id = bucketSecret("access_key_id", BucketVariables.accessKeyID, members, node)
        let key = bucketSecret(
            "secret_access_key", BucketVariables.secretAccessKey, members, node)
        let token = bucketSecret(
            "session_token", BucketVariables.sessionToken, members, node, isOptional: true)
        guard complaints.count == complaintsBefore, let address, let region, let id, let key else {
            return nil
        }
        return BucketAccess(
            address: address, region: region, endpoint: endpoint,
            credentials: BucketCredentials(
                accessKeyID: id, secretAccessKey: key, sessionToken: token))
    }

    private mutating func bucketAddress(_ node: Node) -> BucketAddress? {
        if let address = text(node).flatMap({ BucketAddress($0) }) { return address }
        complain(
            node, "bucket has no valid address.",
            "Write the bucket and a prefix of its own: `address: s3://example-backups/perennial`, "
                + "with letters, digits, - _ . and / only.")
        return nil
    }

    private mutating func endpoint(_ node: Node) -> String? {
        do throws(StartFailure) {
            return try BucketVariables.endpoint(text(node) ?? "")
        } catch {
            complain(node, error.message, error.remedy)
            return nil
        }
    }

    private mutating func region(_ members: [String: Node], _ place: Node) -> String? {
        guard let node = members["region"] else {
            if members["endpoint"] != nil { return BucketAccess.regionOfOthers }
            complain(
                place, "bucket has no region.",
                "Add the region of the bucket, such as `region: eu-central-1`. For a server other "
                    + "than Amazon's, add its `endpoint:`.")
            return nil
        }
        if let region = text(node), BucketVariables.isRegion(region) { return region }
        complain(
            node, "“\(text(node) ?? "…")” is not a region.", "Write one like eu-central-1.")
        return nil
    }

    /// Returns a secret from the file or the variable that is named, or else from Amazon's usual
    /// variable. Nil if it is not set, which is a complaint unless it is optional.
    private mutating func bucketSecret(
        _ key: String, _ usual: String, _ members: [String: Node], _ place: Node,
        isOptional: Bool = false
    ) -> String? {
        let found = hidden(key, in: members)
        let secret =
            found?.text ?? variable(usual)?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        if !secret.isEmpty { return secret }
        if isOptional, found == nil { return nil }
        let name = found.flatMap { text($0.node) } ?? usual
        complain(
            found?.node ?? place,
            found?.isInFile == true
                ? "\(name) cannot be read." : "There is no environment variable \(name).",
            "Set \(usual), or name another variable with \(key)_env, or a file with "
                + "\(key)_file.")
        return nil
    }
}
