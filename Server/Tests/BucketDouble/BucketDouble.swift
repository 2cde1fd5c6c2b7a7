import BucketClient
import Foundation
import Synchronization

/// A bucket in memory, named `backups`, as Amazon's documentation describes S3. It does not verify
/// signatures, which tests against another implementation do.
package final class BucketDouble: Sendable {
    package struct State: Sendable {
        package var objects: [String: Object] = [:]
        /// Uploads that are not completed, by their ids.
        package var uploads: [String: Upload] = [:]
        /// The method and the key of each request that was answered.
        package var requests: [String] = []
        /// Whether no request is answered.
        package var isAway = false
        /// Answers to the next requests, instead of the right ones.
        package var answers: [BucketResponse] = []
        /// Called before a request is answered.
        package var before: (@Sendable (BucketRequest) async -> Void)?
        /// The maximum number of objects in one page of a list.
        package var pageMax = 1_000
    }

    package struct Object: Hashable, Sendable {
        package var bytes: [UInt8]
        package var digest: String?

        package init(_ bytes: [UInt8], digest: String? = nil) {
            (self.bytes, self.digest) = (bytes, digest)
        }
    }

    package struct Upload: Sendable {
        package var key: String
        var digest: String?
        var parts: [Int: [UInt8]] = [:]

        package init(key: String, digest: String? = nil) {
            (self.key, self.digest) = (key, digest)
        }
    }

    struct Away: Error {}

    package let state = Mutex(State())

    package init() {}

    /// The client of a folder in the bucket. It waits for nothing.
    package func client(
        prefix: String = "perennial",
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in }
    ) -> BucketClient {
        BucketClient(
            access(prefix: prefix), now: { .init(milliseconds: 1_795_248_000_000) },
            send: { try await self.send($0) }, sleep: sleep)
    }

    package func access(prefix: String = "perennial") -> BucketAccess {
        BucketAccess(
            address: BucketAddress("s3://backups" + (prefix.isEmpty ? "" : "/\(prefix)"))!,
            region: "us-east-1", endpoint: "http://127.0.0.1:9",
            credentials: .init(accessKeyID: "id", secretAccessKey: "secret"))
    }

    /// The names of the objects in the folder of the default client.
    package var names: Set<String> {
        state.withLock { Set($0.objects.keys.map { String($0.dropFirst("perennial/".count)) }) }
    }

    package func send(_ request: BucketRequest) async throws -> BucketResponse {
        await state.withLock { $0.before }?(request)
        return try state.withLock { state in
            guard !state.isAway else { throw Away() }
            return Self.sent(Self.answer(request, &state), to: request)
        }
    }

    /// What arrives of an answer: an answer to HEAD has no body.
    private static func sent(
        _ answer: BucketResponse, to request: BucketRequest
    ) -> BucketResponse {
        var answer = answer
        if request.method == "HEAD" { answer.body = [] }
        return answer
    }

    private static func answer(
        _ request: BucketRequest, _ state: inout State
    ) -> BucketResponse {
        if !state.answers.isEmpty { return state.answers.removeFirst() }
        let key = String(request.path.dropFirst("/backups".count).drop { $0 == "/" })
        state.requests.append("\(request.method) \(key)")
        let query = Dictionary(
            uniqueKeysWithValues: request.query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                let value = parts.count > 1 ? String(parts[1]) : ""
                return (String(parts[0]), value.removingPercentEncoding ?? value)
            })
        guard key.isEmpty else { return Self.answer(request, key, query, &state) }
        return Self.answer(request, query, &state)
    }

    // MARK: - Requests about the bucket

    private static func answer(
        _ request: BucketRequest, _ query: [String: String], _ state: inout State
    ) -> BucketResponse {
        if query["delete"] != nil {
            for key in texts("Key", in: request.body) { state.objects[key] = nil }
            return xml("<DeleteResult/>")
        }
        guard query["uploads"] == nil else {
            let found = state.uploads.filter { $0.value.key.hasPrefix(query["prefix"] ?? "") }
            return xml(
                "<ListMultipartUploadsResult>"
                    + found.map {
                        "<Upload><Key>\($0.value.key)</Key><UploadId>\($0.key)</UploadId></Upload>"
                    }.joined() + "</ListMultipartUploadsResult>")
        }
        return list(query, state)
    }

    private static func list(_ query: [String: String], _ state: State) -> BucketResponse {
        let prefix = query["prefix"] ?? ""
        var (objects, folders): ([String], [String]) = ([], [])
        for key in state.objects.keys.filter({ $0.hasPrefix(prefix) }).sorted() {
            let rest = key.dropFirst(prefix.count)
            guard let end = rest.firstIndex(of: "/") else {
                objects.append(key)
                continue
            }
            let folder = prefix + rest[...end]
            if folders.last != folder { folders.append(folder) }
        }
        let all = (objects + folders).sorted()
        let after = query["continuation-token"].map { String($0.dropFirst("after +/=".count)) }
        let left = all.filter { key in after.map { key > $0 } ?? true }
        let page = left.prefix(state.pageMax)
        let entries = page.map { key in
            key.hasSuffix("/")
                ? "<CommonPrefixes><Prefix>\(key)</Prefix></CommonPrefixes>"
                : "<Contents><Key>\(key)</Key><Size>\(state.objects[key]?.bytes.count ?? 0)</Size>"
                    + "</Contents>"
        }
        let isTruncated = page.count < left.count
        let next = isTruncated ? page.last.map { "after +/=\($0)" } : nil
        return xml(
            "<ListBucketResult><Prefix>\(prefix)</Prefix><IsTruncated>\(isTruncated)</IsTruncated>"
                + (next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? "")
                + entries.joined() + "</ListBucketResult>")
    }

    // MARK: - Requests about an object

    private static func answer(
        _ request: BucketRequest, _ key: String, _ query: [String: String], _ state: inout State
    ) -> BucketResponse {
        let digest = request.headers["x-amz-meta-sha256"]
        switch (request.method, query["uploadId"]) {
        case ("POST", nil):
            let id = "upload-\(state.uploads.count + 1)"
            state.uploads[id] = Upload(key: key, digest: digest)
            return xml("<Result><UploadId>\(id)</UploadId></Result>")
        case ("PUT", let id?):
            state.uploads[id]?.parts[Int(query["partNumber"] ?? "") ?? 0] = request.body
            return BucketResponse(status: 200, headers: ["etag": "\"part\""])
        case ("POST", let id?):
            guard let upload = state.uploads.removeValue(forKey: id) else {
                return error(404, "NoSuchUpload")
            }
            let bytes = upload.parts.sorted { $0.key < $1.key }.flatMap(\.value)
            state.objects[key] = Object(bytes, digest: upload.digest)
            return xml("<CompleteMultipartUploadResult/>")
        case ("DELETE", let id?):
            state.uploads[id] = nil
            return BucketResponse(status: 204)
        case ("PUT", nil):
            state.objects[key] = Object(request.body, digest: digest)
            return BucketResponse(status: 200, headers: ["etag": "\"whole\""])
        default:
            guard let object = state.objects[key] else { return error(404, "NoSuchKey") }
            return read(object, request)
        }
    }

    private static func read(_ object: Object, _ request: BucketRequest) -> BucketResponse {
        var headers = ["etag": "\"\(object.bytes.hashValue)\""]
        headers["x-amz-meta-sha256"] = object.digest
        guard request.method == "GET" else {
            headers["content-length"] = "\(object.bytes.count)"
            return BucketResponse(status: 200, headers: headers)
        }
        let range = (request.headers["range"] ?? "").dropFirst("bytes=".count)
            .split(separator: "-").compactMap { Int($0) }
        guard range.count == 2, range[0] < object.bytes.count else {
            return error(416, "InvalidRange")
        }
        let bytes = object.bytes[range[0]...min(range[1], object.bytes.count - 1)]
        return BucketResponse(status: 206, headers: headers, body: Array(bytes))
    }

    private static func texts(_ name: String, in bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).components(separatedBy: "<\(name)>").dropFirst()
            .compactMap { $0.components(separatedBy: "</\(name)>").first }
    }

    private static func xml(_ text: String) -> BucketResponse {
        BucketResponse(status: 200, body: Array(text.utf8))
    }

    /// An answer with an error.
    package static func error(_ status: Int, _ code: String, more: String = "") -> BucketResponse {
        BucketResponse(
            status: status,
            body: Array("<Error><Code>\(code)</Code><Message>No.</Message>\(more)</Error>".utf8))
    }
}
