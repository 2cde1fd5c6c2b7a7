#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension View {
        /// Gives all views and modifiers of this module inside this view access to the `Perennial`.
        /// Use it once, as the last modifier of the app's root view. A view of this module that is
        /// not inside this view stops the app.
        public func perennial(_ perennial: Perennial) -> some View {
            modifier(AccessModifier(perennial))
        }
    }

    private struct AccessModifier: ViewModifier {
        @StateObject private var model: AccessModel

        init(_ perennial: Perennial) {
            _model = StateObject(wrappedValue: AccessModel(perennial))
        }

        func body(content: Content) -> some View {
            content
                .environmentObject(model)
                .task { await model.follow() }
                .task { await model.followStorefront() }
        }
    }
#endif
