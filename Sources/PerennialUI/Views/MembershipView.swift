#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// A view about a seat for which another person pays. The view shows the end and, if your
        /// app invited the customer, a button that gives the seat up.
        public struct MembershipView: View {
            private let membership: Subscription
            @EnvironmentObject private var model: AccessModel
            @Environment(\.locale) private var locale
            @State private var isAsking = false
            @State private var notice: String?

            /// - Parameter membership: one of ``Snapshot/memberships``.
            public init(_ membership: Subscription) { self.membership = membership }

            public var body: some View {
                let wording = Wording(locale: locale)
                VStack(alignment: .leading, spacing: 8) {
                    ForEach(wording.lines(about: membership), id: \.self) {
                        Text(verbatim: $0)
                    }
                    if let seat = membership.seat { leaveButton(seat, wording) }
                }
                .notice($notice, wording)
            }

            private func leaveButton(_ seat: Subscription.Seat, _ wording: Wording) -> some View {
                Button {
                    isAsking = true
                } label: {
                    Text(verbatim: wording.text(.leaveGroup))
                }
                .alert(Text(verbatim: wording.text(.leaveQuestion)), isPresented: $isAsking) {
                    Button(wording.text(.leaveGroup), role: .destructive) { leave(seat) }
                    Button(wording.text(.cancel), role: .cancel) {}
                }
            }

            private func leave(_ seat: Subscription.Seat) {
                Task {
                    do throws(Failure) { try await model.perennial.leaveSeat(seat.id) } catch {
                        notice = error.text(in: locale)
                    }
                }
            }
        }
    }
#endif
