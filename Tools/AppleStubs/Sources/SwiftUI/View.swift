// Follows "View", "ViewBuilder" and "ViewModifier" in Apple's documentation of SwiftUI, with the
// isolation of the iOS 18 SDK: the protocols are on the main actor, modifiers are nonisolated.

@_exported public import Combine

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

@MainActor @preconcurrency
public protocol ViewModifier {
    associatedtype Body: View
    typealias Content = _ViewModifier_Content<Self>
    @ViewBuilder @MainActor @preconcurrency func body(content: Content) -> Body
}

/// A view without a body of its own.
public protocol Primitive: View where Body == Never {}

extension Primitive {
    public var body: Never { declarationOnly() }
}

extension Never: View {
    public var body: Never { declarationOnly() }
}

public struct _ViewModifier_Content<Modifier: ViewModifier>: Primitive {}

public struct ModifiedContent<Content, Modifier> {}

extension ModifiedContent: View where Content: View, Modifier: ViewModifier {
    public var body: Never { declarationOnly() }
}

public struct EmptyView: Primitive {
    nonisolated public init() {}
}

extension Optional: View where Wrapped: View {
    public var body: Never { declarationOnly() }
}

public struct TupleView<T>: Primitive {}

public struct _ConditionalContent<TrueContent: View, FalseContent: View>: Primitive {}

public struct AnyView: Primitive {
    nonisolated public init(_ view: some View) {}
}

@resultBuilder
public struct ViewBuilder {
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> TupleView<(repeat each Content)> { declarationOnly() }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<TrueContent: View, FalseContent: View>(
        first: TrueContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { declarationOnly() }
    public static func buildEither<TrueContent: View, FalseContent: View>(
        second: FalseContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { declarationOnly() }
    public static func buildLimitedAvailability(_ content: any View) -> AnyView {
        declarationOnly()
    }
}

/// Nothing of a stub is ever called.
func declarationOnly() -> Never { preconditionFailure("a stub has declarations only") }

@MainActor @preconcurrency
public protocol Scene {
    associatedtype Body: Scene
    var body: Body { get }
}

extension Never: Scene {}

@MainActor @preconcurrency
public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    @MainActor @preconcurrency public static func main() { declarationOnly() }
}

public struct WindowGroup<Content: View>: Scene {
    nonisolated public init(@ViewBuilder content: () -> Content) {}
    public var body: Never { declarationOnly() }
}
