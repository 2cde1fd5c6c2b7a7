internal import Foundation
internal import FoundationNetworking

/// Routes of the simulator or the server.
struct Routes: Sendable {
    /// The longest wait for an answer, in seconds. The route `prompts?count=` waits for 60.
    static let answerSecondsMax = 90.0

    let base: URL
    /// The key for the server's routes. Nil for the simulator's routes.
    var key: String?

    private struct Anything: Decodable {}

    func get<Answer: Decodable>(
        _ path: String, _ query: String = "", as type: Answer.Type
    ) async throws -> Answer {
        let text = base.absoluteString + "/" + path + (query.isEmpty ? "" : "?\(query)")
        guard let url = URL(string: text) else { throw WorldFailure("\(text) is no address") }
        return try await send(URLRequest(url: url, timeoutInterval: Self.answerSecondsMax))
    }

    /// The body of a route's answer, unchanged.
    func data(_ path: String) async throws -> Data {
        try await data(
            URLRequest(
                url: base.appendingPathComponent(path), timeoutInterval: Self.answerSecondsMax))
    }

    func post(_ path: String, _ fields: [String: any Sendable] = [:]) async throws {
        _ = try await post(path, fields, as: Anything.self)
    }

    func post<Answer: Decodable>(
        _ path: String, _ fields: [String: any Sendable], as type: Answer.Type
    ) async throws -> Answer {
        var request = URLRequest(
            url: base.appendingPathComponent(path), timeoutInterval: Self.answerSecondsMax)
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: fields)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return try await send(request)
    }

    private func send<Answer: Decodable>(_ request: URLRequest) async throws -> Answer {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Answer.self, from: try await data(request))
    }

    private func data(_ request: URLRequest) async throws -> Data {
        var request = request
        if let key { request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else {
            let path = request.url?.path ?? ""
            throw WorldFailure("\(path): \(String(decoding: data, as: UTF8.self))")
        }
        return data
    }
}
