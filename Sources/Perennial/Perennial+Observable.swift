public import Observation

#if canImport(Combine)
    public import Combine
#endif

/// A view that reads ``snapshot`` or an entitlement is notified of each change on the main actor,
/// and is drawn again.
@available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
extension Perennial: Observable {}

#if canImport(Combine)
    /// Lets views before iOS 17 observe changes: with `@ObservedObject` and `@EnvironmentObject`.
    extension Perennial: ObservableObject {
        /// Fires on the main actor, after ``snapshot`` has changed.
        public var objectWillChange: ObservableObjectPublisher { publisher.objectWillChange }
    }
#endif
