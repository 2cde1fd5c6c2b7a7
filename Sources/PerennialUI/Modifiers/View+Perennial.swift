#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension View {
        /// For all views and modifiers of this module inside. Put it on the app's root view, once,
        /// as its last modifier: what is outside of it finds no access, and ends the app.
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
