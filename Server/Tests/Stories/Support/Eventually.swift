import Testing

/// Waits for what others do in their own time; what does not come is told.
func eventually(within seconds: Double = 600, _ isSo: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
        if try await isSo() { return }
        try await Task.sleep(for: .milliseconds(20))
    }
    #expect(try await isSo(), "within \(seconds) seconds")
}
