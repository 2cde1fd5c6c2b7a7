import FoundationNetworking
import Synchronization

/// Calls the simulator's routes of one device.
///
/// A call continues when its task is cancelled, because a customer's purchase does not end when the
/// app stops waiting for it.
struct StoreClient: Sendable {
    /// The longest wait for an answer, in seconds. A held sheet closes after 60 seconds, and a slow
    /// network delays the answer by up to 60 seconds.
    static let answerSecondsMax = 150.0
    /// The longest wait of a call that blocks its thread, in seconds.
    static let blockingSecondsMax = 5.0
    /// The maximum number of concurrent calls to one simulator. Each held sheet uses one call.
    static let connectionsMax = 64

    let device: SimulatedDevice

    init(_ device: SimulatedDevice) { self.device = device }

    private static let session: URLSession = {
        let settings = URLSessionConfiguration.ephemeral
        settings.httpMaximumConnectionsPerHost = connectionsMax
        settings.timeoutIntervalForRequest = answerSecondsMax
        settings.requestCachePolicy = .reloadIgnoringLocalCacheData
        return URLSession(configuration: settings)
    }()

    // MARK: - Calls

    /// Reads a route of the device, such as `clock`. Throws ``StoreKitError``.
    func read<Answer: Decodable>(
        _ path: String, _ query: [String: String] = [:], as type: Answer.Type
    ) async throws -> Answer {
        try decode(type, try await body(of: request("GET", path, query)), path)
    }

    /// Reads a route of the device without decoding it.
    func readData(_ path: String, _ query: [String: String]) async throws -> Data {
        try await body(of: request("GET", path, query))
    }

    /// Reads a value that a device caches. If the simulator cannot be reached, returns the last
    /// answer, or nil if no answer is cached.
    func readCached<Answer: Decodable>(
        _ path: String, _ query: [String: String] = [:], as type: Answer.Type
    ) async throws -> Answer? {
        let request = try request("GET", path, query)
        let cache = DeviceCache(device)
        switch await outcome(of: request) {
        case .answered(let body):
            cache.write(body, as: path, query)
            return try decode(type, body, path)
        case .refused(let failure): throw failure
        case .unreachable:
            guard let body = cache.read(path, query) else { return nil }
            return try decode(type, body, path)
        }
    }

    /// Posts to a route of the device. Throws ``StoreKitError``.
    func post<Answer: Decodable>(
        _ path: String, _ fields: [String: any Sendable] = [:],
        as type: Answer.Type
    ) async throws -> Answer {
        var request = try request("POST", path, [:])
        request.httpBody = try JSONSerialization.data(withJSONObject: fields)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return try decode(type, try await body(of: request), path)
    }

    /// Reads a route of the simulator that belongs to no device, such as `products`.
    func readStore(_ path: String, _ query: [String: String]) async throws -> Data {
        try await body(of: request("GET", at: "/_sim/\(path)", query))
    }

    /// Reads a route of the device, and blocks the calling thread. Returns nil if no answer
    /// arrives.
    func readBlocking<Answer: Decodable>(_ path: String, as type: Answer.Type) -> Answer? {
        guard var request = try? request("GET", path, [:]) else { return nil }
        request.timeoutInterval = Self.blockingSecondsMax
        let outcome = Mutex<Outcome?>(nil)
        let done = DispatchSemaphore(value: 0)
        Self.session.dataTask(with: request) { data, response, failure in
            outcome.withLock { $0 = Self.outcome(data, response, failure) }
            done.signal()
        }.resume()
        guard done.wait(timeout: .now() + Self.blockingSecondsMax) == .success,
            case .answered(let body) = outcome.withLock({ $0 })
        else { return nil }
        return try? decode(type, body, path)
    }

    // MARK: - HTTP

    func request(
        _ method: String, _ path: String, _ query: [String: String]
    ) throws -> URLRequest {
        guard !device.id.isEmpty else { throw StoreKitError.systemError(SimulatorRefusal.noDevice) }
        let place = path.isEmpty ? device.id : "\(device.id)/\(path)"
        return try request(method, at: "/_sim/devices/\(place)", query)
    }

    private func request(
        _ method: String, at path: String, _ query: [String: String]
    ) throws -> URLRequest {
        var parts = URLComponents(url: device.simulator, resolvingAgainstBaseURL: false)
        parts?.path = path
        if !query.isEmpty {
            parts?.queryItems = query.sorted { $0.key < $1.key }.map {
                URLQueryItem(name: $0.key, value: $0.value)
            }
        }
        guard let url = parts?.url else { throw StoreKitError.networkError(URLError(.badURL)) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        return request
    }

    private enum Outcome: Sendable {
        case answered(Data)
        case refused(any Error)
        /// The address of the simulator does not respond.
        case unreachable(URLError)
    }

    private func body(of request: URLRequest) async throws -> Data {
        switch await outcome(of: request) {
        case .answered(let body): return body
        case .refused(let failure): throw failure
        case .unreachable(let failure): throw StoreKitError.networkError(failure)
        }
    }

    private func outcome(of request: URLRequest) async -> Outcome {
        await withCheckedContinuation { continuation in
            Self.session.dataTask(with: request) { data, response, failure in
                continuation.resume(returning: Self.outcome(data, response, failure))
            }.resume()
        }
    }

    private static func outcome(
        _ data: Data?, _ response: URLResponse?, _ failure: (any Error)?
    ) -> Outcome {
        if let failure {
            return .unreachable(failure as? URLError ?? URLError(.cannotConnectToHost))
        }
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard (200..<300).contains(status) else {
            return .refused(StoreProblem(data ?? Data(), status: status).thrown)
        }
        return .answered(data ?? Data())
    }

    private func decode<Answer: Decodable>(
        _ type: Answer.Type, _ body: Data, _ path: String
    ) throws -> Answer {
        do {
            return try JSONDecoder.simulator.decode(type, from: body)
        } catch {
            throw StoreKitError.systemError(SimulatorRefusal.unreadable(path))
        }
    }
}

extension JSONDecoder {
    /// Reads the simulator's JSON, whose members are written in snake case.
    static var simulator: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }
}
