public import Foundation

extension Perennial {
    /// An issue, or another item that was published once.
    public struct Publication: Hashable, Sendable, Identifiable {
        public var id: String
        public var title: String
        public var published: Date
        public var isReadable: Bool
        /// Why the customer may or may not read it, in one sentence.
        public var reason: String
        /// Products that each give access to it.
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
