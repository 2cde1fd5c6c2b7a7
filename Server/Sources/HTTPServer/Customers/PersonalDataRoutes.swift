import Engine
import HTTPBasics
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import Storage

/// The route that exports what is stored about a customer.
struct PersonalDataRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        var operation = OpenAPIOperation(
            .get, "/v1/customers/{id}/export", "exportCustomer",
            "What is stored about a customer, as a ZIP archive",
            description: """
                The archive has the answers about the customer in both environments, the events, \
                the documents as Apple signed them, and a signed list of these files. \
                docs/privacy.md describes them.
                """, output: .archive("The archive."))
        operation.isIndentable = false
        return [server.secret(for: .admin, operation, export)]
    }

    @Sendable func export(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        // The work that may fail because of the request is done before the response begins.
        let answers = try await answers(about: id, holder.app)
        let documents = try await documents(about: id, holder.app)
        guard answers.count + documents.count < ZipArchive.filesMax else {
            throw EngineFailure.limitExceeded(what: "files", limit: ZipArchive.filesMax)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/zip",
                .contentDisposition: "attachment; filename=\"customer-data.zip\"",
                .cacheControl: "no-store",
            ],
            body: ResponseBody { body in
                var archive = PersonalDataArchive()
                for (path, content) in answers {
                    try await body.write(try archive.add(path, content))
                }
                for document in documents {
                    let content = try await content(of: document, holder.app)
                    try await body.write(try archive.add(document.path, content))
                }
                let list = try await engine.tokens.sign(archive.files, about: id, of: holder.app)
                if let list {
                    try await body.write(try archive.add("files.jws", Array(list.utf8)))
                }
                try await body.write(archive.complete())
                try await body.finish(nil)
            })
    }

    // MARK: - Files

    private func answers(
        about id: CustomerID, _ app: AppID
    ) async throws -> [(path: String, content: [UInt8])] {
        var files = [("README.txt", Array(Self.readme.utf8))]
        for environment in Ledger.Environment.allCases {
            let folder = environment.rawValue
            let state = try await engine.customers.find(id, app: app, environment: environment)
            files.append(("\(folder)/customer.json", try Self.json(Customer(state))))
            let history = try await engine.customers.history(
                of: id, app: app, environment: environment)
            files.append(
                ("\(folder)/history.json", try Self.json(history.map(History.Line.init))))
            let consumption = try await engine.consumption.state(
                of: id, app: app, environment: environment)
            files.append(
                ("\(folder)/consumption.json", try Self.json(ConsumptionOverview(consumption))))
            for purchase in state.purchases where purchase.seats != nil {
                let name = Self.fileName(purchase.timeline.purchase.original.rawValue)
                files.append(
                    (
                        "\(folder)/seats-\(name).json",
                        try Self.json(try await group(of: purchase.timeline.purchase, app))
                    ))
            }
        }
        let attributes = try await engine.attributes.all(of: id, app: app)
        files.append(("attributes.json", try Self.json(AttributeList(attributes))))
        files.append(("events.json", try Self.json(try await events(of: id, app))))
        return files
    }

    /// The group of a subscription, with all of its claims.
    private func group(of purchase: PurchaseID, _ app: AppID) async throws -> [SeatGroup] {
        var pages: [SeatGroup] = []
        var position: ListCursor?
        repeat {
            let group = try await engine.seats.group(
                of: purchase, for: nil, app: app, after: position)
            pages.append(SeatGroup(group, isForApp: false))
            position = group.next
        } while position != nil
        return pages
    }

    private func events(of id: CustomerID, _ app: AppID) async throws -> [PerennialContract.Event] {
        var events: [PerennialContract.Event] = []
        var place: LogPosition?
        while true {
            let page = try await engine.events.page(
                of: app, customer: id, after: place, limit: EventService.eventsMax)
            events += page.events.map { PerennialContract.Event($0, in: page.epochs) }
            guard page.events.count == EventService.eventsMax else { return events }
            place = page.next
        }
    }

    /// The documents about a customer's own purchases in both environments, latest signature first.
    /// Omits purchases that somebody else shares or pays for, because their documents are also
    /// about that person.
    private func documents(
        about id: CustomerID, _ app: AppID
    ) async throws -> [ListedDocument] {
        var documents: [ListedDocument] = []
        for environment in Ledger.Environment.allCases {
            let state = try await engine.customers.find(id, app: app, environment: environment)
            let own = Set(state.purchases.filter(\.isOwn).map(\.timeline.purchase))
            var before: DocumentCursor?
            repeat {
                let page = try await engine.documents.page(
                    about: .customer(id, environment), of: app, before: before,
                    limit: DocumentService.documentsMax)
                documents += page.documents.filter { !own.isDisjoint(with: $0.purchases) }
                before = page.next
            } while before != nil
        }
        return documents
    }

    private func content(of document: ListedDocument, _ app: AppID) async throws -> [UInt8] {
        let found = try await engine.documents.find(
            DocumentID(bytes: document.head.id), of: app,
            DocumentHint(purchase: document.purchases.first))
        guard let found else { throw ProblemError(.documentUnknown) }
        return Array(found.text.utf8)
    }

    private static func json(_ value: some Encodable) throws -> [UInt8] {
        Array(buffer: try JSONResponse.json(value, isIndented: true))
    }

    /// An id as part of a file's name. Contains only the id's ASCII letters, digits, hyphens and
    /// underscores.
    private static func fileName(_ id: String) -> String {
        id.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }

    private static let readme = """
        What this server stores about one customer.

        production/ and sandbox/ have, for one environment of the App Store each:
          customer.json       what the customer has access to, and why; purchases, wallets, ids
          history.json        what happened, in sentences, with facts, grants, transfers,
                              debits and credits, and the last 500 events
          consumption.json    consent, and what Apple asked about purchases
          seats-….json        the members of a subscription that the customer pays for
          documents/          what Apple signed about the customer's own purchases, byte for byte;
                              receipts in Base64
        attributes.json       what the app has said about the customer, such as a mail address
        events.json           the changes that were reported to the app's server
        files.jws             the list of the files above with their SHA-256, signed by this server
                              (ES256). The keys are at /.well-known/jwks.json. It is missing if the
                              app issues no tokens.

        The archive does not have: documents about purchases that somebody else shares or pays for;
        the placement, SDK version and storefront that a purchase came from; the audit of what
        operators did; the bodies of webhook deliveries; and the names of deleted attributes.

        """
}

extension ListedDocument {
    /// The path of the document in the archive.
    fileprivate var path: String {
        "\(head.environment.rawValue)/documents/\(head.kind.rawValue)-"
            + DocumentID(bytes: head.id).rawValue
    }
}

/// An archive that is sent while it is made, so that it is never in memory as a whole.
private struct PersonalDataArchive {
    private var archive = ZipArchive()
    private(set) var files: [ExportedFile] = []

    /// Adds a file, and returns the next bytes of the archive.
    mutating func add(_ path: String, _ content: [UInt8]) throws -> ByteBuffer {
        let bytes = try archive.add(path, content)
        files.append(ExportedFile(path: path, content: content))
        return ByteBuffer(bytes: bytes)
    }

    /// Returns the last bytes of the archive.
    func complete() -> ByteBuffer { ByteBuffer(bytes: archive.complete()) }
}
