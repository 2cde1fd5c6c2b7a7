import AppStoreFormats
import AsyncHTTPClient
import Foundation
import Logging
import Testing

@testable import Program

/// The phone's page in a complete `perennial dev`. Posts acts as a browser does, and compares the
/// page with the simulator's books and the server's answers.
struct PhoneTable: Sendable {
    let simulator: Wire
    let server: Wire

    static func play(_ story: @escaping @Sendable (PhoneTable) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let shop = DevShop(folder: folder.path)
        let quiet = Logger(label: "story") { _ in SwiftLogNoOpLogHandler() }
        var settings = try shop.settings(try shop.example(), try shop.nextWorld(), logger: quiet)
        settings.hasPhone = true
        let end: Void? = try await LocalStack.run(settings) { store in
            try await story(
                PhoneTable(
                    simulator: Wire(base: store.simulatorURL),
                    server: Wire(base: store.serverURL, bearer: "pk_dev_birds")))
        }
        guard end != nil else { throw Wire.Unexpected(description: "it stopped by itself") }
    }

    /// This client does not follow redirects.
    private static let browser = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: HTTPClient.Configuration(redirectConfiguration: .disallow))

    // MARK: - The page

    /// Posts one act after the other, and returns the last state of the page.
    @discardableResult
    func act(_ acts: String...) async throws -> Pieces {
        var pieces = Pieces(texts: [:])
        for act in acts { pieces = try await perform(act) }
        return pieces
    }

    private func perform(_ act: String) async throws -> Pieces {
        let answer = try await post(act)
        guard answer.status == 200 else {
            let text = String(decoding: answer.body, as: UTF8.self)
            throw Wire.Unexpected(description: "\(act) answered \(answer.status): \(text)")
        }
        return try Pieces(answer.json)
    }

    /// Posts an act as the page's script does, unless the headers say otherwise.
    func post(_ act: String, headers: [String: String] = [:]) async throws -> Wire.Answer {
        let form = [
            "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json",
        ]
        return try await server.send(
            "POST", "/phone", body: Array("act=\(act.replacing(" ", with: "+"))".utf8),
            headers: form.merging(headers) { _, own in own })
    }

    /// Posts the page's form without a script. Returns the status, and the address of the redirect.
    func postForm(_ act: String) async throws -> (status: Int, location: String?) {
        var request = HTTPClientRequest(url: server.base + "/phone")
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(Array("csrf=&act=\(act)".utf8))
        let response = try await Self.browser.execute(request, timeout: .seconds(60))
        return (Int(response.status.code), response.headers.first(name: "location"))
    }

    func page() async throws -> String {
        String(decoding: try await server.send("GET", "/phone").body, as: UTF8.self)
    }

    struct Pieces: Sendable {
        /// The texts of the page without markup, by the id of their element.
        var texts: [String: String]

        fileprivate init(texts: [String: String]) { self.texts = texts }

        fileprivate init(_ json: JSON) throws {
            let pairs = (json.array ?? []).compactMap { piece -> (String, String)? in
                guard let id = piece["id"]?.string, let html = piece["html"]?.string else {
                    return nil
                }
                return (id, html)
            }
            texts = Dictionary(uniqueKeysWithValues: pairs)
        }

        func html(_ id: String) -> String { texts[id] ?? "" }

        func text(_ id: String) -> String {
            html(id).replacing("<wbr>", with: "").replacing(#/<[^>]*>/#, with: " ")
                .replacing("&quot;", with: "\"")
                .replacing(#/\s+/#, with: " ")
        }

        var doneCount: Int { html("try").matches(of: #/class="done"/#).count }
    }

    // MARK: - Both sides

    /// The first purchase of an account in the simulator's books.
    func book(of account: String = "anna") async throws -> JSON {
        let books = try await simulator.get("/_sim/truth/\(account)")
        return try #require(books["purchases"]?.array?.first)
    }

    /// Compares the page with the books and with the server's answer.
    func expect(
        _ pieces: Pieces, shows state: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (book, customer) = try await (book(), server.get("/v1/customers/anna"))
        let right = try #require(customer["entitlements"]?["pro"])
        #expect(book["state"]?.string == state, sourceLocation: sourceLocation)
        #expect(right["state"]?.string == state, sourceLocation: sourceLocation)
        #expect(right["active"] == book["open"], sourceLocation: sourceLocation)
        #expect(pieces.text("word").contains(state), sourceLocation: sourceLocation)
        #expect(pieces.text("word").contains("agree"), sourceLocation: sourceLocation)
        #expect(pieces.text("trouble").trimmed.isEmpty, sourceLocation: sourceLocation)
        let may = book["open"]?.bool == true ? "has access to pro" : "has no access to pro"
        #expect(pieces.text("line").contains(may), sourceLocation: sourceLocation)
        let isAsleep = pieces.html("screen").contains("hero shut")
        #expect(isAsleep == (book["open"]?.bool == false), sourceLocation: sourceLocation)
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
