import Engine
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import RevenueCatWire
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HTTPField.Name {
    static let revenueCatTag = wellFormed("X-RevenueCat-ETag")
    static let requestTime = wellFormed("X-RevenueCat-Request-Time")
    static let signature = wellFormed("X-Signature")
    fileprivate static let nonce = wellFormed("X-Nonce")
    fileprivate static let headersHash = wellFormed("X-Headers-Hash")
    fileprivate static let parametersHash = wellFormed("X-Post-Params-Hash")
}

/// Which answers of a route are signed.
enum RevenueCatSigned {
    case never
    /// Answers that are the same for everybody. The SDK sends no nonce for them.
    case always
    /// Answers to a request with a nonce. The SDK sends a nonce if it verifies answers.
    case withNonce
}

/// Signs answers for versions of RevenueCat's SDK that trust the app's root key. The signature
/// covers the content of the request, so a response cannot be used as the response to another
/// request.
///
/// Only successful responses are signed, because the SDK verifies no others. If the hashes in a
/// request do not match its values, somebody may have changed the request on its way. Then the
/// response has no signature, and the SDK does not trust it.
struct RevenueCatAnswerSigner: RouteGroup {
    let server: PerennialServer

    /// The parts of a request that the signature of the response covers.
    private struct Draft: Sendable {
        var app: AppID
        var key: String
        var nonce: [UInt8]
        var path: String
        var parametersHash: String
        var headersHash: String
    }

    /// Returns the signed response to a request.
    ///
    /// - Parameter answer: responds to the request. The body of the request is complete, but may
    ///   have been read from the network already.
    func respond(
        to request: Request, _ signed: RevenueCatSigned, for app: AppID, key: String,
        _ answer: (Request) async throws -> Response
    ) async throws -> Response {
        let (draft, request) = try await draft(of: request, signed, for: app, key: key)
        let response = try await answer(request)
        guard let draft else { return response }
        return try await sign(response, by: draft)
    }

    /// Returns the draft of a signature, and a request whose body can still be read. The draft is
    /// nil if the response is not signed.
    private func draft(
        of request: Request, _ signed: RevenueCatSigned, for app: AppID, key: String
    ) async throws -> (Draft?, Request) {
        var draft = Draft(
            app: app, key: key, nonce: [], path: Self.path(of: request), parametersHash: "",
            headersHash: "")
        switch signed {
        case .never: return (nil, request)
        case .always: return (draft, request)
        case .withNonce: break
        }
        guard let nonce = request.headers[.nonce].flatMap({ Data(base64Encoded: $0) }),
            nonce.count == RevenueCatSignature.nonceBytes, Self.fitsHeaders(request)
        else { return (nil, request) }
        draft.nonce = Array(nonce)
        draft.headersHash = request.headers[.headersHash] ?? ""
        guard let hash = request.headers[.parametersHash] else { return (draft, request) }
        let body = try await request.bytes(max: BodyLimit.purchases)
        var unread = request
        unread.body = RequestBody(buffer: body)
        draft.parametersHash = hash
        return (Self.fits(hash, body) ? draft : nil, unread)
    }

    /// The path as the client sent it.
    private static func path(of request: Request) -> String {
        let path = request.head.path ?? "/"
        return String(path.prefix { $0 != "?" })
    }

    /// Whether the digest in the request matches the values of its headers. True if there is no
    /// digest.
    private static func fitsHeaders(_ request: Request) -> Bool {
        guard let text = request.headers[.headersHash] else { return true }
        guard let hash = RevenueCatValuesHash(text) else { return false }
        let values = hash.names.compactMap { HTTPField.Name($0).flatMap { request.headers[$0] } }
        return hash.fits(values)
    }

    /// Whether a digest matches the values of a body's members.
    private static func fits(_ text: String, _ body: ByteBuffer) -> Bool {
        guard let hash = RevenueCatValuesHash(text),
            let members = try? JSONDecoder().decode(
                [String: Parameter].self, from: Data(body.readableBytesView))
        else { return false }
        let parameters = hash.names.compactMap { members[$0] }.filter { $0 != .absent }
        let values = parameters.compactMap(\.text)
        return values.count == parameters.count && hash.fits(values)
    }

    /// A member of a body, in the forms that a digest can cover.
    private enum Parameter: Decodable, Equatable {
        case text(String)
        case absent
        /// A value of another type, whose form in a digest is unknown.
        case other

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .absent
            } else {
                self = (try? value.decode(String.self)).map { .text($0) } ?? .other
            }
        }

        var text: String? {
            if case .text(let text) = self { text } else { nil }
        }
    }

    // MARK: - Answers

    /// Returns the response with its signature. A response that is not successful stays unchanged.
    ///
    /// If signing fails, for example because the first key cannot be written to a full disk, the
    /// response is sent without a signature. An error would be wrong, because the request has
    /// already taken effect.
    private func sign(_ response: Response, by draft: Draft) async throws -> Response {
        guard (200..<400).contains(response.status.code) else { return response }
        let body = try await Self.bytes(of: response)
        var response = response
        response.body = ResponseBody(byteBuffer: body)
        do { return try await signed(response, with: body, by: draft) } catch {
            server.logger.error(
                "An answer to RevenueCat's SDK was sent unsigned, because signing failed.",
                metadata: ["app": "\(draft.app)", "error": "\(error)"])
            return response
        }
    }

    private func signed(
        _ response: Response, with body: ByteBuffer, by draft: Draft
    ) async throws -> Response {
        let signer = try await engine.answerSigning.signer(
            of: draft.app, certified: { RevenueCatSignature.certified($0, until: $1) })
        var response = response
        let time = String(engine.context.serverTime.milliseconds)
        response.headers[.requestTime] = time
        let answer = RevenueCatSignedAnswer(
            salt: signer.salt(), key: draft.key, nonce: draft.nonce, path: draft.path,
            parametersHash: draft.parametersHash, headersHash: draft.headersHash,
            requestTime: time, tag: response.headers[.revenueCatTag] ?? "",
            body: Array(body.readableBytesView))
        let signature = RevenueCatSignature(
            key: signer.publicKey, lastDay: signer.lastDay, certificate: signer.certificate,
            salt: answer.salt, signature: try signer.signature(of: answer.payload))
        response.headers[.signature] = Data(signature.bytes).base64EncodedString()
        return response
    }

    private static func bytes(of response: Response) async throws -> ByteBuffer {
        let collector = BodyCollector()
        try await response.body.write(collector)
        return collector.bytes
    }
}

extension RevenueCatValuesHash {
    fileprivate func fits(_ values: [String]) -> Bool {
        digest == AnswerSigningService.digest(of: Self.input(of: values))
    }
}

/// Collects the bytes of an answer, which were made in memory.
private struct BodyCollector: ResponseBodyWriter {
    private final class Store: Sendable {
        let bytes = Mutex(ByteBuffer())
    }

    private let store = Store()

    var bytes: ByteBuffer { store.bytes.withLock { $0 } }

    func write(_ buffer: ByteBuffer) {
        store.bytes.withLock { _ = $0.writeImmutableBuffer(buffer) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) {}
}
