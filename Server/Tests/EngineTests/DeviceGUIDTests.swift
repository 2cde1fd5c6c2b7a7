import Testing

@testable import Engine

@Suite struct DeviceGUIDTests {
    private static let address: [UInt8] = [0x00, 0x1B, 0x63, 0x84, 0x45, 0xE6]

    @Test
    func `a device GUID in the form of a UUID or a network address is read in every spelling`() {
        for text in ["00:1B:63:84:45:E6", "001b638445e6", "00-1b-63-84-45-e6"] {
            #expect(DeviceGUID.bytes(of: text) == Self.address)
        }
        let uuid = DeviceGUID.bytes(of: "FF000000-0000-0000-0000-00000000000A")
        #expect(uuid == [255] + [UInt8](repeating: 0, count: 14) + [10])
    }

    @Test(arguments: ["", "00:1B:63:84:45", "00:1B:63:84:45:EG", "00:1B:63:84:45:É", "٠٠١ب"])
    func `only a UUID or a network address is read as a device GUID`(text: String) {
        #expect(DeviceGUID.bytes(of: text) == nil)
    }
}
