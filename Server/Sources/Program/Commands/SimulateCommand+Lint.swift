import AppStoreFormats
import Foundation
import Simulator

extension SimulateCommand {
    /// Prints the problems of a `.storekit` file. Throws if there are any.
    func report(on path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw StartFailure("\(path) cannot be read.", remedy: "Name a readable .storekit file.")
        }
        let findings: [ShopLint.Finding]
        do { findings = ShopLint(try JSON(parsing: bytes)).findings } catch {
            throw StartFailure("\(path) is not JSON: \(error).", remedy: "Save it in Xcode again.")
        }
        for finding in findings {
            print("\(finding.isFatal ? "unusable" : "odd")  \(finding)")
        }
        guard findings.isEmpty else {
            throw StartFailure(
                "\(path) has \(findings.count) findings.",
                remedy: "Fix them. Xcode or App Store Connect would reject them.")
        }
        print("\(path): no findings")
    }
}
