import Foundation
import Testing

@testable import Perennial

struct DeviceSecretsTests {
    private final class Keychain: @unchecked Sendable {
        private let lock = NSLock()
        private var bytes: [UInt8]?
        private var failure: FileFailure?

        func fail(with failure: FileFailure?) { lock.withLock { self.failure = failure } }

        var secrets: DeviceSecrets {
            DeviceSecrets(
                load: { () throws(FileFailure) in
                    let (bytes, failure) = self.lock.withLock { (self.bytes, self.failure) }
                    if let failure { throw failure }
                    return bytes
                },
                save: { bytes throws(FileFailure) in self.lock.withLock { self.bytes = bytes } },
                delete: { () throws(FileFailure) in self.lock.withLock { self.bytes = nil } })
        }
    }

    private func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }

    @Test func `the device's secrets are created once`() throws {
        let folder = try TemporaryFolder()
        let first = try DeviceSecrets(file: folder.device).values(random: random)
        let second = try DeviceSecrets(file: folder.device).values(random: random)
        #expect(first == second)
        let uuid = try #require(UUID(uuidString: String(first.anonymousID.dropFirst(5))))
        #expect(first.anonymousID == "anon_" + uuid.uuidString.lowercased())
        #expect(first.sealKey.count == 32)
        let path = folder.device.path(DeviceSecrets.fileName)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func `a reinstall keeps the anonymous id if there is a Keychain`() throws {
        let keychain = Keychain()
        let before = try keychain.secrets.values(random: random)
        // The reinstall deletes only the folders.
        let folder = try TemporaryFolder()
        try folder.device.erase()
        try folder.device.create()
        #expect(try keychain.secrets.values(random: random) == before)
    }

    @Test func `a reinstall without a Keychain makes a new anonymous id and a new seal`() throws {
        let folder = try TemporaryFolder()
        let file = StateFile(folder: folder.device, bundleID: "com.example.birds")
        let before = try DeviceSecrets(file: folder.device).values(random: random)
        try file.write(DeviceState(keys: KeyRing()), code: before.code)
        let state = try folder.bytes(file.path)
        try folder.device.erase()
        try folder.device.create()
        let after = try DeviceSecrets(file: folder.device).values(random: random)
        #expect(after.anonymousID != before.anonymousID)
        #expect(after.sealKey != before.sealKey)
        // A state from a backup proves nothing.
        try folder.write(state, to: file.path)
        guard case .found(let stored) = file.read(pinned: []) else {
            Issue.record("It should be found.")
            return
        }
        #expect(stored.proven(by: after.code) == nil)
        #expect(stored.proven(by: before.code) != nil)
    }

    @Test func `secrets that cannot be read at the moment are not replaced`() throws {
        let keychain = Keychain()
        let before = try keychain.secrets.values(random: random)
        let locked = FileFailure.system(call: "SecItemCopyMatching", code: -25308)
        keychain.fail(with: locked)
        #expect(throws: locked) { try keychain.secrets.values(random: random) }
        keychain.fail(with: nil)
        #expect(try keychain.secrets.values(random: random) == before)
    }

    @Test func `a new anonymous id does not change the seal`() throws {
        let secrets = Keychain().secrets
        let before = try secrets.values(random: random)
        let after = try secrets.renewAnonymousID(random: random)
        #expect(after.anonymousID != before.anonymousID)
        #expect(after.sealKey == before.sealKey)
        #expect(try secrets.values(random: random) == after)
        try secrets.erase()
        #expect(try secrets.values(random: random) != after)
    }
}
