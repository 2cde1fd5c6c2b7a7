/// How a bucket is reached.
package struct BucketAccess: Hashable, Sendable {
    package var address: BucketAddress
    /// The region, such as `eu-central-1`.
    package var region: String
    /// The address of a server other than Amazon's, such as `https://minio.example.com`. Nil for
    /// Amazon S3.
    package var endpoint: String?
    package var credentials: BucketCredentials

    package init(
        address: BucketAddress, region: String, endpoint: String? = nil,
        credentials: BucketCredentials
    ) {
        self.address = address
        self.region = region
        self.endpoint = endpoint.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        self.credentials = credentials
    }

    /// The region if a server other than Amazon's has no regions.
    package static let regionOfOthers = "us-east-1"

    /// Amazon names the bucket in the host. Its certificates do not cover a name with dots.
    private var isInHost: Bool { endpoint == nil && !address.bucket.contains(".") }

    /// Scheme, host and port.
    var base: String {
        if let endpoint { return endpoint }
        let host = "s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
        return "https://" + (isInHost ? "\(address.bucket).\(host)" : host)
    }

    /// The value of the header `Host`.
    var host: String {
        let (scheme, rest) = base.hasPrefix("https://") ? (443, 8) : (80, 7)
        let host = String(base.dropFirst(rest))
        return host.hasSuffix(":\(scheme)") ? String(host.dropLast("\(scheme)".count + 1)) : host
    }

    /// The path of an object, or of the bucket if there is no key.
    func path(of key: String = "") -> String {
        isInHost ? "/\(key)" : "/\(address.bucket)" + (key.isEmpty ? "" : "/\(key)")
    }
}

/// What a request is signed with.
package struct BucketCredentials: Hashable, Sendable {
    package var accessKeyID: String
    /// Never logged or sent.
    package var secretAccessKey: String
    /// Only with temporary credentials. Never logged.
    package var sessionToken: String?

    package init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }
}
