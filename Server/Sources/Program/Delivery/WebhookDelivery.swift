import AsyncHTTPClient
import Courier
import NIOCore

/// A signed request to a receiver of webhooks.
struct WebhookDelivery: Hashable, Sendable {
    var id: String
    /// The value of the header with the time; empty to omit the header.
    var time = ""
    /// The value of the header with the signatures; empty to omit the header.
    var signatures = ""
    var body: [UInt8]
    /// Whether the body is sent in pieces, with pauses.
    var isSlow = false

    init(id: String, body: [UInt8]) { (self.id, self.body) = (id, body) }

    func signed(at seconds: Int64, by secrets: [WebhookSecret]) -> Self {
        changing {
            $0.time = "\(seconds)"
            $0.signatures = WebhookSignature.text(id: id, at: seconds, body: body, secrets: secrets)
        }
    }

    var slow: Self { changing { $0.isSlow = true } }

    func changing(_ change: (inout Self) -> Void) -> Self {
        var changed = self
        change(&changed)
        return changed
    }
}

/// Sends deliveries to a receiver.
struct WebhookReceiverClient: Sendable {
    /// The maximum time from the connection to the end of the answer. A sender of webhooks waits no
    /// longer.
    static let timeout = TimeAmount.seconds(15)
    /// The maximum number of bytes of an answer that are read. The content of the answer is
    /// ignored.
    private static let answerBytesMax = 65_536

    enum Answer: Hashable, Sendable {
        case status(Int)
        /// No answer arrived, for this reason.
        case none(String)
    }

    let url: String
    let http: HTTPClient

    func answers(to one: WebhookTorture.Case) async -> [Answer] {
        guard one.isConcurrent else {
            var answers: [Answer] = []
            for delivery in one.deliveries { answers.append(await reply(to: delivery)) }
            return answers
        }
        return await withTaskGroup(of: Answer.self) { group in
            for delivery in one.deliveries {
                group.addTask { await reply(to: delivery) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func reply(to delivery: WebhookDelivery) async -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "Perennial")
        let headers = [
            (WebhookSignature.idHeader, delivery.id), (WebhookSignature.timeHeader, delivery.time),
            (WebhookSignature.signatureHeader, delivery.signatures),
        ]
        for (name, value) in headers where !value.isEmpty {
            request.headers.add(name: name, value: value)
        }
        request.body =
            delivery.isSlow
            ? .stream(SlowBody(bytes: delivery.body), length: .known(Int64(delivery.body.count)))
            : .bytes(ByteBuffer(bytes: delivery.body))
        do {
            let answer = try await http.execute(request, timeout: Self.timeout)
            let status = Answer.status(Int(answer.status.code))
            do { _ = try await answer.body.collect(upTo: Self.answerBytesMax) } catch {
                // The status counts even if the rest of the answer does not arrive.
                return status
            }
            return status
        } catch {
            return .none(NetworkTrouble.text(of: error))
        }
    }
}

/// A body that is sent in pieces, with a pause before each piece except the first.
private struct SlowBody: AsyncSequence, Sendable {
    let bytes: [UInt8]

    func makeAsyncIterator() -> Pieces { Pieces(rest: bytes[...]) }

    struct Pieces: AsyncIteratorProtocol {
        private var rest: ArraySlice<UInt8>
        private let size: Int
        private var isFirst = true

        init(rest: ArraySlice<UInt8>) {
            self.rest = rest
            size = rest.count / WebhookTorture.slowPieces + 1
        }

        mutating func next() async throws -> ByteBuffer? {
            guard !rest.isEmpty else { return nil }
            if !isFirst { try await Task.sleep(for: WebhookTorture.slowPause) }
            isFirst = false
            defer { rest = rest.dropFirst(size) }
            return ByteBuffer(bytes: rest.prefix(size))
        }
    }
}

/// The result of a case.
struct WebhookFinding: Hashable, Sendable {
    let name: String
    let isRight: Bool
    /// The finding in one line. For a wrong answer, the line says what to do.
    let text: String

    init(_ one: WebhookTorture.Case, _ answers: [WebhookReceiverClient.Answer]) {
        name = one.name
        isRight = answers.allSatisfy {
            switch $0 {
            case .status(let status): one.expected.includes(status)
            case .none: false
            }
        }
        let shown = answers.map { answer in
            switch answer {
            case .status(let status): "\(status)"
            case .none(let why): "nothing (\(why))"
            }
        }.joined(separator: ", ")
        text =
            isRight
            ? "ok     \(one.name): \(shown)"
            : "WRONG  \(one.name): \(shown), expected \(one.expected.rawValue). \(one.advice)"
    }
}
