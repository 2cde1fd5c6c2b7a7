/// Why a bucket could not be read or written.
package enum BucketFailure: Error, Hashable, Sendable {
    /// The server has no bucket of this name.
    case noBucket
    /// The credentials are valid, but do not allow this.
    case accessDenied(doing: String)
    /// The server does not know the access key.
    case unknownKey
    /// The server computes another signature: the secret key is wrong.
    case wrongSecret
    /// The temporary credentials have expired.
    case expiredToken
    /// The clocks of this machine and of the server differ by more than 15 minutes.
    case wrongClock
    /// The bucket is in another region, if that is known, or at another server.
    case elsewhere(region: String?)
    case noObject(String)
    /// The object was moved to an archive, which must restore it first.
    case archived(String)
    /// What arrived is not what was uploaded.
    case damaged(String, what: String)
    /// No response, or a status of 5xx or 429, after all attempts.
    case unavailable(String)
    /// Any other error, with its code and message.
    case refused(doing: String, answer: String)
    /// The response is not what the request expects.
    case unreadable(String)
    case tooMany(what: String, limit: Int)
}

extension BucketFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noBucket: "There is no such bucket."
        case .accessDenied(let what): "The access key may not \(what)."
        case .unknownKey: "The server does not know the access key."
        case .wrongSecret: "The secret access key does not belong to the access key."
        case .expiredToken: "The session token is not valid, or has expired."
        case .wrongClock:
            "The clock of this machine differs from the server's by more than 15 minutes."
        case .elsewhere(let region?): "The bucket is in the region \(region)."
        case .elsewhere(nil): "The bucket is in another region, or at another server."
        case .noObject(let name): "There is no object \(name)."
        case .archived(let name): "\(name) is in an archive, from which it cannot be read."
        case .damaged(let name, let what): "\(name) is damaged: \(what)."
        case .unavailable(let reason): "The server does not respond: \(reason)."
        case .refused(let what, let answer): "The server refuses to \(what): \(answer)."
        case .unreadable(let what): "This is not a valid response of an S3 server: \(what)."
        case .tooMany(let what, let limit): "There are more than \(limit) \(what)."
        }
    }

    /// Whether the same request may succeed later, without a change of anything.
    package var isPassing: Bool {
        if case .unavailable = self { true } else { false }
    }

    /// What an operator can do about the failure.
    package var remedy: String {
        switch self {
        case .noBucket: "Create the bucket, or correct its name, the endpoint and the region."
        case .accessDenied:
            "Allow the key s3:ListBucket and s3:ListBucketMultipartUploads for the bucket, and "
                + "s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload for "
                + "its objects."
        case .unknownKey: "Correct the access key, or the endpoint."
        case .wrongSecret: "Correct the secret access key."
        case .expiredToken:
            "Use credentials that do not expire, or set a new session token and restart."
        case .wrongClock: "Set the clock of this machine, for example with NTP."
        case .elsewhere(let region?): "Set `region: \(region)`."
        case .elsewhere(nil): "Correct the region and the endpoint."
        case .noObject: "It may have been deleted meanwhile. Run the command again."
        case .archived: "Restore the object from the archive with the tools of its provider."
        case .damaged: "Run the command again. If it fails again, restore another backup."
        case .unavailable: "Check the outgoing network, and the endpoint."
        case .refused: "Look up the error in the documentation of the server."
        case .unreadable: "Check the endpoint, and whether a proxy responds instead of it."
        case .tooMany: "Use a prefix of its own for the backups."
        }
    }

    /// Reads an answer with an error.
    ///
    /// - Parameters:
    ///   - what: what the request does, as a verb with its object.
    ///   - name: the object that the request is about.
    init(_ response: BucketResponse, doing what: String, to name: String) {
        let xml = BucketXML(response.body)
        let code = xml.text("Code") ?? ""
        let region = response.headers["x-amz-bucket-region"] ?? xml.text("Region")
        switch (code, response.status) {
        case ("NoSuchBucket", _): self = .noBucket
        case ("AccessDenied", _), ("AllAccessDisabled", _), ("", 401), ("", 403):
            self = .accessDenied(doing: what)
        case ("InvalidAccessKeyId", _): self = .unknownKey
        case ("SignatureDoesNotMatch", _): self = .wrongSecret
        case ("ExpiredToken", _), ("InvalidToken", _), ("TokenRefreshRequired", _):
            self = .expiredToken
        case ("RequestTimeTooSkewed", _), ("RequestExpired", _): self = .wrongClock
        case ("AuthorizationHeaderMalformed", _), ("PermanentRedirect", _), (_, 300..<400):
            self = .elsewhere(region: region)
        case ("NoSuchKey", _), ("", 404): self = .noObject(name)
        case ("InvalidObjectState", _): self = .archived(name)
        case ("BadDigest", _), ("XAmzContentSHA256Mismatch", _):
            self = .damaged(name, what: "the server received other bytes than were sent")
        case (_, 412): self = .damaged(name, what: "it was replaced while it was read")
        default:
            let message = xml.text("Message").map { ", “\($0.prefix(Self.messageMax))”" } ?? ""
            let words = code.isEmpty ? "" : " \(code.prefix(Self.messageMax))"
            self = .refused(doing: what, answer: "status \(response.status)\(words)\(message)")
        }
    }

    /// The maximum number of characters of the server's own message about an error.
    private static let messageMax = 300
}
