import Foundation
import Testing

@testable import Program

/// Certificates and keys as operators have them, made by `openssl`.
enum CertificateFiles {
    /// Defines shell functions that write files into the present folder:
    ///
    /// - `authority NAME`: a root in NAME.pem, with its key in NAME.key.
    /// - `pair NAME ISSUER DAYS`: a chain for localhost in NAME.pem, with its key in NAME.key.
    ///   Negative DAYS make an expired certificate.
    static let functions = """
        new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
        authority() {
            new_key "$1"
            openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 30 -out "$1.pem" \\
                -addext basicConstraints=critical,CA:TRUE
        }
        pair() {
            new_key "$1"
            openssl req -new -key "$1.key" -subj /CN=localhost -out "$1.csr"
            printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n' >"$1.ext"
            openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial \\
                -days "$3" -extfile "$1.ext" -out "$1.leaf" 2>/dev/null
            cat "$1.leaf" "$2.pem" >"$1.pem"
        }
        """

    /// Runs a script with these functions in a folder.
    static func make(_ script: String, in folder: String) async throws {
        let said = try await Shell.output(
            of: "set -euo pipefail; cd '\(folder)'\n\(functions)\n{ \(script)\n} 2>&1\n"
                + "echo done")
        try #require(said.hasSuffix("done\n"), "\(said)")
    }

    /// A configuration that names two files.
    static func configuration(_ certificate: String, _ key: String) -> String {
        """
        apps:
          birds:
            bundle_id: com.example.birds
            app_apple_id: 1
        tls:
          certificate_file: \(certificate)
          private_key_file: \(key)

        """
    }
}
