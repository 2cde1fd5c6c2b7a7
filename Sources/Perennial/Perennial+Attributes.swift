internal import PerennialContract

extension Perennial {
    /// Sets and deletes attributes of the present customer: what your app knows about the customer,
    /// such as a mail address. The other attributes stay. No attribute decides about access.
    ///
    ///     try perennial.setAttributes([.email: "anna@example.com", "team": "red", "bird": nil])
    ///
    /// The call saves the attributes on this device, and returns without waiting for the server.
    /// They are sent later, for the customer who was present at the call, even after a log-out. The
    /// server keeps the value that was set last. If the server refuses an attribute, the SDK drops
    /// it and reports it to the log and in ``diagnose()``.
    ///
    /// - Parameter attributes: the values by their names, each at most 500 characters. Nil, or an
    ///   empty text, deletes an attribute.
    /// - Throws: `Failure`: `attribute_not_valid` if a name or a value breaks a rule;
    ///   `attributes_full` if more than 200 changes, or 262,144 bytes, would wait for the server;
    ///   `customer_missing` if there is no customer; `attributes_not_saved` if this device cannot
    ///   save now. Then nothing of the call is saved.
    public func setAttributes(_ attributes: [AttributeName: String?]) throws(Failure) {
        let values = attributes.mapValues { $0.flatMap { $0.isEmpty ? nil : $0 } }
        for (name, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            guard let defect = AttributeRules.defect(of: name.rawValue, value) else { continue }
            throw Failure(.attributeNotValid, remedy: "The attribute \(name): \(defect)")
        }
        guard !values.isEmpty else { return }
        switch part {
        case .script(let script): script.setAttributes(values)
        case .engine(let engine): try engine.attributes.set(values)
        }
    }
}
