import Perennial
import PerennialTesting
import Testing

@Suite struct ScriptedAttributeTests {
    private let store = ScriptedStore(products: [])

    @Test func `a scripted store shows the attributes of each customer`() async throws {
        let perennial = store.perennial()
        try perennial.setAttributes(["team": "red", "bird": "owl"])
        try await perennial.identify("anna")
        #expect(store.attributes() == ["team": "red", "bird": "owl"])
        try perennial.setAttributes([.email: "anna@example.com", "bird": nil])
        await perennial.signOut()
        #expect(store.attributes().isEmpty)
        #expect(store.attributes(of: "anna") == ["team": "red", .email: "anna@example.com"])
    }

    @Test func `a scripted store refuses invalid attributes, even while the device is offline`() {
        store.isOffline(true)
        let perennial = store.perennial()
        let failure = #expect(throws: Perennial.Failure.self) {
            try perennial.setAttributes([.email: "anna"])
        }
        #expect(failure?.code == .attributeNotValid)
        #expect(throws: Never.self) { try perennial.setAttributes(["team": "red"]) }
        #expect(store.attributes() == ["team": "red"])
    }
}
