import Crypto
import Ledger
import Storage

/// One publication on a customer's shelf.
package struct ShelfEntry: Hashable, Sendable {
    package var item: ContentSettings.Entry
    package var reading: Reading
    /// A link to the publication's file. Nil if the customer may not read the publication, or if
    /// the publication has no file.
    package var link: ContentLink?
    /// Whether the link is nil because the customer may read the publication only because of
    /// sandbox purchases, which do not open files.
    package var isWithheld = false

    fileprivate var isDeliverable: Bool { reading.isOpen && item.file != nil }
}

/// Temporary permission to download one file, for anyone who has the link.
package struct ContentLink: Hashable, Sendable {
    package var app: AppID
    package var publication: PublicationID
    /// The environment of the purchases that opened the file.
    package var environment: Environment
    /// Whether the link was requested with a secret key.
    package var isServer: Bool
    package var until: Instant
    /// The HMAC-SHA256 of the other members.
    package var signature: [UInt8] = []

    package init(
        app: AppID, publication: PublicationID, environment: Environment, isServer: Bool,
        until: Instant
    ) {
        self.app = app
        self.publication = publication
        self.environment = environment
        self.isServer = isServer
        self.until = until
    }

    fileprivate func signed(by key: SymmetricKey) -> ContentLink {
        var link = self
        link.signature = Array(HMAC<SHA256>.authenticationCode(for: signedText, using: key))
        return link
    }

    /// The text that is signed. The text is unambiguous, because only the last part can contain a
    /// line break.
    private var signedText: [UInt8] {
        let asker = isServer ? "server" : "app"
        return Array(
            "\(app)\n\(environment.rawValue)\n\(asker)\n\(until.milliseconds)\n\(publication)"
                .utf8)
    }

    fileprivate func isSigned(by key: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: signedText, using: key)
    }
}

/// What a customer may read, and the files behind it.
package struct ContentService: Sendable {
    let context: Context

    /// All publications that have appeared, newest first. Each entry says whether the customer may
    /// read the publication, and why. Publications that the customer may read have a link if
    /// purchases of the environment open files.
    ///
    /// - Parameter isServer: whether the request has a secret key.
    package func all(
        of id: CustomerID, app appID: AppID, environment: Environment, isServer: Bool
    ) async throws(EngineFailure) -> [ShelfEntry] {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        guard !app.content.items.isEmpty else { return [] }
        let now = context.now()
        let shelf = try await context.read { tx in
            CustomerReader(tx).shelf(
                of: try CustomerReader(tx).state(
                    of: id, in: app, environment: environment, at: now), in: app)
        }
        guard app.content.place != nil, shelf.contains(where: \.isDeliverable) else { return shelf }
        guard app.content.opensFiles(in: environment, isServer: isServer) else {
            return shelf.map { entry in
                var withheld = entry
                withheld.isWithheld = entry.isDeliverable
                return withheld
            }
        }
        let key = try await linkKey(of: appID)
        let until = now + app.content.linkLifetime
        return shelf.map { entry in
            guard entry.isDeliverable else { return entry }
            var linked = entry
            linked.link = ContentLink(
                app: appID, publication: entry.reading.publication, environment: environment,
                isServer: isServer, until: until
            ).signed(by: key)
            return linked
        }
    }

    /// The file of a publication, for a customer who may read it.
    ///
    /// - Parameter isServer: whether the request has a secret key.
    package func file(
        of publication: PublicationID, for id: CustomerID, app appID: AppID,
        environment: Environment, isServer: Bool
    ) async throws(EngineFailure) -> ContentFile {
        let (app, _) = try context.app(appID)
        let now = context.now()
        let file = try app.file(of: publication, at: now)
        try id.requireValid()
        let found = try await context.read { tx in
            CustomerReader(tx).reader(
                of: try CustomerReader(tx).state(
                    of: id, in: app, environment: environment, at: now), in: app
            )
            .reading(of: publication, among: app.content.items.map(\.publication))
        }
        guard let found else { throw .unknownContent(publication, isListed: false) }
        guard found.isOpen else {
            throw .contentNotReadable(publication, reason: found.reason.sentence)
        }
        guard app.content.opensFiles(in: environment, isServer: isServer) else {
            throw .unavailableInSandbox(.file)
        }
        return file
    }

    /// The file that a link leads to. Returns nil if the link has expired, or if this server's key
    /// did not sign it.
    package func file(of link: ContentLink) async throws(EngineFailure) -> ContentFile? {
        let now = context.now()
        guard let app = context.apps[link.app], now < link.until,
            link.isSigned(by: try await linkKey(of: link.app)),
            app.content.opensFiles(in: link.environment, isServer: link.isServer)
        else { return nil }
        return try app.file(of: link.publication, at: now)
    }

    /// The key that signs links: the same for all servers of one database, created when first
    /// needed.
    private func linkKey(of app: AppID) async throws(EngineFailure) -> SymmetricKey {
        let name = "content links"
        if let known = try await context.read({ tx in try tx.secrets.find(name, of: app) }) {
            return SymmetricKey(data: known)
        }
        let now = context.now()
        let fresh = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        let kept = try await context.transaction { tx in
            try tx.secrets.add(fresh, name, of: app, at: now)
            return try tx.secrets.find(name, of: app)
        }
        guard let kept else { throw .storage("the secret for \(name) was not stored") }
        return SymmetricKey(data: kept)
    }
}

/// Where a file is, for the code that delivers it.
package struct ContentFile: Hashable, Sendable {
    package var place: ContentSettings.Place
    /// The path of the file, relative to the place.
    package var path: String
    /// When links to the file expire.
    package var until: Instant

    /// The signature of a path and its expiry in seconds, in hexadecimal. Returns nil if there is
    /// no secret.
    package func signature(of path: String) -> String? {
        guard case .elsewhere(_, let secret?) = place else { return nil }
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(path)\n\(until.milliseconds / 1000)".utf8),
            using: SymmetricKey(data: secret))
        return code.withUnsafeBytes { Hexadecimal.text($0) }
    }
}

extension AppSettings {
    fileprivate func file(
        of publication: PublicationID, at now: Instant
    ) throws(EngineFailure) -> ContentFile {
        let item = content.item(publication)
        guard let path = item?.file, let place = content.place else {
            throw .unknownContent(publication, isListed: item != nil)
        }
        return ContentFile(place: place, path: path, until: now + content.linkLifetime)
    }
}

extension Reading.Reason {
    /// The reason as one sentence for people.
    package var sentence: String {
        switch self {
        case .bought(let product): "Bought by itself: \(product)."
        case .heldAtPublication: "Published while the customer had access."
        case .currentAtStart(let start): "The newest issue when access began on \(start.minute)."
        case .earlier: "Access includes everything published before it began."
        case .lapsed: "Published while the customer had access, which has ended."
        case .notHeldAtPublication: "Not published while the customer had access."
        case .onlySold: "Sold only individually, and not bought."
        }
    }
}
