public import Perennial

extension ScriptedStore {
    /// The attributes that the app has set for a customer, also while the device was offline. If
    /// `customer` is nil, the attributes of the present customer.
    public func attributes(
        of customer: String? = nil
    ) -> [Perennial.AttributeName: String] {
        state.withLock { state in
            state.books.attributes[customer ?? state.books.customer.id] ?? [:]
        }
    }

    package func setAttributes(_ attributes: [Perennial.AttributeName: String?]) {
        state.withLock { state in
            for (name, value) in attributes {
                state.books.attributes[state.books.customer.id, default: [:]][name] = value
            }
        }
    }
}
