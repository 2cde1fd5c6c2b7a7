import Crypto
import Ledger

/// Reads and writes the objects in a folder of a bucket, by the API of Amazon S3.
///
/// An object has a name relative to the folder, and appears only when it is complete. Every body
/// is sent with its SHA-256, which the server verifies; an object has its SHA-256 with it, which a
/// download verifies. A request that is refused for the moment is repeated, up to named limits.
package struct BucketClient: Sendable {
    /// How often a request is sent until the server counts as unavailable.
    package static let attemptsMax = 4
    /// The pauses between the attempts.
    private static let pauses = ExponentialBackoff(
        first: .milliseconds(500), longest: .seconds(2))
    /// The number of names in one page of a list, and in one request that deletes. S3 sets it.
    private static let namesAtOnceMax = 1_000
    /// The maximum number of pages in a list: ten million names.
    package static let pagesMax = 10_000
    /// The size of a part of an upload or a download, in bytes. Larger files have larger parts.
    package static let partBytesMin = 16_777_216
    /// The maximum number of parts of an upload. S3 allows 10,000.
    static let partsMax = 9_000
    /// The header with the SHA-256 of an object.
    static let digestHeader = "x-amz-meta-sha256"

    package let access: BucketAccess
    private let signer: RequestSigner
    private let now: @Sendable () -> Instant
    private let send: @Sendable (BucketRequest) async throws -> BucketResponse
    private let sleep: @Sendable (Duration) async throws -> Void

    /// An object of a list.
    package struct Object: Hashable, Sendable {
        package var name: String
        package var bytes: Int64

        package init(name: String, bytes: Int64) { (self.name, self.bytes) = (name, bytes) }
    }

    /// - Parameters:
    ///   - now: the time with which requests are signed.
    ///   - send: sends a request, such as ``sender(_:)``. An error that it throws counts as the
    ///     server being unavailable, unless it is a ``BucketFailure``.
    ///   - sleep: waits before a request is repeated.
    package init(
        _ access: BucketAccess, now: @escaping @Sendable () -> Instant,
        send: @escaping @Sendable (BucketRequest) async throws -> BucketResponse,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) {
        self.access = access
        signer = RequestSigner(access.credentials, region: access.region)
        self.now = now
        self.send = send
        self.sleep = sleep
    }

    // MARK: - Lists

    /// The objects of a folder, in the order of their names, and the names of its folders.
    ///
    /// - Parameter folder: a folder within the folder of the address, without slashes at its ends;
    ///   empty for the latter.
    /// - Throws: ``BucketFailure``; `CancellationError` if the task is cancelled. So does every
    ///   function of the client.
    package func contents(
        of folder: String = ""
    ) async throws -> (objects: [Object], folders: [String]) {
        var (objects, folders): ([Object], [String]) = ([], [])
        let inside = access.address.key(of: folder.isEmpty ? "" : folder + "/")
        var query = ["list-type": "2", "prefix": inside, "delimiter": "/"]
        for _ in 0..<Self.pagesMax {
            let response = try await response(
                to: bucketRequest("GET", query), doing: "list the bucket", name: folder)
            let xml = BucketXML(response.body)
            guard let isTruncated = xml.text("IsTruncated") else {
                throw BucketFailure.unreadable("a list without `IsTruncated`")
            }
            objects += xml.all("Contents").compactMap(object)
            folders += xml.all("CommonPrefixes").compactMap { $0.text("Prefix") }
                .compactMap { access.address.name(of: $0) }.map { String($0.dropLast()) }
            guard isTruncated == "true" else { return (objects, folders) }
            let next = xml.text("NextContinuationToken")
            guard let next, next != query["continuation-token"] else {
                throw BucketFailure.unreadable("a list without a valid token for the next page")
            }
            query["continuation-token"] = next
        }
        throw BucketFailure.tooMany(what: "pages of objects", limit: Self.pagesMax)
    }

    private func object(_ xml: BucketXML) -> Object? {
        guard let key = xml.text("Key"), let name = access.address.name(of: key),
            let bytes = xml.text("Size").flatMap({ Int64($0) })
        else { return nil }
        return Object(name: name, bytes: bytes)
    }

    // MARK: - Small objects

    /// The bytes of a small object. Returns nil if there is none.
    ///
    /// - Parameter most: the maximum size, in bytes.
    package func bytes(of name: String, atMost most: Int64) async throws -> [UInt8]? {
        do {
            guard let found = try await size(of: name) else { return nil }
            guard found <= most else {
                throw BucketFailure.tooMany(what: "bytes in \(name)", limit: Int(most))
            }
            var bytes: [UInt8] = []
            try await download(Object(name: name, bytes: found)) { bytes += $0 }
            return bytes
        } catch BucketFailure.noObject { return nil }
    }

    /// The size of an object, in bytes. Returns nil if there is none.
    package func size(of name: String) async throws -> Int64? {
        do {
            let response = try await response(
                to: request("HEAD", name), doing: "read objects", name: name)
            guard let bytes = response.headers["content-length"].flatMap({ Int64($0) }) else {
                throw BucketFailure.unreadable("an object without `Content-Length`")
            }
            return bytes
        } catch BucketFailure.noObject {
            return nil
        } catch let failure as BucketFailure where !failure.isPassing {
            // The answer to HEAD has no body that says what is wrong.
            _ = try await response(
                to: request("GET", name, headers: ["range": "bytes=0-0"]), doing: "read objects",
                name: name)
            throw failure
        }
    }

    /// Writes an object in one step. Replaces one of the same name. Idempotent.
    package func write(_ bytes: [UInt8], as name: String) async throws {
        let digest = RequestSigner.hex(SHA256.hash(data: bytes))
        _ = try await response(
            to: request("PUT", name, headers: [Self.digestHeader: digest], body: bytes),
            doing: "write objects", name: name)
    }

    // MARK: - Downloads

    /// Reads an object part by part, and verifies it.
    ///
    /// - Parameters:
    ///   - object: the object with its size, from a list.
    ///   - receive: gets the parts in their order. They may be used only if no error is thrown.
    package func download(
        _ object: Object, _ receive: ([UInt8]) throws -> Void
    ) async throws {
        var digest = SHA256()
        var (received, expected): (Int64, String?) = (0, nil)
        var tag: String?
        while received < object.bytes {
            let last = min(object.bytes, received + Int64(Self.partBytesMin)) - 1
            var headers = ["range": "bytes=\(received)-\(last)"]
            headers["if-match"] = tag
            let response = try await response(
                to: request("GET", object.name, headers: headers), doing: "read objects",
                name: object.name)
            // A server without ranges sends the whole object.
            let isWhole = response.status == 200 && received == 0
            guard Int64(response.body.count) == (isWhole ? object.bytes : last + 1 - received)
            else {
                throw BucketFailure.damaged(
                    object.name, what: "a part has \(response.body.count) bytes")
            }
            (tag, expected) = (response.headers["etag"], response.headers[Self.digestHeader])
            digest.update(data: response.body)
            try receive(response.body)
            received += Int64(response.body.count)
        }
        // Another tool that has copied the object may have left the hash out.
        guard let expected, expected != RequestSigner.hex(digest.finalize()) else { return }
        throw BucketFailure.damaged(object.name, what: "its SHA-256 is not that of its upload")
    }

    // MARK: - Deletion

    /// Deletes objects. Names without an object are ignored. Idempotent.
    package func delete(_ names: [String]) async throws {
        for start in stride(from: 0, to: names.count, by: Self.namesAtOnceMax) {
            let some = names[start..<min(start + Self.namesAtOnceMax, names.count)]
            let objects = some.map {
                "<Object><Key>\(BucketXML.escaped(access.address.key(of: $0)))</Key></Object>"
            }
            let body = Array("<Delete><Quiet>true</Quiet>\(objects.joined())</Delete>".utf8)
            // S3 demands this checksum for this request.
            let checksum = Self.base64(Array(Insecure.MD5.hash(data: body)))
            let response = try await response(
                to: bucketRequest(
                    "POST", ["delete": ""],
                    headers: ["content-md5": checksum, "content-type": "application/xml"],
                    body: body),
                doing: "delete objects", name: "")
            guard let error = BucketXML(response.body).all("Error").first else { continue }
            throw BucketFailure(
                BucketResponse(status: 200, body: Array((error.wrapped).utf8)),
                doing: "delete objects", to: error.text("Key") ?? "")
        }
    }

    static func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let three = bytes[start..<min(start + 3, bytes.count)]
            let bits =
                three.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - three.count))
            for place in 0..<4 {
                let digit = digits[Int(bits >> UInt32(18 - 6 * place)) & 63]
                text.append(place <= three.count ? digit : "=")
            }
        }
        return text
    }

    // MARK: - Requests

    /// A request about an object.
    func request(
        _ method: String, _ name: String, _ query: [String: String] = [:],
        headers: [String: String] = [:], body: [UInt8] = []
    ) -> BucketRequest {
        BucketRequest(
            method, base: access.base, path: access.path(of: access.address.key(of: name)),
            query: query, headers: headers, body: body)
    }

    /// A request about the bucket.
    func bucketRequest(
        _ method: String, _ query: [String: String], headers: [String: String] = [:],
        body: [UInt8] = []
    ) -> BucketRequest {
        BucketRequest(
            method, base: access.base, path: access.path(), query: query, headers: headers,
            body: body)
    }

    /// Signs and sends a request, and repeats it while the server is unavailable.
    ///
    /// - Parameters:
    ///   - what: what the request does, as a verb with its object.
    ///   - name: the object that the request is about.
    func response(
        to request: BucketRequest, doing what: String, name: String
    ) async throws -> BucketResponse {
        for attempt in 1...Self.attemptsMax {
            let trouble: String
            do {
                let signed = signer.signed(request, host: access.host, at: now())
                let response = try await send(signed)
                if (200..<300).contains(response.status) { return response }
                guard Self.isPassing(response) else {
                    throw BucketFailure(response, doing: what, to: name)
                }
                trouble = "status \(response.status)"
            } catch let failure as BucketFailure {
                guard case .unavailable(let reason) = failure else { throw failure }
                trouble = reason
            } catch {
                // A cancelled client throws its own error.
                try Task.checkCancellation()
                trouble = "\(error)"
            }
            guard attempt < Self.attemptsMax else { throw BucketFailure.unavailable(trouble) }
            try await sleep(Self.pauses.delay(after: attempt))
        }
        throw BucketFailure.unavailable("no attempt was made")
    }

    private static func isPassing(_ response: BucketResponse) -> Bool {
        if response.status == 429 || response.status >= 500 { return response.status != 501 }
        return ["RequestTimeout", "SlowDown"].contains(BucketXML(response.body).text("Code"))
    }
}
