// Follows "ObservableObject" and "Published" in Apple's documentation of Combine.

public protocol ObservableObject: AnyObject {
    associatedtype ObjectWillChangePublisher = ObservableObjectPublisher
    var objectWillChange: ObjectWillChangePublisher { get }
}

extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
    public var objectWillChange: ObservableObjectPublisher { declarationOnly() }
}

public final class ObservableObjectPublisher {
    public init() {}
    public func send() { declarationOnly() }
}

@available(*, unavailable)
extension ObservableObjectPublisher: Sendable {}

@propertyWrapper
public struct Published<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

/// Nothing of a stub is ever called.
func declarationOnly() -> Never { preconditionFailure("a stub has declarations only") }
