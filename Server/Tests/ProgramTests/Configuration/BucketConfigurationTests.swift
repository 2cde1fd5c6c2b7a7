import BucketClient
import Foundation
import Testing

@testable import Program

@Suite struct BucketConfigurationTests {
    private static let environment = [
        "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "MINE": "mine",
    ]

    private static func read(
        _ bucket: String, environment: [String: String] = environment
    ) throws(ConfigurationFailure) -> BucketAccess? {
        let text = """
            apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}
            backup:
              folder: backups
              bucket: \(bucket)
            """
        return try ConfigurationFile(text, environment: environment) { name in
            name == "key.txt" ? Array("from the file\n".utf8) : nil
        }.backup?.bucket
    }

    @Test func `by default, the credentials of a bucket come from Amazon's usual variables`() throws
    {
        let access = try #require(
            try Self.read("{address: s3://backups/birds, region: eu-central-1}"))
        #expect(access.address.description == "s3://backups/birds")
        #expect(access.region == "eu-central-1")
        #expect(access.endpoint == nil)
        #expect(access.credentials == .init(accessKeyID: "id", secretAccessKey: "secret"))
        var environment = Self.environment
        environment["AWS_SESSION_TOKEN"] = "token"
        let temporary = try Self.read(
            "{address: s3://backups/birds, region: eu-central-1}", environment: environment)
        #expect(temporary?.credentials.sessionToken == "token")
    }

    @Test func `the configuration can name other variables or files, and another S3 server`() throws
    {
        let access = try #require(
            try Self.read(
                """
                {address: s3://backups, endpoint: "https://minio.example.com:9000/",
                    access_key_id_env: MINE, secret_access_key_file: key.txt}
                """))
        #expect(access.endpoint == "https://minio.example.com:9000")
        #expect(access.region == BucketAccess.regionOfOthers)
        #expect(
            access.credentials == .init(accessKeyID: "mine", secretAccessKey: "from the file"))
    }

    @Test(arguments: [
        ("{region: eu-central-1}", "bucket has no valid address."),
        ("{address: backups, region: eu-central-1}", "bucket has no valid address."),
        ("{address: s3://backups}", "bucket has no region."),
        ("{address: s3://backups, region: \"EU 1\"}", "“EU 1” is not a region."),
        (
            "{address: s3://backups, endpoint: http://minio.example.com}",
            "http://minio.example.com is not encrypted"
        ),
        (
            "{address: s3://backups, endpoint: \"https://minio.example.com:65536\"}",
            "is not the address of a server."
        ),
        ("{address: s3://backups, endpoint: minio}", "“minio” is not the address of a server."),
        (
            "{address: s3://backups, endpoint: \"https://me:x@minio.example.com\"}",
            "is not the address of a server."
        ),
        (
            "{address: s3://backups, region: x, access_key_id_env: NONE}",
            "There is no environment variable NONE."
        ),
        (
            "{address: s3://backups, region: x, secret_access_key_file: none.txt}",
            "none.txt cannot be read."
        ),
        (
            "{address: s3://backups, region: x, session_token_env: NONE}",
            "There is no environment variable NONE."
        ),
        (
            "{address: s3://backups, region: x, access_key_id_env: MINE, "
                + "access_key_id_file: key.txt}",
            "access_key_id_file and access_key_id_env are both set."
        ),
        ("{address: s3://backups, region: x, bucket: y}", "“bucket” is unknown in bucket."),
    ])
    func `each mistake in the bucket settings is reported once`(bucket: String, message: String) {
        do {
            _ = try Self.read(bucket)
            Issue.record("\(bucket) is accepted")
        } catch {
            #expect(error.complaints.count == 1, "\(error)")
            #expect(error.complaints[0].message.contains(message), "\(error)")
            #expect(!error.complaints[0].remedy.isEmpty)
        }
    }

    @Test func `each missing credential of a bucket is reported`() {
        do {
            _ = try Self.read("{address: s3://backups, region: x}", environment: [:])
            Issue.record("it is accepted")
        } catch { #expect(error.complaints.count == 2, "\(error)") }
    }

    @Test(arguments: ["http://localhost:9000", "http://127.0.0.1:9000", "http://[::1]:9000"])
    func `plain HTTP is accepted only for a bucket server on this machine`(address: String) throws {
        #expect(try BucketVariables.endpoint(address) == address)
    }

    @Test func `a command takes the settings of a bucket from flags or variables`() throws {
        let address = try #require(BucketAddress("s3://backups"))
        var environment = Self.environment
        func access(
            endpoint: String? = nil, region: String? = nil
        ) throws(StartFailure) -> BucketAccess {
            try BucketVariables.access(
                to: address, endpoint: endpoint, region: region, environment: environment)
        }
        #expect(throws: StartFailure.self) { try access() }
        #expect(try access(region: "eu-west-1").endpoint == nil)
        #expect(try access(endpoint: "https://x.example.com").region == "us-east-1")
        environment["AWS_REGION"] = "eu-west-2"
        environment["AWS_ENDPOINT_URL"] = "https://y.example.com"
        #expect(try access().region == "eu-west-2")
        #expect(try access().endpoint == "https://y.example.com")
        #expect(try access(region: "eu-west-1").region == "eu-west-1")
        environment["AWS_SECRET_ACCESS_KEY"] = nil
        #expect(throws: StartFailure.self) { try access() }
    }
}
