import AppStoreFormats
import Crypto
import Engine
import Foundation
import HTTPServer
import Ledger
import Rehearsal

/// The files of a rehearsal: every difference as CSV, and beside it the signed summary.
///
/// The summary is a compact JWS, signed with the app's key for tokens. It contains the SHA-256 of
/// the CSV, so that nobody can change either file unnoticed.
struct RehearsalReport {
    static let summarySuffix = ".signed"
    private static let header = CSVText.text([RehearsalDifference.columns])
    /// The maximum size of a signed summary that is read, in bytes.
    private static let summaryBytesMax = 65_536
    private static let folderRemedy =
        "Name another with --report, in a folder where this user may write."

    let csv: URL
    var summary: URL { URL(fileURLWithPath: csv.path + Self.summarySuffix) }

    /// - Throws: ``StartFailure`` if the file exists and is not the report of a rehearsal, or if
    ///   its folder cannot be written to.
    init(at path: String) throws(StartFailure) {
        csv = URL(fileURLWithPath: path)
        let folder = csv.deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder),
            isFolder.boolValue, FileManager.default.isWritableFile(atPath: folder)
        else {
            throw StartFailure(
                "The report \(path) cannot be written: \(folder) is no folder where this user may "
                    + "write.",
                remedy: Self.folderRemedy)
        }
        guard let file = try? FileHandle(forReadingFrom: csv) else { return }
        defer { try? file.close() }
        let first = try? file.read(upToCount: Self.header.utf8.count)
        guard first == Data(Self.header.utf8) else {
            throw StartFailure(
                "\(path) exists already and is not the report of a rehearsal.",
                remedy: "Name another with --report, or move this file away.")
        }
    }

    /// Writes both files. A file is replaced as a whole, or not at all. Only this user can read
    /// them, because the report contains ids.
    ///
    /// - Parameter project: RevenueCat's id of the project.
    /// - Parameter sign: returns the signed text of claims.
    /// - Returns: the signed summary.
    /// - Throws: ``StartFailure`` if a file cannot be written. Rethrows the errors of `sign`.
    @discardableResult
    func write(
        _ result: RehearsalResult, project: String, sign: (JSON) async throws -> String
    ) async throws -> String {
        let text = CSVText.text([RehearsalDifference.columns] + result.findings.map(\.fields))
        let digest = Hexadecimal.text(Array(SHA256.hash(data: Data(text.utf8))))
        let signed = try await sign(result.claims(project: project, report: digest))
        do {
            try Disk.replace(csv.path, with: Data(text.utf8))
            try Disk.replace(summary.path, with: Data((signed + "\n").utf8))
        } catch {
            let reason = (error as? StartFailure)?.message ?? error.localizedDescription
            throw StartFailure(
                "The report \(csv.path) cannot be written: \(reason)",
                remedy: Self.folderRemedy)
        }
        return signed
    }

    // MARK: - Verification

    /// Reads a signed summary, and checks that the report beside it has not changed since the
    /// signature.
    ///
    /// - Parameter verify: returns the claims if the signature is valid.
    /// - Returns: the lines to print, and whether all customers were compared and no difference is
    ///   unexplained.
    /// - Throws: ``StartFailure`` if the signature is not valid, or if the report was changed.
    static func verify(
        _ path: String, verify: (String) async throws -> JSON?
    ) async throws -> (lines: [String], isClean: Bool) {
        guard let text = Disk.text(of: path, bytesMax: summaryBytesMax) else {
            throw StartFailure(
                "\(path) cannot be read.",
                remedy: "Name the file that ends with \(summarySuffix).")
        }
        let signed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard let claims = try await verify(signed) else {
            throw StartFailure(
                "\(path) is not a rehearsal that this server has signed.",
                remedy: "Name the file that ends with \(summarySuffix), unchanged, and the "
                    + "database of the server that wrote it.")
        }
        let lines = RehearsalText.lines(of: claims)
        let isClean = claims["unexplained"]?.integer == 0 && claims["complete"] == .bool(true)
        guard path.hasSuffix(summarySuffix) else {
            let line =
                "The signature is valid. The report was not checked, because the name \(path) "
                + "does not end with \(summarySuffix)."
            return (lines + [line], isClean)
        }
        let csv = String(path.dropLast(summarySuffix.count))
        guard Disk.exists(csv) else {
            return (lines + ["\(csv) is not here, so it was not checked."], false)
        }
        guard let digest = try? FileDigest.sha256(of: csv) else {
            throw StartFailure("\(csv) cannot be read.", remedy: "Let this user read it.")
        }
        guard digest == claims["report_sha256"]?.string else {
            throw StartFailure(
                "The summary is genuine, but \(csv) was changed after it was signed.",
                remedy: "Use the report as it was written, or rehearse again.")
        }
        return (lines + ["The signature is valid, and \(csv) is unchanged."], isClean)
    }
}

extension RehearsalResult {
    /// The claims that are signed.
    func claims(project: String, report digest: String) -> JSON {
        let counts = RehearsalCause.allCases.map {
            JSON.Member($0.rawValue, .integer(Int64(summary.causes[$0] ?? 0)))
        }
        return [
            "aud": .string("\(app)/rehearsal"),
            "iat": .integer(end.milliseconds / 1000),
            "environment": .string(environment.rawValue),
            "revenuecat_project": .string(project),
            "from": .string(begin.description), "to": .string(end.description),
            "customers": .integer(Int64(summary.customers)),
            "entitlements": .integer(Int64(summary.entitlements)),
            "differences": .integer(Int64(summary.differences)),
            "unexplained": .integer(Int64(summary.unexplained)),
            "complete": .bool(isComplete),
            "causes": .object(counts),
            "loses": .integer(Int64(summary.effects[.loses] ?? 0)),
            "gains": .integer(Int64(summary.effects[.gains] ?? 0)),
            "late_seconds": .integer(rules.lateness.components.seconds),
            "tolerance_seconds": .integer(rules.tolerance.components.seconds),
            "report_sha256": .string(digest),
        ]
    }
}
