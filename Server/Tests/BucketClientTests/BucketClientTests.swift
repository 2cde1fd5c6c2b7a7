import BucketDouble
import Crypto
import Ledger
import Synchronization
import Testing

@testable import BucketClient

@Suite struct BucketClientTests {
    private static let large = BucketClient.partBytesMin + 5

    /// Bytes that differ from part to part.
    private static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 1, count: count)
        for place in stride(from: 0, to: count, by: 65_537) {
            bytes[place] = UInt8(truncatingIfNeeded: place / 65_537)
        }
        return bytes
    }

    private static func file(_ bytes: [UInt8]) -> BucketClient.File {
        .init(bytes: Int64(bytes.count)) { Array(bytes[Int($0)..<Int($0) + $1]) }
    }

    // MARK: - Objects

    @Test(arguments: [0, 1, BucketClient.partBytesMin, large])
    func `a downloaded file equals the uploaded file`(count: Int) async throws {
        let (bucket, bytes) = (BucketDouble(), Self.bytes(count))
        let client = bucket.client()
        try await client.upload(Self.file(bytes), as: "folder/x")
        var found: [UInt8] = []
        try await client.download(.init(name: "folder/x", bytes: Int64(count))) { found += $0 }
        #expect(found == bytes)
        #expect(bucket.state.withLock { $0.uploads.isEmpty })
        #expect(bucket.names == ["folder/x"])
    }

    @Test func `a missing object is read as nil`() async throws {
        #expect(try await BucketDouble().client().bytes(of: "x", atMost: 10) == nil)
        #expect(try await BucketDouble().client().size(of: "x") == nil)
    }

    @Test func `an object that was changed after its upload is refused`() async throws {
        let bucket = BucketDouble()
        try await bucket.client().write([1, 2, 3], as: "x")
        bucket.state.withLock { $0.objects["perennial/x"]?.bytes = [1, 2, 4] }
        await #expect(
            throws: BucketFailure.damaged("x", what: "its SHA-256 is not that of its upload")
        ) { _ = try await bucket.client().bytes(of: "x", atMost: 10) }
        bucket.state.withLock { $0.objects["perennial/x"]?.digest = nil }
        #expect(try await bucket.client().bytes(of: "x", atMost: 10) == [1, 2, 4])
    }

    @Test func `a list has the objects of all pages, and no objects of other folders`() async throws
    {
        let bucket = BucketDouble()
        let client = bucket.client()
        bucket.state.withLock { $0.pageMax = 2 }
        let names = ["a", "b", "c", "f/1", "f/2", "f/3", "g/1", "z"]
        for name in names { try await client.write([1], as: name) }
        try await bucket.client(prefix: "perennial-2").write([1], as: "other")
        let top = try await client.contents()
        #expect(top.objects.map(\.name) == ["a", "b", "c", "z"])
        #expect(top.objects.allSatisfy { $0.bytes == 1 })
        #expect(top.folders == ["f", "g"])
        #expect(try await client.contents(of: "f").objects.map(\.name) == ["f/1", "f/2", "f/3"])
        try await client.delete(["a", "f/1", "unknown"])
        #expect(bucket.names.isSuperset(of: ["b", "f/2"]))
        #expect(bucket.names.isDisjoint(with: ["a", "f/1"]))
    }

    @Test func `a list whose next page has the same token again is refused`() async throws {
        let bucket = BucketDouble()
        let page =
            "<R><IsTruncated>true</IsTruncated><NextContinuationToken>x"
            + "</NextContinuationToken></R>"
        bucket.state.withLock { state in
            state.answers = [1, 2].map { _ in
                BucketResponse(status: 200, body: Array(page.utf8))
            }
        }
        await #expect(
            throws: BucketFailure.unreadable("a list without a valid token for the next page")
        ) { _ = try await bucket.client().contents() }
    }

    // MARK: - Parts

    @Test func `if a part of an upload fails, the bucket keeps no part of it`() async throws {
        let (bucket, bytes) = (BucketDouble(), Self.bytes(Self.large))
        let count = Mutex(0)
        let client = BucketClient(
            bucket.access(), now: { Instant(milliseconds: 0) },
            send: { request in
                let isSecond =
                    request.query.contains("partNumber=2") && count.withLock { $0 == 0 }
                if isSecond { return BucketDouble.error(403, "AccessDenied") }
                return try await bucket.send(request)
            }, sleep: { _ in })
        await #expect(throws: BucketFailure.accessDenied(doing: "write objects")) {
            try await client.upload(Self.file(bytes), as: "x")
        }
        #expect(bucket.names.isEmpty)
        #expect(bucket.state.withLock { $0.uploads.isEmpty })
    }

    @Test func `an unfinished upload of a killed program is deleted`() async throws {
        let bucket = BucketDouble()
        bucket.state.withLock { state in
            state.uploads = [
                "1": .init(key: "perennial/perennial-x"), "2": .init(key: "perennial/other"),
                "3": .init(key: "perennial/perennial-2/x"),
            ]
        }
        let count = try await bucket.client().abortUploads(named: "perennial-") {
            $0 == "perennial-x"
        }
        #expect(count == 1)
        #expect(bucket.state.withLock { Set($0.uploads.keys) } == ["2", "3"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `if an upload is cancelled, the bucket keeps no part of it`()
        async throws
    {
        let (bucket, bytes) = (BucketDouble(), Self.bytes(Self.large))
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let client = BucketClient(
            bucket.access(), now: { Instant(milliseconds: 0) },
            send: { request in
                try Task.checkCancellation()
                if request.query.contains("partNumber=2") {
                    withUnsafeCurrentTask { $0?.cancel() }
                    throw CancellationError()
                }
                let response = try await bucket.send(request)
                if request.method == "DELETE" { end.yield() }
                return response
            }, sleep: { _ in })
        let upload = Task { try await client.upload(Self.file(bytes), as: "x") }
        await #expect(throws: CancellationError.self) { try await upload.value }
        await ends.first { _ in true }
        #expect(bucket.state.withLock { $0.uploads.isEmpty })
    }

    @Test func `if the response to the completion of an upload is lost, the upload still succeeds`()
        async throws
    {
        let (bucket, bytes) = (BucketDouble(), Self.bytes(Self.large))
        let isFirst = Mutex(true)
        let client = BucketClient(
            bucket.access(), now: { Instant(milliseconds: 0) },
            send: { request in
                let response = try await bucket.send(request)
                let completes = request.method == "POST" && request.query.contains("uploadId")
                guard completes, isFirst.withLock({ $0 }) else { return response }
                isFirst.withLock { $0 = false }
                return BucketResponse(status: 500)
            }, sleep: { _ in })
        try await client.upload(Self.file(bytes), as: "x")
        #expect(bucket.names == ["x"])
    }

    @Test func `no file is uploaded in more parts than S3 allows`() {
        let terabyte: Int64 = 1 << 40
        for bytes in [1, 1 << 30, 150 << 30, terabyte, 5 * terabyte] as [Int64] {
            let part = Int64(BucketClient.partBytes(of: bytes))
            #expect(part >= BucketClient.partBytesMin)
            #expect((bytes + part - 1) / part <= BucketClient.partsMax)
            #expect(part <= 5 << 30)
        }
    }

    // MARK: - Failures

    @Test(arguments: [
        (404, "NoSuchBucket", BucketFailure.noBucket),
        (403, "AccessDenied", .accessDenied(doing: "write objects")),
        (403, "", .accessDenied(doing: "write objects")),
        (403, "InvalidAccessKeyId", .unknownKey),
        (403, "SignatureDoesNotMatch", .wrongSecret),
        (403, "RequestTimeTooSkewed", .wrongClock),
        (400, "ExpiredToken", .expiredToken),
        (301, "PermanentRedirect", .elsewhere(region: "eu-west-3")),
        (400, "AuthorizationHeaderMalformed", .elsewhere(region: "eu-west-3")),
        (307, "", .elsewhere(region: "eu-west-3")),
        (403, "InvalidObjectState", .archived("x")),
        (
            400, "EntityTooLarge",
            .refused(doing: "write objects", answer: "status 400 EntityTooLarge, “No.”")
        ),
    ])
    func `a request that S3 refuses fails with a named error, and is not repeated`(
        status: Int, code: String, failure: BucketFailure
    ) async throws {
        let bucket = BucketDouble()
        let answer =
            code.isEmpty
            ? BucketResponse(status: status, headers: ["x-amz-bucket-region": "eu-west-3"])
            : BucketDouble.error(status, code, more: "<Region>eu-west-3</Region>")
        bucket.state.withLock { $0.answers = [answer] }
        await #expect(throws: failure) { try await bucket.client().write([1], as: "x") }
        #expect(bucket.names.isEmpty)
        #expect(!failure.description.isEmpty && !failure.remedy.isEmpty)
    }

    @Test func `the reason is known even if a response to HEAD has no body`() async throws {
        let bucket = BucketDouble()
        bucket.state.withLock {
            $0.answers = [1, 2].map { _ in BucketDouble.error(403, "SignatureDoesNotMatch") }
        }
        await #expect(throws: BucketFailure.wrongSecret) {
            _ = try await bucket.client().size(of: "x")
        }
    }

    @Test func `the time limit of a request grows with the number of its bytes`() {
        func seconds(
            _ method: String, body: Int = 0, range: String? = nil
        ) -> Duration {
            var request = BucketDouble().client().request(
                method, "x", body: [UInt8](repeating: 0, count: body))
            request.headers["range"] = range
            return BucketClient.timeout(of: request)
        }
        #expect(seconds("HEAD") == .seconds(10))
        #expect(seconds("DELETE") == .seconds(10))
        #expect(seconds("PUT", body: 131_072) == .seconds(12))
        #expect(seconds("PUT", body: BucketClient.partBytesMin) == .seconds(266))
        #expect(seconds("GET", range: "bytes=10-131081") == .seconds(12))
        #expect(seconds("GET") == .seconds(26))
        #expect(seconds("POST") == .seconds(300))
    }

    @Test func `a request that fails temporarily is repeated after growing pauses`()
        async throws
    {
        let bucket = BucketDouble()
        let pauses = Mutex<[Duration]>([])
        let client = bucket.client { pause in pauses.withLock { $0.append(pause) } }
        bucket.state.withLock { state in
            state.answers = [
                BucketResponse(status: 503), BucketDouble.error(400, "RequestTimeout"),
                BucketResponse(status: 429),
            ]
        }
        try await client.write([1], as: "x")
        #expect(bucket.names == ["x"])
        #expect(
            pauses.withLock { $0 } == [
                .milliseconds(500), .milliseconds(1_000), .milliseconds(2_000),
            ])
        bucket.state.withLock { $0.isAway = true }
        await #expect(throws: BucketFailure.unavailable("Away()")) {
            try await client.write([1], as: "x")
        }
    }

    @Test func `an error in the body of a response 200 is a failure`() async throws {
        let bucket = BucketDouble()
        let body =
            "<DeleteResult><Error><Key>perennial/x</Key><Code>AccessDenied</Code></Error>"
            + "</DeleteResult>"
        bucket.state.withLock {
            $0.answers = [BucketResponse(status: 200, body: Array(body.utf8))]
        }
        await #expect(throws: BucketFailure.accessDenied(doing: "delete objects")) {
            try await bucket.client().delete(["x"])
        }
    }

    @Test func `XML entities in a list are decoded, and unknown entities stay as they are`() {
        let xml = BucketXML(
            "<a><Key>x &amp;&lt;&gt;&quot;&apos;&#65;&#x42; &nbsp; & y</Key></a>".utf8)
        #expect(xml.text("Key") == "x &<>\"'AB &nbsp; & y")
        #expect(xml.text("Size") == nil)
        #expect(BucketXML("<Key>".utf8).text("Key") == nil)
    }
}
