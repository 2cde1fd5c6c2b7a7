// After the pages of these modifiers in Apple's documentation of SwiftUI. Closures have the
// isolation of the iOS 18 SDK.

extension View {
    nonisolated public func modifier<T: ViewModifier>(_ modifier: T) -> ModifiedContent<Self, T> {
        declarationOnly()
    }

    nonisolated public func environmentObject(_ object: some ObservableObject) -> some View {
        self
    }

    nonisolated public func onChange<V: Equatable>(
        of value: V, perform action: @escaping (V) -> Void
    ) -> some View { self }

    nonisolated public func task(
        priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
    ) -> some View { self }

    nonisolated public func task(
        id value: some Equatable, priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
    ) -> some View { self }

    nonisolated public func sheet(
        isPresented: Binding<Bool>, onDismiss: (() -> Void)? = nil,
        @ViewBuilder content: @escaping () -> some View
    ) -> some View { self }

    nonisolated public func alert(
        _ title: Text, isPresented: Binding<Bool>, @ViewBuilder actions: () -> some View
    ) -> some View { self }

    nonisolated public func alert(
        _ title: Text, isPresented: Binding<Bool>, @ViewBuilder actions: () -> some View,
        @ViewBuilder message: () -> some View
    ) -> some View { self }

    nonisolated public func onAppear(perform action: (() -> Void)? = nil) -> some View { self }
    nonisolated public func buttonStyle(_ style: some PrimitiveButtonStyle) -> some View { self }
    nonisolated public func keyboardShortcut(_ shortcut: KeyboardShortcut) -> some View { self }
    nonisolated public func disabled(_ disabled: Bool) -> some View { self }
    nonisolated public func padding() -> some View { self }
    nonisolated public func textSelection<S: TextSelectability>(_ selectability: S) -> some View {
        self
    }
    nonisolated public func font(_ font: Font?) -> some View { self }
    nonisolated public func foregroundColor(_ color: Color?) -> some View { self }
    nonisolated public func accessibilityLabel(_ label: Text) -> some View { self }
}

public protocol TextSelectability {
    static var allowsSelection: Bool { get }
}

public struct EnabledTextSelectability: TextSelectability {
    public static let allowsSelection = true
}

extension TextSelectability where Self == EnabledTextSelectability {
    public static var enabled: EnabledTextSelectability { EnabledTextSelectability() }
}
