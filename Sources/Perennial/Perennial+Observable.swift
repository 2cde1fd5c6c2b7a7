public import Observation

#if canImport(Combine)
    public import Combine
#endif

/// Whoever reads ``snapshot`` or an entitlement is told of a change, on the main actor: a view
/// redraws.
@available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
extension Perennial: Observable {}

#if canImport(Combine)
    /// For views before iOS 17: `@ObservedObject` and `@EnvironmentObject`.
    extension Perennial: ObservableObject {
        /// Fires on the main actor, when ``snapshot`` is the new one already.
        public var objectWillChange: ObservableObjectPublisher { publisher.objectWillChange }
    }
#endif
