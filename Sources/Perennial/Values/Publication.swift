public import Foundation

extension Perennial {
    /// An item that is published once, such as an issue.
    public struct Publication: Hashable, Sendable, Identifiable {
        public var id: String
        public var title: String
        public var published: Date
        public var isReadable: Bool
        /// Why the customer may or may not read the publication, in one sentence.
        public var reason: String
        /// The products that each give access to the publication.
        public var products: [ProductID]

        public init(
            id: String, title: String, published: Date, isReadable: Bool, reason: String,
            products: [ProductID] = []
        ) {
            self.id = id
            self.title = title
            self.published = published
            self.isReadable = isReadable
            self.reason = reason
            self.products = products
        }
    }
}
