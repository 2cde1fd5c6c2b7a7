import Foundation
import PerennialContract
import Testing

@testable import Perennial

@Suite struct AttributeFileTests {
    private let folder: TemporaryFolder
    private let noon = PendingAttribute.Moment(
        Timestamp(milliseconds: 1_798_027_200_000), monotonic: 1_000, bootID: "boot")

    init() throws { folder = try TemporaryFolder() }

    /// The file as each process opens it.
    private var file: AttributeFile { AttributeFile(folder: folder.device) }

    private func set(
        _ values: [(name: String, value: String?)], for customer: String? = "anna",
        isAnonymous: Bool = false
    ) throws {
        try file.change {
            $0.set(values, for: customer, isAnonymous: isAnonymous, at: noon)
        }
    }

    /// The waiting changes as text, such as `anna: team=red`.
    private func lines() throws -> [String] {
        try file.read().changes.map {
            "\($0.customerID ?? "?"): \($0.name)=\($0.value ?? "nil")"
        }
    }

    // MARK: - Changes

    @Test
    func `a later change of the same attribute of the same customer replaces the earlier one`()
        throws
    {
        try set([("team", "red"), ("bird", "owl")])
        try set([("team", "blue")], for: "ben")
        try set([("team", nil)])
        #expect(try lines() == ["anna: bird=owl", "ben: team=blue", "anna: team=nil"])
    }

    @Test func `the next process reads all values of a change`() throws {
        try set([("team", "größe \u{0}"), ("bird", nil)], for: nil, isAnonymous: true)
        let read = try file.read().changes
        #expect(
            read.map(\.value) == ["größe \u{0}", nil] && read.allSatisfy { $0.setAt == noon })
        #expect(read.allSatisfy { $0.customerID == nil })
    }

    @Test func `if a change is replaced while the old one is being sent, the new one stays`() throws
    {
        try set([("team", "red"), ("bird", "owl")])
        let sent = try file.read().changes
        try set([("team", "blue")])
        try file.change { $0.remove(sent) }
        #expect(try lines() == ["anna: team=blue"])
    }

    @Test func `if no change waits, the attribute file does not exist`() throws {
        try set([("team", "red")])
        try file.change { $0.forget("anna") }
        let path = folder.device.path(AttributeFile.name)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a file of the previous version is read, and the next change replaces it`() throws {
        var writer = ByteWriter()
        writer.write("anon_1" as String?)
        writer.write([("team", "red" as String?), ("bird", nil)]) { writer, change in
            writer.write("anna" as String?)
            writer.write(change.0)
            writer.write(change.1)
            writer.write(noon.time.milliseconds)
            writer.write(noon.monotonic)
            writer.write(noon.bootID)
        }
        let earlier = folder.device.path("attributes-1")
        try folder.write(SealedContent(writer.bytes, version: 1, code: nil).file, to: earlier)
        #expect(try lines() == ["anna: team=red", "anna: bird=nil"])
        #expect(try file.read().contains("anon_1"))
        #expect(try file.read().changes.allSatisfy { $0.setAt == noon && $0.after == nil })
        try set([("bird", "owl")])
        #expect(try lines() == ["anna: team=red", "anna: bird=owl"])
        #expect(!FileManager.default.fileExists(atPath: earlier))
    }

    @Test func `the first write of attributes creates the folder`() throws {
        try folder.device.erase()
        #expect(try lines() == [])
        try set([("team", "red")])
        #expect(try lines() == ["anna: team=red"])
    }

    // MARK: - Customers

    @Test
    func
        `changes made before the anonymous id exists get this id, or are dropped if there is none`()
        throws
    {
        try set([("team", "red"), ("bird", "owl")], for: nil, isAnonymous: true)
        try set([("team", "blue")], for: "anon_1", isAnonymous: true)
        try file.change { $0.assignUnnamed(to: "anon_1") }
        #expect(try lines() == ["anon_1: bird=owl", "anon_1: team=blue"])
        #expect(try file.read().contains("anon_1"))
        try set([("team", "red")], for: nil, isAnonymous: true)
        try file.change { $0.assignUnnamed(to: nil) }
        #expect(try lines() == ["anon_1: bird=owl", "anon_1: team=blue"])
    }

    @Test func `after a merge, the person's own changes override those of the anonymous customer`()
        throws
    {
        try set([("team", "red"), ("bird", "owl")], for: "anon_1", isAnonymous: true)
        try set([("team", "blue")])
        try file.change { $0.move(from: "anon_1", to: "anna") }
        #expect(try lines() == ["anna: bird=owl", "anna: team=blue"])
    }

    @Test func `the file remembers who last had attributes, even after all of them were sent`()
        throws
    {
        try set([("team", "red")], for: "anon_1", isAnonymous: true)
        try file.change { $0.remove($0.changes) }
        #expect(try file.read().contains("anon_1"))
        try set([("team", "red")])
        #expect(try file.read().contains("anon_1") && !file.read().contains("anon_2"))
        try file.change { $0.forget("anon_1") }
        #expect(try !file.read().contains("anon_1") && file.read().contains("anna"))
    }

    // MARK: - Limits and faults

    @Test func `too many changes are refused, and the waiting changes stay`() throws {
        let many = (0..<AttributeFile.waitingMax).map { (name: "a\($0)", value: "x" as String?) }
        try set(many)
        #expect(throws: FileFailure.tooLarge) { try set([("more", "x")]) }
        #expect(throws: FileFailure.tooLarge) { try set([("more", nil)], for: "ben") }
        try set([("a0", "y")])
        #expect(try file.read().changes.count == AttributeFile.waitingMax)
    }

    @Test func `too many bytes are refused, and the waiting changes stay`() throws {
        let long = String(repeating: "😀", count: 500)
        let fitting = AttributeFile.bytesMax / 2_100
        try set((0..<fitting).map { (name: "a\($0)", value: long as String?) })
        #expect(throws: FileFailure.tooLarge) {
            try set((0..<20).map { (name: "b\($0)", value: long as String?) })
        }
        #expect(try file.read().changes.count == fitting)
    }

    @Test func `a damaged attribute file counts as empty, and the next change replaces it`() throws
    {
        let path = folder.device.path(AttributeFile.name)
        try set([("team", "red")])
        var bytes = try folder.bytes(path)
        bytes[bytes.count / 2] ^= 1
        try folder.write(bytes, to: path)
        #expect(try lines() == [])
        try set([("bird", "owl")])
        #expect(try lines() == ["anna: bird=owl"])
    }

    @Test func `changes by several threads at once are all saved`() async throws {
        let device = folder.device
        let noon = noon
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try AttributeFile(folder: device).change {
                        $0.set(
                            [("a\(number)", "x")], for: "anna", isAnonymous: false, at: noon)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try file.read().changes.count == 8)
    }

    // MARK: - Times

    @Test func `a change's time is counted back from the present, unless the device was restarted`()
    {
        let change = PendingAttribute(customerID: "anna", name: "a", value: "x", setAt: noon)
        let right: Int64 = 1_900_000_000_000
        let rows: [(Int64, String, Int64)] = [
            (61_000, "boot", right - 60_000), (1_000, "boot", right), (0, "boot", right),
            (61_000, "another", noon.time.milliseconds), (61_000, "", noon.time.milliseconds),
        ]
        for (monotonic, bootID, expected) in rows {
            let now = PendingAttribute.Moment(
                Timestamp(milliseconds: right), monotonic: monotonic, bootID: bootID)
            #expect(change.time(asOf: now).milliseconds == expected)
        }
    }
}
