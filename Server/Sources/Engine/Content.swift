import Crypto
import Ledger
import Storage

/// One publication on a customer's shelf.
package struct ShelfEntry: Hashable, Sendable {
    package var item: ContentSettings.Entry
    package var reading: Reading
    /// Nil where it may not be read, or has no file.
    package var link: ContentLink?
    /// It may be read by purchases of the sandbox, for which no file is given out.
    package var isWithheld = false

    fileprivate var isDeliverable: Bool { reading.isOpen && item.file != nil }
}

/// A right to one file for a while, for whoever holds it.
package struct ContentLink: Hashable, Sendable {
    package var app: AppID
    package var publication: PublicationID
    /// Of the purchases that opened it.
    package var environment: Environment
    /// It was asked for with a secret key.
    package var isServer: Bool
    package var until: Instant
    /// HMAC-SHA256 over the others.
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

    /// Unambiguous: only the last of them can hold a line break.
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

extension Engine {
    /// What has come out, the newest first, and whether a customer may read it, and why. What may
    /// be read has a link, where purchases of the environment open files.
    ///
    /// - Parameter isServer: it is asked for with a secret key.
    package func content(
        of id: CustomerID, app appID: AppID, environment: Environment, isServer: Bool
    ) async throws(EngineFailure) -> [ShelfEntry] {
        let (app, _) = try app(appID)
        try id.requireMeaning()
        guard !app.content.items.isEmpty else { return [] }
        let now = now()
        let shelf = try await reading { tx in
            tx.shelf(of: try tx.state(of: id, in: app, environment: environment, at: now), in: app)
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

    /// The file of a publication for a customer who may read it.
    ///
    /// - Parameter isServer: it is asked for with a secret key.
    package func file(
        of publication: PublicationID, for id: CustomerID, app appID: AppID,
        environment: Environment, isServer: Bool
    ) async throws(EngineFailure) -> ContentFile {
        let (app, _) = try app(appID)
        let now = now()
        let file = try app.file(of: publication, at: now)
        try id.requireMeaning()
        let found = try await reading { tx in
            tx.reader(of: try tx.state(of: id, in: app, environment: environment, at: now), in: app)
                .reading(of: publication, among: app.content.items.map(\.publication))
        }
        guard let found else { throw .unknownContent(publication, isListed: false) }
        guard found.isOpen else {
            throw .contentNotOpen(publication, reason: found.reason.sentence)
        }
        guard app.content.opensFiles(in: environment, isServer: isServer) else {
            throw .notForSandbox(.file)
        }
        return file
    }

    /// The file that a link leads to; nil for a link that is over, or none of ours.
    package func file(of link: ContentLink) async throws(EngineFailure) -> ContentFile? {
        let now = now()
        guard let app = apps[link.app], now < link.until,
            link.isSigned(by: try await linkKey(of: link.app)),
            app.content.opensFiles(in: link.environment, isServer: link.isServer)
        else { return nil }
        return try app.file(of: link.publication, at: now)
    }

    /// The same for all servers of one database, made when it is first needed.
    private func linkKey(of app: AppID) async throws(EngineFailure) -> SymmetricKey {
        let name = "content links"
        if let known = try await reading({ tx in try tx.secret(name, of: app) }) {
            return SymmetricKey(data: known)
        }
        let now = now()
        let fresh = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        let kept = try await transaction { tx in
            try tx.addSecret(fresh, name, of: app, at: now)
            return try tx.secret(name, of: app)
        }
        guard let kept else { throw .storage("the secret for \(name) is not there when kept") }
        return SymmetricKey(data: kept)
    }
}

/// Where a file is, for whoever delivers it.
package struct ContentFile: Hashable, Sendable {
    package var place: ContentSettings.Place
    /// Relative to the place.
    package var path: String
    /// Until when a link to it may hold.
    package var until: Instant

    /// Of a way to it and the second at which it ends, in hexadecimal; nil where there is no
    /// secret.
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

extension StoreTransaction {
    func shelf(of state: CustomerState, in app: AppSettings) -> [ShelfEntry] {
        let reader = reader(of: state, in: app)
        let items = Dictionary(
            app.content.items.map { ($0.publication.id, $0) },
            uniquingKeysWith: { first, _ in first })
        return reader.readings(of: app.content.items.map(\.publication)).compactMap { reading in
            items[reading.publication].map { ShelfEntry(item: $0, reading: reading) }
        }
    }

    fileprivate func reader(of state: CustomerState, in app: AppSettings) -> Reader {
        Reader(
            of: state.purchases.map(\.timeline), state.terms, state.grants, app.entitlements,
            at: state.asOf, access: app.rules, rules: app.content.rules)
    }
}

extension Reading.Reason {
    /// One sentence for a person.
    package var sentence: String {
        switch self {
        case .bought(let product): "Bought by itself: \(product)."
        case .publishedMeanwhile: "Published while they had the right to it."
        case .currentAtStart(let start): "The newest when their right began on \(start.minute)."
        case .earlier: "Their right opens everything published before it, too."
        case .lapsed: "Published while they had the right to it, which they have no more."
        case .notMeanwhile: "Not published while they had the right to it."
        case .onlySold: "Only sold by itself, and not bought."
        }
    }
}
