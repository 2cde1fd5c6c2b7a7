#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// The access to one entitlement. When the access changes, the view is drawn again.
        ///
        ///     @Perennial.Entitled("pro") private var pro
        ///
        /// The property works only inside a view with the modifier ``SwiftUI/View/perennial(_:)``.
        @MainActor
        @propertyWrapper
        public struct Entitled: DynamicProperty {
            private let entitlement: EntitlementID
            @EnvironmentObject private var model: AccessModel

            public init(_ entitlement: EntitlementID) { self.entitlement = entitlement }

            public var wrappedValue: Access { model.perennial[entitlement] }
        }
    }
#endif
