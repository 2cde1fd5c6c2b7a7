import Ledger

/// What an app publishes, as the configuration describes it.
package struct ContentSettings: Hashable, Sendable {
    package var items: [Entry]
    package var rules: PublicationRules
    /// Nil where the app delivers its files by itself.
    package var place: Place?
    /// How long a link to a file holds.
    package var linkLifetime: Duration
    /// Whether purchases of the sandbox, which cost nothing, open files to apps.
    package var opensSandbox: Bool

    package static let linkLifetimeDefault = Duration.seconds(300)
    package static let none = ContentSettings(items: [])

    package struct Entry: Hashable, Sendable {
        package var publication: Publication
        package var title: String
        /// Relative to the place; nil where it has none.
        package var file: String?

        package init(_ publication: Publication, title: String, file: String? = nil) {
            self.publication = publication
            self.title = title
            self.file = file
        }
    }

    /// Where files lie.
    package enum Place: Hashable, Sendable {
        /// Of this machine.
        case folder(String)
        /// Below an address of the owner's, which is told nothing but the way; with a secret each
        /// link is signed and ends.
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
    /// - Parameter isServer: it was asked for with a secret key.
    func opensFiles(in environment: Environment, isServer: Bool) -> Bool {
        environment == .production || isServer || opensSandbox
    }

    /// Whether it is there, and which.
    func item(_ id: PublicationID) -> Entry? { items.first { $0.publication.id == id } }
}
