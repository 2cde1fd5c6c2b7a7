import AppStoreFormats
import Engine
import Foundation
import Ledger
import Simulator
import Testing

@testable import Program

/// A magazine with an issue every ten days for customers with `plus`. One issue is also sold
/// separately.
@Suite(.serialized) struct ContentStories {
    private static let first = Instant(milliseconds: SimulatorSettings.defaultNow.milliseconds)

    /// A folder with a file for each issue. A file contains the issue's letter a hundred times.
    ///
    /// - Parameter file: the path of the first issue's file.
    private static func withMagazine(
        on database: StoryDatabase, opensSandbox: Bool = false, file: String = "a.txt",
        _ story: @escaping @Sendable (Shop) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "perennial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var app = birds
        for (place, name) in ["a", "b", "c", "d", "e"].enumerated() {
            try Data(String(repeating: name, count: 100).utf8)
                .write(to: folder.appending(path: "\(name).txt"))
            app.settings.content.items.append(
                .init(
                    Publication(
                        id: PublicationID(rawValue: name),
                        publishedAt: first + .days(10 * place - 5), entitlement: "plus",
                        products: name == "a" ? ["guide"] : []),
                    title: "Issue \(name)", file: name == "a" ? file : "\(name).txt"))
        }
        app.settings.content.place = .folder(folder.path)
        app.settings.content.opensSandbox = opensSandbox
        try await withShop(on: database, app: app, story)
    }

    private static func readable(_ customer: String, in shop: Shop) async throws -> [String] {
        let list = try await shop.server.get("/v1/customers/\(customer)/content")
        return try (list["items"]?.array ?? []).map { try $0.text("content_id") }
    }

    private static func subscribe(
        _ customer: String, _ device: [String: JSON] = [:], in shop: Shop
    ) async throws -> String {
        try await shop.addDevice(customer, device)
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(customer)-1/purchases", ["product_id": "plus.monthly"])
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": .string(customer),
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ])
        return try bought.text("original_transaction_id")
    }

    @Test(arguments: StoryDatabase.allCases)
    func `paid issues stay readable after the subscription lapses, but not after a refund`(
        database: StoryDatabase
    ) async throws {
        try await Self.withMagazine(on: database) { shop in
            #expect(try await Self.readable("anna", in: shop) == [])
            let anna = try await Self.subscribe("anna", in: shop)
            let ben = try await Self.subscribe("ben", in: shop)
            #expect(try await Self.readable("anna", in: shop) == ["a"])
            try await shop.simulator.post("/_sim/clock", ["advance": "P16D"])
            #expect(try await Self.readable("anna", in: shop) == ["c", "b", "a"])
            try await shop.simulator.post("/_sim/subscriptions/\(anna)/cancel", [:])
            try await shop.simulator.post("/_sim/subscriptions/\(ben)/refund", [:])
            #expect(try await Self.readable("ben", in: shop) == [])
            try await shop.simulator.post("/_sim/clock", ["advance": "P20D"])
            // The fourth issue came out on day 25. The month ended before the fifth, on day 35.
            #expect(try await Self.readable("anna", in: shop) == ["d", "c", "b", "a"])
            let all = try await shop.server.get("/v1/customers/anna/content?all=true")
            #expect(all["items"]?.array?.first?["readable"] == false)
            #expect(
                all["items"]?.array?.first?["reason"]
                    == "Not published while the customer had access.")
        }
    }

    @Test
    func `a content link returns the file, or a requested range of bytes, until the link expires`()
        async throws
    {
        try await Self.withMagazine(on: .sqlite) { shop in
            _ = try await Self.subscribe("anna", in: shop)
            let list = try await shop.server.get("/v1/customers/anna/content")
            let item = try #require(list["items"]?.array?.first)
            let url = try item.text("url")
            let open = Wire(base: shop.server.base)
            let whole = try await open.send("GET", url)
            #expect(
                whole.status == 200 && whole.body == Array(repeating: UInt8(ascii: "a"), count: 100)
            )
            let part = try await open.send("GET", url, headers: ["Range": "bytes=90-"])
            #expect(part.status == 206 && part.body.count == 10)
            let ranges: [(asked: String, status: Int, count: Int)] = [
                ("bytes=-3", 206, 3), ("bytes=10-19", 206, 10), ("bytes=90-500", 206, 10),
                ("bytes=100-", 200, 100), ("bytes=99999-", 200, 100), ("bytes=5-2", 200, 100),
                ("x", 200, 100),
            ]
            for range in ranges {
                let answer = try await open.send("GET", url, headers: ["Range": range.asked])
                #expect(answer.status == range.status, "\(range)")
                #expect(answer.body.count == range.count, "\(range)")
            }

            let altered = url.replacing("/a/", with: "/b/")
            #expect(try await open.send("GET", altered).json["code"] == "content_link_invalid")
            let longer = url.replacing(/until=\d/, with: "until=9")
            #expect(try await open.send("GET", longer).json["code"] == "content_link_invalid")
            try await shop.simulator.post("/_sim/clock", ["advance": "PT5M"])
            let over = try await open.send("GET", url)
            #expect(over.status == 403)
            #expect(try over.json["code"] == "content_link_invalid")
        }
    }

    @Test(arguments: ["a.txt", "inside/b.txt"])
    func `a file behind a symbolic link is not sent`(file: String) async throws {
        let elsewhere = FileManager.default.temporaryDirectory
            .appending(path: "perennial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: elsewhere) }
        for name in ["a.txt", "b.txt"] {
            try Data("secret".utf8).write(to: elsewhere.appending(path: name))
        }
        try await Self.withMagazine(on: .sqlite, file: file) { shop in
            _ = try await Self.subscribe("anna", in: shop)
            guard
                case .folder(let path) = try shop.engine.context.settings(of: "birds").content.place
            else {
                Issue.record("the magazine has no folder")
                return
            }
            let folder = URL(fileURLWithPath: path)
            let ask = "/v1/content/a/file?customer_id=anna"
            if file == "a.txt" {
                #expect(try await shop.server.send("GET", ask).body.count == 100)
                try FileManager.default.removeItem(at: folder.appending(path: file))
                try FileManager.default.createSymbolicLink(
                    at: folder.appending(path: file),
                    withDestinationURL: elsewhere.appending(path: file))
            } else {
                try FileManager.default.createSymbolicLink(
                    at: folder.appending(path: "inside"), withDestinationURL: elsewhere)
            }
            let answer = try await shop.server.send("GET", ask)
            #expect(answer.status == 404)
            #expect(try answer.json["code"] == "content_unknown")
        }
    }

    @Test
    func `after a sandbox purchase only a secret key gets content files or links to them`()
        async throws
    {
        try await Self.withMagazine(on: .sqlite) { shop in
            _ = try await Self.subscribe("tess", ["environment": "sandbox"], in: shop)
            let list = "/v1/customers/tess/content?environment=sandbox"
            let file = "/v1/content/a/file?customer_id=tess&environment=sandbox"
            let item = try #require(try await shop.server.get(list)["items"]?.array?.first)
            #expect(item["readable"] == true && item["url"]?.string == nil)
            #expect(try item.text("reason").contains("sandbox"))
            let refused = try await shop.server.send("GET", file)
            #expect(refused.status == 403)
            #expect(try refused.json["code"] == "sandbox_not_allowed")

            #expect(try await shop.support.send("GET", file).body.count == 100)
            let linked = try #require(try await shop.support.get(list)["items"]?.array?.first)
            let url = try linked.text("url")
            let open = Wire(base: shop.server.base)
            #expect(try await open.send("GET", url).body.count == 100)
            // The signature of the link covers two parameters: that a server has requested the
            // link, and the environment.
            for altered in [
                url.replacing("&for=server", with: ""),
                url.replacing("=sandbox", with: "=production"),
                url.replacing("&environment=sandbox", with: ""),
            ] {
                let answer = try await open.send("GET", altered)
                #expect(try answer.json["code"] == "content_link_invalid", "\(altered)")
            }
        }
    }

    @Test
    func `an app key gets content links for a sandbox purchase if the configuration allows this`()
        async throws
    {
        try await Self.withMagazine(on: .sqlite, opensSandbox: true) { shop in
            _ = try await Self.subscribe("tess", ["environment": "sandbox"], in: shop)
            let list = try await shop.server.get("/v1/customers/tess/content?environment=sandbox")
            let url = try #require(list["items"]?.array?.first).text("url")
            let open = Wire(base: shop.server.base)
            #expect(try await open.send("GET", url).body.count == 100)
            let altered = url.replacing("=sandbox", with: "=production")
            let answer = try await open.send("GET", altered)
            #expect(try answer.json["code"] == "content_link_invalid")
        }
    }

    @Test
    func `an API key gets a content file only for a customer who may read the file`() async throws {
        try await Self.withMagazine(on: .sqlite) { shop in
            _ = try await Self.subscribe("anna", in: shop)
            let path = "/v1/content/a/file?customer_id="
            #expect(try await shop.server.send("GET", path + "anna").body.count == 100)
            let ben = try await shop.server.send("GET", path + "ben")
            #expect(ben.status == 403)
            #expect(try ben.json["code"] == "content_not_available")
            let none = try await shop.server.send("GET", "/v1/content/z/file?customer_id=anna")
            #expect(none.status == 404)
            // The answer about an unpublished issue is the same as about an unknown one.
            let early = try await shop.server.send("GET", "/v1/content/c/file?customer_id=anna")
            #expect(early.status == 404)
            let nobody = try await shop.server.send("GET", "/v1/content/a/file")
            #expect(nobody.status == 400)
            let stranger = try await Wire(base: shop.server.base).send("GET", path + "anna")
            #expect(stranger.status == 401)
        }
    }

    @Test func `the buyer of a separately sold issue can read the issue`() async throws {
        try await Self.withMagazine(on: .sqlite) { shop in
            try await shop.addDevice("cleo")
            let bought = try await shop.simulator.post(
                "/_sim/devices/cleo-1/purchases", ["product_id": "guide"])
            try await shop.server.post(
                "/v1/purchases",
                [
                    "customer_id": "cleo",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            #expect(try await Self.readable("cleo", in: shop) == ["a"])
            let explained = try await shop.engine.customers.explain(
                "cleo", app: "birds", environment: .production)
            #expect(explained.contains("content a: open. Bought by itself: guide."))
        }
    }
}
