import Testing

@testable import BucketClient

@Suite struct BucketAddressTests {
    @Test(arguments: [
        ("s3://backups", "backups", ""), ("s3://backups/", "backups", ""),
        ("s3://my.backups/a/B_1-2.x/", "my.backups", "a/B_1-2.x"),
    ])
    func `the address of a bucket has a name and an optional prefix`(
        text: String, bucket: String, prefix: String
    ) {
        let address = BucketAddress(text)
        #expect(address?.bucket == bucket)
        #expect(address?.prefix == prefix)
    }

    @Test(arguments: [
        "", "backups", "https://backups/a", "s3://", "s3://ab", "s3://Backups", "s3://a_b_c",
        "s3://backups/a//b", "s3://backups//", "s3://backups/../x", "s3://backups/a b",
        "s3://backups/ü", "s3://backups/a?b", "s3://backups/a%20b", "S3://backups",
    ])
    func `a text in another form is not the address of a bucket`(text: String) {
        #expect(BucketAddress(text) == nil)
    }

    @Test(
        arguments: [
            (
                "s3://backups/p", "eu-central-1", nil,
                "https://backups.s3.eu-central-1.amazonaws.com",
                "/p/x"
            ),
            (
                "s3://my.backups", "eu-central-1", nil, "https://s3.eu-central-1.amazonaws.com",
                "/my.backups/x"
            ),
            (
                "s3://backups", "cn-north-1", nil, "https://backups.s3.cn-north-1.amazonaws.com.cn",
                "/x"
            ),
            (
                "s3://backups/p", "auto", "https://r2.example.com/", "https://r2.example.com",
                "/backups/p/x"
            ),
        ] as [(String, String, String?, String, String)])
    func `a bucket's name is in the host at Amazon, and in the path at other servers`(
        address: String, region: String, endpoint: String?, base: String, path: String
    ) throws {
        let access = BucketAccess(
            address: try #require(BucketAddress(address)), region: region, endpoint: endpoint,
            credentials: BucketCredentials(accessKeyID: "id", secretAccessKey: "secret"))
        #expect(access.base == base)
        #expect(access.path(of: access.address.key(of: "x")) == path)
    }

    @Test(arguments: [
        ("https://x.example.com:443", "x.example.com"), ("http://127.0.0.1:80", "127.0.0.1"),
        ("http://127.0.0.1:9000", "127.0.0.1:9000"), ("https://x.example.com", "x.example.com"),
    ])
    func `the signed host has a port only if the port is not the default`(
        endpoint: String, host: String
    ) throws {
        let access = BucketAccess(
            address: try #require(BucketAddress("s3://backups")), region: "x", endpoint: endpoint,
            credentials: BucketCredentials(accessKeyID: "id", secretAccessKey: "secret"))
        #expect(access.host == host)
    }
}
