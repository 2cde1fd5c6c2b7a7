import Engine
import HTTPBasics
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Storage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The routes that list content and send its files.
struct ContentRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/content", "content",
                    "Content a customer may read, newest first",
                    description: """
                        Each file has a link, which is valid for some minutes and needs no key.
                        """,
                    parameters: [
                        .proof, .environment,
                        OpenAPIParameter(
                            name: "all",
                            description: "Also list content that the customer may not read.",
                            schema: ["type": "boolean", "default": false]),
                    ], output: .json(ContentList.self)), list),
            server.verbatim(
                OpenAPIOperation(
                    .get, "/v1/content/{content_id}/file", "contentFile", "The file of one content",
                    description: """
                        Needs a key and customer_id, or a url from the list of content, which \
                        needs no key. Sandbox purchases open files if the configuration allows it, \
                        or with a secret key. Supports ranges. If the files are elsewhere, the \
                        response is a redirect.
                        """,
                    parameters: [
                        .customerID("With a key: the customer who reads the file."), .proof,
                        .environment,
                        OpenAPIParameter(name: "app"), OpenAPIParameter(name: "for"),
                        OpenAPIParameter(name: "until", schema: ["type": "integer"]),
                        OpenAPIParameter(name: "signature"),
                    ], output: .file), access: .keyOrLink, scope: Self.fileScope, file),
        ]
    }

    /// Lists the content that a customer may read. With `all=true`, also lists content that the
    /// customer may not read.
    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let environment = try RequestReader.environment(in: request)
        let isAll = request.uri.queryParameters["all"] == "true"
        let shelf = try await engine.content.all(
            of: id, app: holder.app, environment: environment, isServer: holder.kind == .secret)
        return try JSONResponse.ok(
            ContentList(
                items: shelf.filter { isAll || $0.reading.isOpen }.map { Content($0) }))
    }

    /// The scope that a secret key needs for a file.
    private static let fileScope = KeyScope.read

    /// Sends a content file to a client that has a link, or a key and the id of a customer who may
    /// read the file.
    @Sendable func file(_ request: Request, _ context: ServerContext) async throws -> Response {
        let publication = try Self.publication(in: context)
        do {
            let file = try await file(of: publication, request)
            switch file.place {
            case .folder(let folder):
                return try await sendFile(file.path, from: folder, request, context)
            case .elsewhere(let url, _): return Self.redirect(to: file, below: url)
            }
        } catch let failure as EngineFailure {
            throw ProblemError(failure, subject: .customer)
        }
    }

    private func file(of publication: PublicationID, _ request: Request) async throws -> ContentFile
    {
        let asked = request.uri.queryParameters
        if asked["signature"] != nil {
            guard let link = ContentLink(to: publication, asked),
                let file = try await engine.content.file(of: link)
            else { throw ProblemError(.contentLinkInvalid) }
            return file
        }
        let holder = try await server.authorization.caller(of: request, for: Self.fileScope)
        guard let id = asked["customer_id"] else {
            throw ProblemError(.contentCustomerMissing)
        }
        let customer = CustomerID(rawValue: String(id))
        try await server.authorization.requireProof(of: customer, request.headers, holder)
        return try await engine.content.file(
            of: publication, for: customer, app: holder.app,
            environment: try RequestReader.environment(in: request),
            isServer: holder.kind == .secret)
    }

    /// Sends one of our files with Hummingbird's file middleware, which handles ranges and
    /// validators.
    private func sendFile(
        _ path: String, from folder: String, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        guard !ContentFolder.isBehindLink(path, in: folder) else {
            throw ProblemError(
                .contentFileMissing,
                operatorDetail:
                    "\(folder)/\(path) is behind a symbolic link, which is not followed."
            )
        }
        let files = FileMiddleware<ServerContext, LocalFileSystem>(folder, logger: server.logger)
        var head = request.head
        head.path =
            "/"
            + path.split(separator: "/").map { Paths.percentEncoded(String($0)) }
            .joined(separator: "/")
        head.headerFields[.range] = head.headerFields[.range].flatMap {
            ContentRange.supported($0, of: "\(folder)/\(path)")
        }
        let found = Request(head: head, body: RequestBody(buffer: .init()))
        do {
            var response = try await files.handle(found, context: context) { _, _ in
                throw HTTPError(.notFound)
            }
            response.headers[.cacheControl] = "private"
            return response
        } catch let error as HTTPError where error.status == .notFound {
            throw ProblemError(
                .contentFileMissing, operatorDetail: "\(folder)/\(path) cannot be read.")
        }
    }

    private static func redirect(to file: ContentFile, below url: String) -> Response {
        let way = file.path.split(separator: "/").map { Paths.percentEncoded(String($0)) }
            .joined(separator: "/")
        var location = url.hasSuffix("/") ? url + way : "\(url)/\(way)"
        let path = URL(string: location)?.path(percentEncoded: true) ?? "/\(way)"
        if let signature = file.signature(of: path) {
            location += "?expires=\(file.until.milliseconds / 1000)&signature=\(signature)"
        }
        return Response(
            status: .found, headers: [.location: location, .cacheControl: "private, no-store"])
    }

    private static func publication(in context: ServerContext) throws -> PublicationID {
        PublicationID(
            rawValue: try RequestReader.parameter("content_id", called: "content id", in: context))
    }
}

extension ContentLink {
    /// The value of `for` in a link that was made for a server's secret key.
    private static let server = "server"

    /// Parses the parameters that ``path`` writes.
    fileprivate init?(to publication: PublicationID, _ asked: Parameters) {
        guard let app = asked["app"], let until = asked["until"].flatMap({ Int64($0) }),
            let environment = asked["environment"].flatMap({
                Ledger.Environment(rawValue: String($0))
            }),
            let signature = asked["signature"].flatMap({ Hexadecimal.bytes($0) })
        else { return nil }
        self.init(
            app: AppID(rawValue: String(app)), publication: publication, environment: environment,
            isServer: asked["for"].map { String($0) == Self.server } ?? false,
            until: Instant(milliseconds: until))
        self.signature = signature
    }

    fileprivate var path: String {
        Paths.contentFile(of: publication.rawValue)
            + "?app=\(app)&environment=\(environment.rawValue)"
            + (isServer ? "&for=\(Self.server)" : "")
            + "&until=\(until.milliseconds)&signature=\(Hexadecimal.text(signature))"
    }
}

extension Content {
    fileprivate init(_ entry: ShelfEntry) {
        self.init(
            contentID: entry.item.publication.id.rawValue, title: entry.item.title,
            publishedAt: Timestamp(entry.item.publication.publishedAt),
            readable: entry.reading.isOpen,
            reason: entry.isWithheld
                ? "The customer may read it, but sandbox purchases open no files."
                : entry.reading.reason.sentence,
            productIDs: entry.item.publication.products.map(\.rawValue).sorted(),
            url: entry.link?.path, urlUntil: entry.link.map { Timestamp($0.until) })
    }
}
