import AsyncHTTPClient
import Foundation
import NIOCore

/// Posts webhooks: signs, resolves the host once, checks its addresses, and connects to the one
/// that was checked. Follows no redirects, verifies TLS, and limits time and size.
package struct Courier: Sendable {
    /// From the first lookup of the name to the end of the answer.
    package static let timeout = Duration.seconds(15)
    /// The part of an answer that is kept.
    package static let answerBytesMax = 4_096
    /// The part of an answer that is read, so that its end is seen.
    private static let readBytesMax = 65_536
    /// After the head of an answer, so much time is spent on its body.
    package static let bodyTimeout = Duration.seconds(2)
    /// Secrets of an endpoint that sign at the same time.
    package static let secretsMax = 4

    let rules: HostRules
    let timeout: Duration
    let bodyTimeout: Duration
    let resolve: @Sendable (String) async throws -> [IPAddress]
    let time: @Sendable () -> Int64

    /// - Parameters:
    ///   - resolve: all addresses of a host, such as ``HostLookups/addresses(of:)``. It must return
    ///     soon after its task is cancelled.
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

    /// What is posted.
    package struct Parcel: Sendable {
        package var url: String
        /// The value of `webhook-id`, the same for each attempt.
        package var id: String
        package var body: [UInt8]
        /// All of them sign.
        package var secrets: [WebhookSecret]
        /// The value of the header `Authorization`.
        package var authorization: String?

        package init(
            url: String, id: String, body: [UInt8], secrets: [WebhookSecret],
            authorization: String? = nil
        ) {
            self.url = url
            self.id = id
            self.body = body
            self.secrets = secrets
            self.authorization = authorization
        }
    }

    /// What came of an attempt.
    package enum Outcome: Hashable, Sendable {
        /// - Parameters:
        ///   - body: its first ``answerBytesMax`` bytes, without the endpoint's secrets.
        ///   - retryAfter: what the header `Retry-After` says.
        case answer(status: Int, body: String, retryAfter: Duration?)
        /// Nothing answered, for this reason.
        case failure(String)
        /// There was no attempt: the lookup of the host waited behind those of other hosts.
        case notAttempted
    }

    /// Posts once. Always returns within the time limit.
    package func post(_ parcel: Parcel) async -> Outcome {
        let (outcome, isInTime) = await Self.value(within: timeout) { await attempt(parcel) }
        guard case .failure = outcome else { return outcome }
        if Task.isCancelled { return .failure("this server was stopping") }
        return isInTime ? outcome : .failure("no response within \(timeout)")
    }

    /// Returns the value of a closure, which is cancelled after a time, and then returns soon.
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
        // The client must find the address under exactly this name, or it would resolve it again.
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

    /// A client for each request, because the address belongs to the client. The name stays in the
    /// request: for the header `Host`, and for the certificate.
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
        request.headers.add(
            name: WebhookSignature.signatureHeader,
            value: WebhookSignature.text(
                id: parcel.id, at: timestamp, body: parcel.body,
                secrets: Array(parcel.secrets.prefix(Self.secretsMax))))
        if let value = parcel.authorization {
            request.headers.add(name: "authorization", value: value)
        }
        request.body = .bytes(ByteBuffer(bytes: parcel.body))
        return request
    }

    /// The status counts, even if the rest of the answer fails, is too long, or never ends. Returns
    /// what has come if its task is cancelled.
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

    /// How long to wait by RFC 9110 §10.2.3: a number of seconds, or a date, which counts from the
    /// receiver's own `Date`, because its clock may be wrong. Nil for anything else.
    ///
    /// - Parameter now: seconds since 1970, for a receiver that sends no `Date`.
    static func retryAfter(_ text: String, at date: String?, now: Int64) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let seconds = Int64(text) {
            return seconds >= 0 && seconds < Int64(Int32.max) ? .seconds(seconds) : nil
        }
        return HTTPDate.seconds(text).map { end in
            .seconds(max(0, end - (date.flatMap { HTTPDate.seconds($0) } ?? now)))
        }
    }

    /// A text of the receiver's without what is secret of the endpoint, and without characters that
    /// a database cannot store.
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
