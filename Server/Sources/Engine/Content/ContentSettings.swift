import Ledger

/// What an app publishes, as configured.
package struct ContentSettings: Hashable, Sendable {
    package var items: [Entry]
    package var rules: PublicationRules
    /// Where the files are. Nil if the app delivers its files itself.
    package var place: Place?
    /// How long a link to a file is valid.
    package var linkLifetime: Duration
    /// Whether sandbox purchases, which cost nothing, open files to apps.
    package var opensSandbox: Bool

    package static let linkLifetimeDefault = Duration.seconds(300)
    package static let none = ContentSettings(items: [])

    package struct Entry: Hashable, Sendable {
        package var publication: Publication
        package var title: String
        /// The path of the file, relative to the place. Nil if the publication has no file.
        package var file: String?

        package init(_ publication: Publication, title: String, file: String? = nil) {
            self.publication = publication
            self.title = title
            self.file = file
        }
    }

    /// Where the files are.
    package enum Place: Hashable, Sendable {
        /// A folder on this machine.
        case folder(String)
        /// Files below a URL of the operator, whose server gets only the path. If there is a
        /// secret, each link is signed and expires.
        case elsewhere(url: String, secret: [UInt8]?)
    }

    package init(
        items: [Entry], rules: PublicationRules = PublicationRules(), place: Place? = nil,
        linkLifetime: Duration = Self.linkLifetimeDefault, opensSandbox: Bool = false
    ) {
        self.items = items
        self.rules = rules
        self.place = place
        self.linkLifetime = linkLifetime
        self.opensSandbox = opensSandbox
    }

    /// Whether purchases of an environment open files.
    ///
    /// - Parameter isServer: whether the request has a secret key.
    func opensFiles(in environment: Environment, isServer: Bool) -> Bool {
        environment == .production || isServer || opensSandbox
    }

    /// The publication's entry. Returns nil if the publication is not configured.
    func item(_ id: PublicationID) -> Entry? { items.first { $0.publication.id == id } }
}
