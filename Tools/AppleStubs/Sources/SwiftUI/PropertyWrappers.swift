// Follows "DynamicProperty" and the property wrappers of its name in Apple's documentation of
// SwiftUI.

public protocol DynamicProperty {
    mutating func update()
}

extension DynamicProperty {
    public mutating func update() { declarationOnly() }
}

@propertyWrapper
public struct State<Value>: DynamicProperty {
    public init(wrappedValue value: Value) {}
    public init(initialValue value: Value) {}
    public var wrappedValue: Value {
        get { declarationOnly() }
        nonmutating set { declarationOnly() }
    }
    public var projectedValue: Binding<Value> { declarationOnly() }
}

extension State: Sendable where Value: Sendable {}

@propertyWrapper
@dynamicMemberLookup
public struct Binding<Value>: DynamicProperty {
    @preconcurrency
    public init(
        get: @escaping @isolated(any) @Sendable () -> Value,
        set: @escaping @isolated(any) @Sendable (Value) -> Void
    ) {}
    public var wrappedValue: Value {
        get { declarationOnly() }
        nonmutating set { declarationOnly() }
    }
    public var projectedValue: Binding<Value> { self }
    public init(projectedValue: Binding<Value>) {}
    public static func constant(_ value: Value) -> Binding<Value> { declarationOnly() }
    public subscript<Subject>(
        dynamicMember keyPath: WritableKeyPath<Value, Subject>
    ) -> Binding<Subject> { declarationOnly() }
}

extension Binding: @unchecked Sendable where Value: Sendable {}

@propertyWrapper
public struct Environment<Value>: DynamicProperty {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { declarationOnly() }
}

extension Environment: Sendable where Value: Sendable {}

@MainActor @preconcurrency
@propertyWrapper
public struct StateObject<ObjectType: ObservableObject>: DynamicProperty {
    nonisolated public init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) {}
    @MainActor public var wrappedValue: ObjectType { declarationOnly() }
    @MainActor public var projectedValue: ObservedObject<ObjectType>.Wrapper { declarationOnly() }
}

@MainActor @preconcurrency
@propertyWrapper
public struct ObservedObject<ObjectType: ObservableObject>: DynamicProperty {
    @dynamicMemberLookup
    @MainActor @preconcurrency
    public struct Wrapper {
        public subscript<Subject>(
            dynamicMember keyPath: ReferenceWritableKeyPath<ObjectType, Subject>
        ) -> Binding<Subject> { declarationOnly() }
    }

    public init(wrappedValue: ObjectType) {}
    @MainActor public var wrappedValue: ObjectType { declarationOnly() }
    @MainActor public var projectedValue: Wrapper { declarationOnly() }
}

@MainActor @preconcurrency
@propertyWrapper
public struct EnvironmentObject<ObjectType: ObservableObject>: DynamicProperty {
    public init() {}
    @MainActor public var wrappedValue: ObjectType { declarationOnly() }
    @MainActor public var projectedValue: ObservedObject<ObjectType>.Wrapper { declarationOnly() }
}
