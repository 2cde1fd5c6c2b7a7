import BucketClient

/// Amazon's usual environment variables, and the values that both they and the configuration have.
enum BucketVariables {
    static let accessKeyID = "AWS_ACCESS_KEY_ID"
    static let secretAccessKey = "AWS_SECRET_ACCESS_KEY"
    static let sessionToken = "AWS_SESSION_TOKEN"
    private static let regions = ["AWS_REGION", "AWS_DEFAULT_REGION"]
    private static let endpoints = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]
    private static let regionCharactersMax = 40

    static func isRegion(_ text: String) -> Bool {
        (1...regionCharactersMax).contains(text.count)
            && text.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-") }
    }

    /// Returns the address of a server, without a slash at its end.
    ///
    /// - Throws: ``StartFailure`` if it is no address, or without encryption: the personal data of
    ///   a backup would be readable on the way.
    static func endpoint(_ text: String) throws(StartFailure) -> String {
        guard let address = OutgoingAddress(text), let origin = address.origin else {
            throw StartFailure(
                "“\(text)” is not the address of a server.",
                remedy: "Write scheme and host, such as https://minio.example.com.")
        }
        guard address.isProtected else {
            throw StartFailure(
                "\(text) is not encrypted, so backups could be read on the way.",
                remedy: "Use https://. Only a server on this machine may use http://.")
        }
        return origin
    }

    /// How a bucket is reached, by flags and variables alone.
    ///
    /// - Throws: ``StartFailure`` if something is missing.
    static func access(
        to address: BucketAddress, endpoint: String?, region: String?,
        environment: [String: String]
    ) throws(StartFailure) -> BucketAccess {
        func variable(_ names: [String]) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        var server: String?
        if let named = endpoint ?? variable(endpoints) { server = try Self.endpoint(named) }
        guard let id = variable([accessKeyID]), let key = variable([secretAccessKey]) else {
            throw StartFailure(
                "There are no credentials for \(address).",
                remedy: "Set \(accessKeyID) and \(secretAccessKey), or name the server's "
                    + "configuration with --config.")
        }
        let found = region ?? variable(regions) ?? server.map { _ in BucketAccess.regionOfOthers }
        guard let found, isRegion(found) else {
            throw StartFailure(
                "The region of \(address) is not known.",
                remedy: "Name it with --region, such as eu-central-1. For a server other than "
                    + "Amazon's, add --endpoint.")
        }
        return BucketAccess(
            address: address, region: found, endpoint: server,
            credentials: BucketCredentials(
                accessKeyID: id, secretAccessKey: key, sessionToken: variable([sessionToken])))
    }
}
