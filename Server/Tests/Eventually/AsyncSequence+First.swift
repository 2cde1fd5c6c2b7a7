extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Waits for the first element.
    ///
    /// - Parameter what: what the test waits for; the error names it.
    /// - Throws: ``NeverCame`` if the sequence ends or the time is over before the first element.
    package func first(
        _ what: String, within seconds: Double = waitSecondsMax
    ) async throws -> Element {
        try await withThrowingTaskGroup(of: Element?.self) { group in
            group.addTask {
                for try await element in self { return element }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: .seconds(seconds))
                return nil
            }
            defer { group.cancelAll() }
            guard let element = try await group.next() ?? nil else {
                throw NeverCame(what, within: seconds)
            }
            return element
        }
    }
}
