import AsyncHTTPClient
import Foundation
import NIOCore

/// Posts webhooks. A courier signs the body, resolves the host once, checks the host's addresses,
/// and connects to a checked address. A courier follows no redirects, verifies TLS, and limits time
/// and size.
package struct Courier: Sendable {
    /// The maximum time from the first lookup of the name to the end of the answer.
    package static let timeout = Duration.seconds(15)
    /// The maximum size of the stored part of an answer, in bytes.
    package static let answerBytesMax = 4_096
    /// The maximum size of the part of an answer that is read, in bytes. It is larger than the
    /// stored part, so that the end of a short answer can be seen.
    private static let readBytesMax = 65_536
    /// The maximum time for reading the answer's body, after the head has arrived.
    package static let bodyTimeout = Duration.seconds(2)
    /// The maximum number of secrets of one endpoint that sign a message.
    package static let secretsMax = 4

    let rules: HostRules
    let timeout: Duration
    let bodyTimeout: Duration
    let resolve: @Sendable (String) async throws -> [IPAddress]
    let time: @Sendable () -> Int64

    /// - Parameters:
    ///   - resolve: all addresses of a host, such as ``HostLookups/addresses(of:)``. The function
    ///     must return soon after its task is cancelled.
    ///   - time: the time of day in seconds since 1970, which receivers compare with their own.
    package init(
        rules: HostRules, timeout: Duration = timeout, bodyTimeout: Duration = bodyTimeout,
        resolve: @escaping @Sendable (String) async throws -> [IPAddress],
        time: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) {
        self.rules = rules
        self.timeout = timeout
        self.bodyTimeout = bodyTimeout
        self.resolve = resolve
        self.time = time
    }

    /// A message to post.
    package struct Parcel: Sendable {
        package var url: String
        /// The value of `webhook-id`, the same for each attempt.
        package var id: String
        package var body: [UInt8]
        /// The endpoint's secrets. Each of them makes a signature. Without a secret, the message is
        /// not signed.
        package var secrets: [WebhookSecret]
        /// The value of the header `Authorization`.
        package var authorization: String?
        /// The value of the header `traceparent`.
        package var traceparent: String?

        package init(
            url: String, id: String, body: [UInt8], secrets: [WebhookSecret],
            authorization: String? = nil, traceparent: String? = nil
        ) {
            self.url = url
            self.id = id
            self.body = body
            self.secrets = secrets
            self.authorization = authorization
            self.traceparent = traceparent
        }
    }

    /// The result of an attempt to post a message.
    package enum Outcome: Hashable, Sendable {
        /// - Parameters:
        ///   - body: the first ``answerBytesMax`` bytes of the answer, without the endpoint's
        ///     secrets.
        ///   - retryAfter: the time in the header `Retry-After`.
        case answer(status: Int, body: String, retryAfter: Duration?)
        /// No answer arrived, for this reason.
        case failure(String)
        /// Nothing was sent: the lookup of the host did not begin. See ``HostLookups/NotBegun``.
        case notAttempted
    }

    /// Posts once. Always returns within the time limit.
    package func post(_ parcel: Parcel) async -> Outcome {
        let (outcome, isInTime) = await Self.value(within: timeout) { await attempt(parcel) }
        guard case .failure = outcome else { return outcome }
        if Task.isCancelled { return .failure("this server was stopping") }
        return isInTime ? outcome : .failure("no response within \(timeout)")
    }

    /// Returns the value of a closure. The closure is cancelled after a time limit, and must then
    /// return soon.
    private static func value<Value: Sendable>(
        within limit: Duration, of body: @escaping @Sendable () async -> Value
    ) async -> (value: Value, isInTime: Bool) {
        await withTaskGroup(of: Value?.self) { tasks in
            tasks.addTask { await body() }
            tasks.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            var isInTime = true
            while let result = await tasks.next() {
                tasks.cancelAll()
                if let value = result { return (value, isInTime) }
                isInTime = false
            }
            preconditionFailure("The task of the closure returns a value.")
        }
    }

    private func attempt(_ parcel: Parcel) async -> Outcome {
        guard let url = URL(string: parcel.url), let name = url.host(percentEncoded: true) else {
            return .failure("the address is not valid")
        }
        let host = name.trimmingCharacters(in: ["[", "]"])
        // The client must find the address under exactly this name. Otherwise the client would
        // resolve the name again.
        guard Self.isPlain(host) else { return .failure("the host's name is not plain ASCII") }
        guard url.scheme == "https" || rules.permitsPlainHTTP(to: host) else {
            return .failure("the address is without TLS")
        }
        do {
            let address = try rules.address(of: host, among: try await resolve(host))
            return try await execute(parcel, host: host, at: address)
        } catch let refusal as HostRules.Refusal {
            return .failure(refusal.description)
        } catch is HostLookups.NotBegun {
            return .notAttempted
        } catch {
            return .failure(Self.scrubbed("\(error)", of: parcel))
        }
    }

    static func isPlain(_ host: String) -> Bool {
        !host.isEmpty
            && host.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }

    /// Makes a client for each request, because the address belongs to the client. The request
    /// still contains the name, which is needed for the header `Host` and for the certificate.
    private func execute(
        _ parcel: Parcel, host: String, at address: IPAddress
    ) async throws -> Outcome {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        configuration.dnsOverride = [host: "\(address)"]
        return try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            let answer = try await client.execute(request(parcel), deadline: .distantFuture)
            let retryAfter = answer.headers.first(name: "retry-after").flatMap {
                Self.retryAfter($0, at: answer.headers.first(name: "date"), now: time())
            }
            let (body, _) = await Self.value(within: bodyTimeout) {
                await Self.beginning(of: answer.body)
            }
            return .answer(
                status: Int(answer.status.code), body: Self.scrubbed(body, of: parcel),
                retryAfter: retryAfter)
        }
    }

    private func request(_ parcel: Parcel) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: parcel.url)
        request.method = .POST
        let timestamp = time()
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "Perennial")
        request.headers.add(name: WebhookSignature.idHeader, value: parcel.id)
        request.headers.add(name: WebhookSignature.timeHeader, value: "\(timestamp)")
        if !parcel.secrets.isEmpty {
            request.headers.add(
                name: WebhookSignature.signatureHeader,
                value: WebhookSignature.text(
                    id: parcel.id, at: timestamp, body: parcel.body,
                    secrets: Array(parcel.secrets.prefix(Self.secretsMax))))
        }
        if let traceparent = parcel.traceparent {
            request.headers.add(name: "traceparent", value: traceparent)
        }
        if let value = parcel.authorization {
            request.headers.add(name: "authorization", value: value)
        }
        request.body = .bytes(ByteBuffer(bytes: parcel.body))
        return request
    }

    /// Reads the beginning of the answer's body. Never throws, because the answer's status counts
    /// even if the body fails, is too long, or never ends. If the task is cancelled, returns the
    /// bytes received so far.
    private static func beginning(of body: HTTPClientResponse.Body) async -> String {
        var bytes: [UInt8] = []
        var count = 0
        do {
            for try await part in body {
                count += part.readableBytes
                bytes += part.readableBytesView.prefix(answerBytesMax - bytes.count)
                if count > readBytesMax { break }
            }
        } catch { return String(decoding: bytes, as: UTF8.self) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Parses `Retry-After` (RFC 9110 §10.2.3): a number of seconds, or a date. A date counts from
    /// the receiver's own `Date`, because the receiver's clock may be wrong. Returns nil for
    /// anything else.
    ///
    /// - Parameter now: seconds since 1970; used if the receiver sends no `Date`.
    static func retryAfter(_ text: String, at date: String?, now: Int64) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let seconds = Int64(text) {
            return seconds >= 0 && seconds < Int64(Int32.max) ? .seconds(seconds) : nil
        }
        return HTTPDate.seconds(text).map { end in
            .seconds(max(0, end - (date.flatMap { HTTPDate.seconds($0) } ?? now)))
        }
    }

    /// Returns the receiver's text without the endpoint's secrets, and without characters that a
    /// database cannot store.
    static func scrubbed(_ text: String, of parcel: Parcel) -> String {
        var text = text.replacing("\0", with: "")
        let secrets =
            parcel.secrets.flatMap {
                [$0.text, String($0.text.dropFirst(WebhookSecret.prefix.count))]
            } + [parcel.authorization ?? ""]
        for secret in secrets where !secret.isEmpty { text = text.replacing(secret, with: "…") }
        return text
    }
}
