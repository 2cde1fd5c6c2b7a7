internal import Foundation
internal import PerennialContract

/// A reader of purchase requests. Only the newest reader gets requests.
final class RequestReader: Sendable {
    fileprivate let hasBegun = Locked(false)
}

// MARK: - Purchases that began outside the app

extension Engine {
    func add(_ request: Perennial.PurchaseRequest) {
        do { try requests.add(request, at: now) } catch {
            log.error("store", "A request could not be saved: \(error).")
        }
        resumeRequestReader()
    }

    /// Waits for the next request. Nil if a newer reader has begun, or if the engine has ended.
    func nextRequest(for reader: RequestReader) async -> Perennial.PurchaseRequest? {
        await open()
        if reader.hasBegun.withLock({ begun in
            defer { begun = true }
            return !begun
        }) {
            requestReader = reader
            resumeRequestReader()
        }
        while requestReader === reader, !isOver, !Task.isCancelled {
            do {
                if let request = try requests.removeFirst(at: now) { return request }
            } catch {
                log.error("store", "A request could not be removed: \(error).")
                return nil
            }
            await withCheckedContinuation { waiter in
                resumeRequestWaiter = { waiter.resume() }
            }
        }
        return nil
    }

    /// Makes the waiting reader check again.
    func resumeRequestReader() {
        resumeRequestWaiter?()
        resumeRequestWaiter = nil
    }
}
