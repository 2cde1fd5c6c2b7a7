import AppStoreFormats
import Crypto
import Engine
import Eventually
import Foundation
import Ledger
import Testing

/// An archive of everything that is stored about a customer, read by a third-party program.
@Suite(.serialized) struct PersonalDataStories {
    private static let path = "/v1/customers/anna/export"

    /// The files of an archive, by their paths. Nil if there is no Python.
    private static func files(of archive: [UInt8]) async throws -> [String: [UInt8]]? {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "export-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "customer.zip")
        try Data(archive).write(to: file)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c",
            """
            import base64, json, sys, zipfile
            archive = zipfile.ZipFile(sys.argv[1])
            assert archive.testzip() is None
            print(json.dumps({name: base64.b64encode(archive.read(name)).decode()
                              for name in archive.namelist()}))
            """, file.path,
        ]
        let (status, bytes) = try await process.output()
        guard status != 127 else { return nil }
        try #require(status == 0, "Python cannot read the archive")
        let list = try JSON(parsing: Array(bytes))
        return Dictionary(
            uniqueKeysWithValues: (list.members ?? []).map { member in
                let content = member.value.string.flatMap {
                    Base64.standard.decode(Array($0.utf8))
                }
                return (member.key, content ?? [])
            })
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an export has the documents, state and events of one customer only`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let other = "ben.of.the.other.house"
            #expect(try await shop.post(try await shop.buyMonth("ben"), as: other) == 200)
            try await shop.support.post(
                "/v1/customers/anna/grants?environment=sandbox",
                ["entitlement": "pro", "reason": "a gift"])
            let address: JSON = ["name": "$email", "value": "anna@example.com"]
            let path = "/v1/customers/anna/attributes"
            let body: JSON = ["attributes": [address]]
            #expect(
                try await shop.support.send("PATCH", path, body: body.bytes).status == 200)
            _ = try await shop.engine.events.numberEvents()

            let answer = try await shop.support.send("GET", Self.path)
            #expect(answer.status == 200)
            guard let files = try await Self.files(of: answer.body) else {
                return print("skipped: no python3")
            }
            let signed = Array(try bought.text("signed_transaction").utf8)
            #expect(files.contains { $0.key.contains("/documents/") && $0.value == signed })
            let environments = ["production", "sandbox"]
            let state = try environments.compactMap { files["\($0)/customer.json"] }
                .map { try JSON(parsing: $0) }
            #expect(state.count == 2 && state.contains { $0["entitlements"]?["pro"] != nil })
            let text = files.values.map { String(decoding: $0, as: UTF8.self) }.joined()
            #expect(text.contains("a gift") && text.contains("purchased"))
            #expect(text.contains("anna@example.com"))
            // The id is long because the Base64 text of a signed document may contain a short one.
            #expect(!text.contains(other))
        }
    }

    @Test func `the list of an export's files is signed with a published key`() async throws {
        try await withShop(on: .sqlite) { shop in
            #expect(try await shop.post(try await shop.buyMonth("anna"), as: "anna") == 200)
            let archive = try await shop.support.send("GET", Self.path).body
            guard var files = try await Self.files(of: archive) else {
                return print("skipped: no python3")
            }
            let list = try #require(files["files.jws"])
            files["files.jws"] = nil
            let jws = try #require(CompactJWS(String(decoding: list, as: UTF8.self)))
            let header = try JSON(parsing: try #require(jws.header))
            #expect(header["typ"] == "perennial-export+jwt")
            let set = try await shop.server.get("/.well-known/jwks.json")
            let key = try #require(set["keys"]?.array?.first { $0["kid"] == header["kid"] })
            var point: [UInt8] = []
            for coordinate in ["x", "y"] {
                let digits = Array(try key.text(coordinate).utf8)
                point += try #require(Base64.url.decode(digits))
            }
            let signature = try P256.Signing.ECDSASignature(
                rawRepresentation: try #require(jws.signature))
            #expect(
                try P256.Signing.PublicKey(rawRepresentation: point)
                    .isValidSignature(signature, for: Array(jws.signedBytes)))
            let claims = try JSON(parsing: try #require(jws.payload))
            #expect(claims["customer_id"] == "anna" && claims["aud"] == "birds")
            let listed = try (claims["files"]?.array ?? []).map { file in
                "\(try file.text("path")) \(try file.text("sha256"))"
            }
            let read = files.map { path, content in
                "\(path) "
                    + SHA256.hash(data: content).map { byte in
                        let digits = String(byte, radix: 16)
                        return digits.count == 1 ? "0" + digits : digits
                    }.joined()
            }
            #expect(listed.sorted() == read.sorted())
        }
    }

    @Test func `a customer's export has no documents of a purchase shared by another customer`()
        async throws
    {
        var app = birds
        app.settings.restorePolicies = [.production: .share]
        try await withShop(on: .sqlite, app: app) { shop in
            let bought = try await shop.buyMonth("anna")
            for (name, hasDocuments) in [("anna", true), ("ben", false)] {
                #expect(try await shop.post(bought, as: name) == 200)
                #expect(try await shop.entitlement("pro", of: name)?["active"] == true)
                let archive = try await shop.support.send(
                    "GET", "/v1/customers/\(name)/export"
                ).body
                guard let files = try await Self.files(of: archive) else {
                    return print("skipped: no python3")
                }
                let documents = files.keys.filter { $0.contains("/documents/") }
                #expect(documents.isEmpty != hasDocuments, "\(name)")
            }
        }
    }

    @Test func `an app key is refused the export of a customer`() async throws {
        try await withShop(on: .sqlite) { shop in
            let refused = try await shop.server.send("GET", Self.path)
            #expect(refused.status == 403)
            #expect(try refused.json["code"] == "key_not_secret")
        }
    }

    @Test func `the export of an unknown customer contains no documents and no events`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let archive = try await shop.support.send("GET", Self.path).body
            guard let files = try await Self.files(of: archive) else {
                return print("skipped: no python3")
            }
            #expect(!files.keys.contains { $0.contains("documents") })
            let events = try #require(files["events.json"])
            #expect(try JSON(parsing: events) == [])
        }
    }
}
