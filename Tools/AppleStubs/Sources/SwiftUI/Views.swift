// After the pages of these views in Apple's documentation of SwiftUI.

public import Foundation

public struct LocalizedStringKey: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
}

public struct Text: Primitive, Sendable {
    nonisolated public init(verbatim content: String) {}
    @_disfavoredOverload
    nonisolated public init<S: StringProtocol>(_ content: S) {}
    nonisolated public init(_ key: LocalizedStringKey) {}
    nonisolated public func font(_ font: Font?) -> Text { self }
    nonisolated public func foregroundColor(_ color: Color?) -> Text { self }
}

public struct Image: Primitive {
    nonisolated public init(systemName: String) {}
}

public struct ButtonRole: Equatable, Sendable {
    public static let destructive = ButtonRole()
    public static let cancel = ButtonRole()
}

@MainActor @preconcurrency
public protocol PrimitiveButtonStyle {}

@MainActor @preconcurrency
public struct BorderlessButtonStyle: PrimitiveButtonStyle {}

extension PrimitiveButtonStyle where Self == BorderlessButtonStyle {
    @MainActor @preconcurrency public static var borderless: BorderlessButtonStyle {
        BorderlessButtonStyle()
    }
}

public struct KeyboardShortcut: Sendable, Hashable {
    public static let cancelAction = KeyboardShortcut()
}

@MainActor @preconcurrency
public struct Button<Label: View>: Primitive {
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
    public init(
        role: ButtonRole?, action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label
    ) {}
}

extension Button where Label == Text {
    public init(_ titleKey: LocalizedStringKey, action: @escaping @MainActor () -> Void) {}
    @_disfavoredOverload
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}
    public init(
        _ titleKey: LocalizedStringKey, role: ButtonRole?, action: @escaping @MainActor () -> Void
    ) {}
    @_disfavoredOverload
    public init<S: StringProtocol>(
        _ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void
    ) {}
}

@MainActor @preconcurrency
public struct Link<Label: View>: Primitive {
    public init(destination: URL, @ViewBuilder label: () -> Label) {}
}

public struct ProgressView<Label: View, CurrentValueLabel: View>: Primitive {
    nonisolated public init() where Label == EmptyView, CurrentValueLabel == EmptyView {}
}

public struct HorizontalAlignment: Equatable, Sendable {
    public static let leading = HorizontalAlignment()
    public static let center = HorizontalAlignment()
    public static let trailing = HorizontalAlignment()
}

public struct VerticalAlignment: Equatable, Sendable {
    public static let top = VerticalAlignment()
    public static let center = VerticalAlignment()
    public static let firstTextBaseline = VerticalAlignment()
}

public struct VStack<Content: View>: Primitive {
    nonisolated public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
        @ViewBuilder content: () -> Content
    ) {}
}

public struct HStack<Content: View>: Primitive {
    nonisolated public init(
        alignment: VerticalAlignment = .center, spacing: CGFloat? = nil,
        @ViewBuilder content: () -> Content
    ) {}
}

public struct Spacer: Primitive {
    nonisolated public init(minLength: CGFloat? = nil) {}
}

public struct ScrollView<Content: View>: Primitive {
    nonisolated public init(@ViewBuilder content: () -> Content) {}
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {}

extension ForEach: View where Content: View {
    public var body: Never { declarationOnly() }
}

extension ForEach where Content: View, Data.Element: Identifiable, ID == Data.Element.ID {
    nonisolated public init(
        _ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}

extension ForEach where Content: View {
    nonisolated public init(
        _ data: Data, id: KeyPath<Data.Element, ID>,
        @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}

public protocol TimelineSchedule {}

public struct EveryMinuteTimelineSchedule: TimelineSchedule, Sendable {}

extension TimelineSchedule where Self == EveryMinuteTimelineSchedule {
    public static var everyMinute: EveryMinuteTimelineSchedule { declarationOnly() }
}

public struct TimelineView<Schedule: TimelineSchedule, Content> {
    public struct Context {
        public let date: Date
    }
}

extension TimelineView: View where Content: View {
    public var body: Never { declarationOnly() }

    nonisolated public init(
        _ schedule: Schedule, @ViewBuilder content: @escaping (Context) -> Content
    ) {}
}

public struct Font: Hashable, Sendable {
    public static let headline = Font()
    public static let subheadline = Font()
    public static let footnote = Font()
    public static let caption = Font()
}

public struct Color: Hashable, Sendable {
    public static let primary = Color()
    public static let secondary = Color()
}
