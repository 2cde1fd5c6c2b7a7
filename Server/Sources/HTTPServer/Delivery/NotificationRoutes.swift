import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract

/// The routes that receive notifications of the App Store and list them.
struct NotificationRoutes: RouteGroup {
    let server: PerennialServer

    /// There is no limit per address for this route, because many requests come from a few of
    /// Apple's addresses. The App Store repeats a refused notification only five times.
    var receiving: [Route] {
        [
            server.open(
                OpenAPIOperation(
                    .post, Paths.notifications, "receiveNotification",
                    "Receive an App Store notification of version 2 or 1",
                    description: """
                        Responds 200 once the notification is stored durably. Idempotent: a repeat \
                        gets 200, too. Responds 4xx only to notifications that can never be \
                        accepted. Responds 5xx for problems of this server, so that the App Store \
                        sends the notification again.
                        """, input: NotificationBody.self, output: .object("Recorded.")),
                receive
            ).withoutLimit()
        ]
    }

    /// Responds 200 only if the notification is stored durably.
    @Sendable func receive(_ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        context.bodyShare?.useNotificationReserve()
        let body = try await request.bytes(max: BodyLimit.notification)
        do {
            let receipt = try await engine.recording.record(
                notification: Array(body.readableBytesView),
                contentType: request.headers[.contentType])
            context.trace.record(receipt.document, isRepeat: receipt.isRepeat)
            server.logger.debug(
                "notification recorded",
                metadata: [
                    "app": .string(receipt.app.rawValue),
                    "document": .string(receipt.document.rawValue),
                    "repeat": .stringConvertible(receipt.isRepeat),
                    "request_id": .string(context.requestID),
                ])
        } catch {
            throw ProblemError(error, subject: .notification)
        }
        return JSONResponse.text(ByteBuffer(string: "{}"), mediaType: "application/json")
    }
}
