import AppStoreFormats

// StoreKit calls on a device, which can fail because of its network, its sheets and the errors that
// were set. The actions in other files do not depend on the network, the sheets or the errors.

extension AppStoreSimulator {
    /// Buys as the customer of a device does. A sheet appears, unless the call fails earlier.
    ///
    /// - Parameter choice: what the customer does with the sheet; by default the choice that was
    ///   set before.
    func buy(
        _ order: PurchaseOrder, on deviceID: String, choice: PurchaseOrder.Choice?,
        at moment: AppStoreDate?
    ) async throws -> PurchaseOutcome {
        if let failure = try await failure(of: .purchase, on: deviceID) {
            return .failed(failure.rawValue)
        }
        let storefront = try world.device(deviceID).storefront
        _ = try world.productForSale(order.productID, in: storefront, at: clock.now)
        let sheet = try await show(
            prompt: .purchase, for: order.productID, on: deviceID, choice: choice)
        // The network may have been lost while the sheet was open.
        if phones[deviceID]?.cache != nil { return .failed(StoreKitFailure.networkError.rawValue) }
        var order = order
        order.choice = sheet.choice
        let outcome = try await self.order(order, on: deviceID, at: moment)
        return sheet.choice == .fail ? .failed(sheet.error.rawValue) : outcome
    }

    /// Asks for the customer's password before a call. Throws what StoreKit throws if the customer
    /// cancels, or if the call fails.
    func confirm(_ cause: Prompt.Cause, as call: DeviceCall, on deviceID: String) async throws {
        try await check(call, on: deviceID, needsStore: true)
        let sheet = try await show(prompt: cause, on: deviceID)
        if phones[deviceID]?.cache != nil {
            throw SimulatorProblem.storeKit(
                .networkError, in: call, urlError: urlError(on: deviceID))
        }
        switch sheet.choice {
        case .confirm, .ask: return
        case .cancel: throw SimulatorProblem.storeKit(.userCancelled, in: call, urlError: nil)
        case .fail:
            throw SimulatorProblem.storeKit(
                sheet.error, in: call, urlError: urlError(on: deviceID))
        }
    }
}

// MARK: - Answers

extension AppStoreSimulator {
    func purchaseJSON(_ call: SimulatorRoute.Call) async throws -> JSON {
        let id = try call.parameter("id")
        let outcome = try await buy(
            PurchaseOrder(call.body), on: id, choice: PurchaseOrder.choice(call.body),
            at: call.body.time("at"))
        var members = outcome.json.members ?? []
        switch outcome {
        case .purchased(let bought):
            let verdict = verdict(on: bought.signedTransaction, by: id)
            members.append(.init("verification", .string(verdict.rawValue)))
            members.append(.init("app_receipt", .string(try receipt(on: id))))
        case .failed(StoreKitFailure.networkError.rawValue):
            members.append(.init("url_error", .integer(urlError(on: id))))
        case .pending, .cancelled, .failed: break
        }
        return .object(members)
    }

    /// The transactions of a device, and which of the consumables are finished.
    func historyJSON(on deviceID: String) throws -> JSON {
        let signed = try transactions(on: deviceID)
        return [
            "signed_transactions": SimulatorRoute.texts(signed),
            "verifications": verdicts(on: signed, by: deviceID),
            "finished_consumables": SimulatorRoute.texts(try finishedConsumables(on: deviceID)),
        ]
    }

    func json(of transactions: [String], on deviceID: String) -> JSON {
        [
            "signed_transactions": SimulatorRoute.texts(transactions),
            "verifications": verdicts(on: transactions, by: deviceID),
        ]
    }

    func json(of status: SignedStatus, on deviceID: String) -> JSON {
        let verdicts = [status.signedTransaction, status.signedRenewalInfo].map {
            JSON.string(verdict(on: $0, by: deviceID).rawValue)
        }
        return [
            "original_transaction_id": .string(status.originalTransactionID),
            "group_id": .string(status.groupID),
            "status": .integer(status.status.rawValue),
            "signed_transaction": .string(status.signedTransaction),
            "verification": verdicts[0],
            "signed_renewal_info": .string(status.signedRenewalInfo),
            "renewal_verification": verdicts[1],
        ]
    }

    func appTransactionJSON(on deviceID: String) throws -> JSON {
        let signed = try appTransaction(on: deviceID)
        return [
            "signed_app_transaction": .string(signed),
            "verification": .string(verdict(on: signed, by: deviceID).rawValue),
            "device_verification_id": .string(try verificationID(of: deviceID)),
        ]
    }
}
