#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension View {
        /// Gives access to the `Perennial` to all views and modifiers of this module inside this
        /// view. Use the modifier once, as the last modifier of the app's root view. A view of this
        /// module outside of that root view stops the app.
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
