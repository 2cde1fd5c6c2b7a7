import Eventually
import Foundation
import Testing

@testable import HTTPServer

/// A client with HTTP/2 that can break the rules: the Python package `h2`. `bin/test` installs it.
enum HTTP2Client {
    /// The reason that a skipped test prints.
    static let absence: Comment = "skipped: no Python package h2"

    private static let secondsMax = 120.0

    private static let python: String? = {
        var root = URL(filePath: #filePath)
        for _ in 1...5 { root.deleteLastPathComponent() }
        // The path is not resolved: Python finds its packages beside the symbolic link.
        let path = root.path + "/.perennial/http2/bin/python"
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    static var isPresent: Bool { python != nil }

    /// Connects with the arguments PORT and ROOT, and defines what the acts of tests use.
    private static let start = """
        import socket, ssl, sys
        import h2.config, h2.connection, h2.events

        context = ssl.create_default_context(cafile=sys.argv[2])
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
        wire = context.wrap_socket(plain, server_hostname="127.0.0.1")
        connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        connection.initiate_connection()

        def ask(path, key="pk_test_birds", method="GET", fields=(), ends=True):
            stream = connection.get_next_available_stream_id()
            connection.send_headers(stream, [
                (":method", method), (":scheme", "https"), (":authority", "localhost"),
                (":path", path), ("authorization", "Bearer " + key), *fields], end_stream=ends)
            return stream

        def events():
            while True:
                try:
                    wire.sendall(connection.data_to_send())
                    received = wire.recv(65536)
                except OSError as error:
                    if isinstance(error, TimeoutError):
                        raise
                    return
                if not received:
                    return
                for event in connection.receive_data(received):
                    if isinstance(event, h2.events.DataReceived):
                        connection.acknowledge_received_data(
                            event.flow_controlled_length, event.stream_id)
                    yield event

        def status(event):
            return dict(event.headers)[":status"]

        # Returns the number of the error with which the server ends the connection.
        def end():
            for event in events():
                if isinstance(event, h2.events.ConnectionTerminated):
                    return int(event.error_code)
            return "closed"

        """

    /// Runs Python statements after a connection was made. Returns what they print.
    static func output(
        of act: String, to server: ListeningServer, trusting root: String
    ) async throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: try #require(python))
        process.arguments = ["-c", start + act, "\(server.port)", root]
        let (status, bytes) = try await process.output(withErrors: true, within: secondsMax)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(status == 0, "\(text)")
        return text
    }
}
