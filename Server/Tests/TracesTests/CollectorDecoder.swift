import Eventually
import Foundation
import Testing

/// The decoder of an OpenTelemetry collector's requests: the Python package `opentelemetry-proto`,
/// which contains the published definition of the messages. `bin/test` installs it.
enum CollectorDecoder {
    /// The reason that a skipped test prints.
    static let absence: Comment = "skipped: no opentelemetry-proto"

    private static let secondsMax = 120.0

    private static let python: String? = {
        var root = URL(filePath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        // The path is not resolved: Python finds its packages beside the symbolic link.
        let path = root.path + "/.perennial/collector/bin/python"
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    static var isPresent: Bool { python != nil }

    private static let script = """
        import sys
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
        request = trace_service_pb2.ExportTraceServiceRequest()
        request.ParseFromString(sys.stdin.buffer.read())
        def value(v):
            return getattr(v, v.WhichOneof("value"))
        for resource in request.resource_spans:
            for one in resource.resource.attributes:
                print("resource", one.key, value(one.value))
            for scope in resource.scope_spans:
                print("scope", scope.scope.name, scope.scope.version)
                for span in scope.spans:
                    print("span", span.name, span.trace_id.hex(), span.span_id.hex(),
                          span.parent_span_id.hex() or "-", span.kind, span.start_time_unix_nano,
                          span.end_time_unix_nano, span.status.code, span.status.message or "-")
                    for one in span.attributes:
                        print("attribute", one.key, type(value(one.value)).__name__,
                              value(one.value))
        """

    /// Decodes a body. Returns a line for each resource attribute, scope, span and attribute.
    static func lines(of body: [UInt8]) async throws -> [String] {
        let input = FileManager.default.temporaryDirectory.appending(
            path: "perennial-spans-\(UUID().uuidString)")
        try Data(body).write(to: input)
        defer { try? FileManager.default.removeItem(at: input) }
        let process = Process()
        process.executableURL = URL(filePath: try #require(python))
        process.arguments = ["-c", script]
        process.standardInput = try FileHandle(forReadingFrom: input)
        let (status, bytes) = try await process.output(withErrors: true, within: secondsMax)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(status == 0, "\(text)")
        return text.split(separator: "\n").map(String.init)
    }
}
