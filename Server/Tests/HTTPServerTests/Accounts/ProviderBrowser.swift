import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PerennialContract

/// A person's browser at the pages of a provider: keeps cookies, follows redirects, and fills in
/// and sends forms.
struct ProviderBrowser: Sendable {
    /// The maximum number of pages and redirects of one sign-in.
    private static let stepsMax = 20
    private static let pageBytesMax = 262_144

    struct Lost: Error, CustomStringConvertible {
        var description: String
    }

    /// A form of a page, as HTML describes it.
    private struct Form {
        var action: String?
        var fields: [(name: String, value: String)] = []
    }

    let http: HTTPClient
    private var cookies: [String: String] = [:]
    /// The number of forms with a password that this browser has sent.
    private(set) var passwordForms = 0

    /// - Parameter http: a client that follows no redirects.
    init(_ http: HTTPClient) { self.http = http }

    /// Signs a person in at an address of a provider, and permits everything that it asks for.
    ///
    /// - Parameter site: the beginning of the address to which the provider sends the browser back.
    /// - Returns: that whole address.
    mutating func signIn(
        at address: String, as person: String, password: String, backTo site: String
    ) async throws -> String {
        var request = HTTPClientRequest(url: address)
        for _ in 1...Self.stepsMax {
            let here = request.url
            let answer = try await send(request)
            let page = String(
                buffer: try await answer.body.collect(upTo: Self.pageBytesMax))
            if let location = answer.headers.first(name: "location") {
                let next = Self.absolute(location, from: here)
                guard !next.hasPrefix(site) else { return next }
                request = HTTPClientRequest(url: next)
            } else if let form = Self.form(of: page) {
                request = HTTPClientRequest(
                    url: form.action.map { Self.absolute($0, from: here) } ?? here)
                fill(&request, with: form, person, password)
            } else {
                throw Lost(description: "\(here) responded with \(answer.status): \(page)")
            }
        }
        throw Lost(description: "the sign-in at \(address) has too many steps")
    }

    private mutating func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        var request = request
        let pairs = cookies.map { "\($0.key)=\($0.value)" }.sorted()
        if !pairs.isEmpty {
            request.headers.add(name: "cookie", value: pairs.joined(separator: "; "))
        }
        let answer = try await http.execute(request, timeout: .seconds(240))
        for field in answer.headers["set-cookie"] {
            let pair = field.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { cookies[String(pair[0])] = String(pair[1]) }
        }
        return answer
    }

    private mutating func fill(
        _ request: inout HTTPClientRequest, with form: Form, _ person: String, _ password: String
    ) {
        let values = form.fields.map { field in
            switch field.name {
            case "username": (field.name, person)
            case "password": (field.name, password)
            default: (field.name, field.value)
            }
        }
        if form.fields.contains(where: { $0.name == "password" }) { passwordForms += 1 }
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        let text = values.map { "\($0.0)=\(Paths.percentEncoded($0.1))" }.joined(separator: "&")
        request.body = .bytes(ByteBuffer(string: text))
    }

    // MARK: - HTML

    /// The first form of a page, sent with its last button.
    private static func form(of page: String) -> Form? {
        guard let found = page.firstMatch(of: #/<form([^>]*)>([\s\S]*?)</form>/#) else {
            return nil
        }
        var form = Form(action: attributes(String(found.output.1))["action"])
        let inputs = found.output.2.matches(of: #/<input([^>]*)>/#)
            .map { attributes(String($0.output.1)) }
        let button = inputs.lastIndex { $0["type"] == "submit" }
        for (index, input) in inputs.enumerated() {
            guard let name = input["name"], input["type"] != "submit" || index == button else {
                continue
            }
            form.fields.append((name, input["value"] ?? ""))
        }
        return form
    }

    private static func attributes(_ text: String) -> [String: String] {
        var found: [String: String] = [:]
        for match in text.matches(of: #/([\w\-]+)="([^"]*)"/#) {
            found[String(match.output.1)] = plain(String(match.output.2))
        }
        return found
    }

    private static func plain(_ html: String) -> String {
        let entities = [
            ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&#34;", "\""), ("&lt;", "<"),
            ("&gt;", ">"), ("&amp;", "&"),
        ]
        return entities.reduce(html) { $0.replacing($1.0, with: $1.1) }
    }

    private static func absolute(_ address: String, from page: String) -> String {
        URL(string: address, relativeTo: URL(string: page))?.absoluteString ?? address
    }
}
