import Foundation
import Testing

@testable import Perennial

struct DeviceFolderTests {
    private let server = URL(string: "https://iap.example.com")!

    @Test func `each pair of server and key has separate folders`() {
        let names = [
            DeviceFolder.name(server: server, key: "pk_birds"),
            DeviceFolder.name(server: server, key: "pk_cats"),
            DeviceFolder.name(server: URL(string: "https://iap.example.org")!, key: "pk_birds"),
        ]
        #expect(Set(names).count == 3)
        #expect(names.allSatisfy { $0.count == 32 })
    }

    #if os(Linux)
        @Test func `the SDK's folders are in the system's places for state and caches`() {
            let name = DeviceFolder.name(server: server, key: "pk")
            func paths(_ variables: [String: String]) -> [String] {
                let folder = DeviceFolder(server: server, key: "pk") { variables[$0] }
                return [folder.lasting, folder.caches]
            }
            #expect(
                paths(["HOME": "/h/anna"]) == [
                    "/h/anna/.local/state/perennial/\(name)",
                    "/h/anna/.cache/perennial/\(name)",
                ])
            #expect(
                paths(["HOME": "/h/anna", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "c"]) == [
                    "/s/perennial/\(name)", "/h/anna/.cache/perennial/\(name)",
                ])
        }
    #endif

    @Test func `only the user can open the SDK's folders`() throws {
        let folder = try TemporaryFolder()
        try folder.device.create()
        for path in [folder.device.lasting, folder.device.caches] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
        }
        try folder.device.erase()
        try folder.device.erase()
        #expect(!FileManager.default.fileExists(atPath: folder.device.lasting))
    }
}
