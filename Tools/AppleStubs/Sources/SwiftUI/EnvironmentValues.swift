// Follows "EnvironmentValues" and the pages of its members in Apple's documentation of SwiftUI.

public import Foundation

public struct EnvironmentValues {
    public var locale: Locale {
        get { declarationOnly() }
        set { declarationOnly() }
    }
    public var calendar: Calendar {
        get { declarationOnly() }
        set { declarationOnly() }
    }
    public var scenePhase: ScenePhase {
        get { declarationOnly() }
        set { declarationOnly() }
    }
    public var openURL: OpenURLAction {
        get { declarationOnly() }
        set { declarationOnly() }
    }
}

public enum ScenePhase: Comparable, Hashable, Sendable {
    case background, inactive, active
}

@MainActor @preconcurrency
public struct OpenURLAction: Sendable {
    public func callAsFunction(_ url: URL) { declarationOnly() }
}
