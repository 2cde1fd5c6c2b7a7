import Engine
import Testing

@Suite struct RenewalExtensionTests {
    @Test func `only a repeated extension request with the same key gets the same request id`() {
        let id = RenewalExtensionService.requestID("k", for: "1", of: "anna", days: 10)
        #expect(id == RenewalExtensionService.requestID("k", for: "1", of: "anna", days: 10))
        let others = [
            RenewalExtensionService.requestID("l", for: "1", of: "anna", days: 10),
            RenewalExtensionService.requestID("k", for: "2", of: "anna", days: 10),
            RenewalExtensionService.requestID("k", for: "1", of: "ben", days: 10),
            RenewalExtensionService.requestID("k", for: "1", of: "anna", days: 11),
            RenewalExtensionService.requestID(nil, for: "1", of: "anna", days: 10),
            RenewalExtensionService.requestID(nil, for: "1", of: "anna", days: 10),
        ]
        #expect(Set(others + [id]).count == others.count + 1)
    }
}
