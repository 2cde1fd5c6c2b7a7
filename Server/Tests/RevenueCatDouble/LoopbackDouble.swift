import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// Serves a ``RevenueCatDouble`` over HTTP on the loopback address.
package struct LoopbackDouble: Sendable {
    private let double: RevenueCatDouble
    private let hold: Hold?

    /// - Parameter hold: leaves requests without an answer. Nil to answer all requests.
    package init(_ double: RevenueCatDouble, hold: Hold? = nil) {
        self.double = double
        self.hold = hold
    }

    /// Leaves all requests after a number of them without an answer, so that a test can kill a
    /// client that has done a part of its work.
    package final class Hold: Sendable {
        private let answersMax: Int
        private let count = Mutex(0)

        package init(after answersMax: Int) { self.answersMax = answersMax }

        /// Whether a request waits.
        package var isHolding: Bool { count.withLock { $0 > answersMax } }

        fileprivate func holdsNext() -> Bool {
            count.withLock { count in
                count += 1
                return count > answersMax
            }
        }
    }

    /// Listens on a free port while `body` runs, which receives the address, such as
    /// `http://127.0.0.1:4711`.
    package func serve<Value: Sendable>(
        _ body: @escaping @Sendable (String) async throws -> Value
    ) async throws -> Value? {
        let (ports, sink) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "double")
        logger.logLevel = .critical
        let responder = CallbackResponder { (request: Request, _: BasicRequestContext) in
            await respond(to: request)
        }
        let application = Application(
            responder: responder,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { sink.yield($0.localAddress?.port ?? 0) }, logger: logger)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                try await application.run()
                return nil
            }
            group.addTask {
                for await port in ports { return try await body("http://127.0.0.1:\(port)") }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func respond(to request: Request) async -> Response {
        if hold?.holdsNext() == true { await Self.waitForCancellation() }
        var headers: [String: String] = [:]
        for field in request.headers { headers[field.name.canonicalName] = field.value }
        let answer = double.answer(
            request.method.rawValue, request.uri.string, headers: headers, body: [])
        if answer.isLost { await Self.waitForCancellation() }
        var fields = HTTPFields()
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return Response(
            status: .init(code: answer.status), headers: fields,
            body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
    }

    /// Waits until the caller hangs up, or the server stops.
    private static func waitForCancellation() async {
        let (nothing, sink) = AsyncStream.makeStream(of: Int.self)
        for await _ in nothing {}
        withExtendedLifetime(sink) {}
    }
}
