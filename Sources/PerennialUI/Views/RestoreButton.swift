#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// A button that restores purchases. If a restore would take purchases from another
        /// customer, the button first shows these purchases, and asks.
        public struct RestoreButton: View {
            @EnvironmentObject private var model: AccessModel
            @Environment(\.locale) private var locale
            @State private var isRestoring = false
            @State private var isAsking = false
            @State private var shown = RestorePreview(items: [])
            @State private var notice: String?

            public init() {}

            public var body: some View {
                Button {
                    restore { perennial async throws(Failure) in try await perennial.restore() }
                } label: {
                    Text(verbatim: wording.text(.restore))
                }
                .disabled(isRestoring)
                .alert(
                    Text(verbatim: wording.text(.restoreQuestion)), isPresented: $isAsking
                ) {
                    Button(wording.text(.accept)) {
                        let agreed = shown
                        restore { perennial async throws(Failure) in
                            try await perennial.restore(agreed)
                        }
                    }
                    Button(wording.text(.cancel), role: .cancel) {}
                } message: {
                    Text(verbatim: explanations)
                }
                .notice($notice, wording)
            }

            private var wording: Wording { Wording(locale: locale) }

            /// The explanations of the preview. Each sentence occurs only once, even if it is about
            /// several purchases.
            private var explanations: String {
                var sentences: [String] = []
                for item in shown.items {
                    let sentence = item.explanation(in: locale)
                    if !sentences.contains(sentence) { sentences.append(sentence) }
                }
                return sentences.joined(separator: "\n")
            }

            private func restore(
                by restoring:
                    @escaping @MainActor (Perennial) async throws(Failure) -> Restoration
            ) {
                isRestoring = true
                Task {
                    defer { isRestoring = false }
                    do throws(Perennial.Failure) {
                        let restoration = try await restoring(model.perennial)
                        shown = restoration.preview
                        isAsking = restoration.outcome == .needsConsent
                        notice = wording.notice(of: restoration.outcome)
                    } catch {
                        notice = error.text(in: locale)
                    }
                }
            }
        }
    }
#endif
