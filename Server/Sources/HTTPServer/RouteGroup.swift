import Engine

/// One group of routes: their descriptions and their handlers.
protocol RouteGroup: Sendable {
    var server: PerennialServer { get }
}

extension RouteGroup {
    var engine: Engine { server.engine }
}

// The groups, by name.
extension PerennialServer {
    var answers: CustomerAnswers { CustomerAnswers(server: self) }
    var attributeRoutes: AttributeRoutes { AttributeRoutes(server: self) }
    var auditRoutes: AuditRoutes { AuditRoutes(server: self) }
    var authorization: RequestAuthorization { RequestAuthorization(server: self) }
    var configurationRoutes: ConfigurationRoutes { ConfigurationRoutes(server: self) }
    var consumptionRoutes: ConsumptionRoutes { ConsumptionRoutes(server: self) }
    var contentRoutes: ContentRoutes { ContentRoutes(server: self) }
    var customerRoutes: CustomerRoutes { CustomerRoutes(server: self) }
    var deliveryRoutes: WebhookDeliveryRoutes { WebhookDeliveryRoutes(server: self) }
    var documentRoutes: DocumentRoutes { DocumentRoutes(server: self) }
    var eventRoutes: EventRoutes { EventRoutes(server: self) }
    var explanationRoutes: ExplanationRoutes { ExplanationRoutes(server: self) }
    var forwardRoutes: ForwardRoutes { ForwardRoutes(server: self) }
    var grantRoutes: GrantRoutes { GrantRoutes(server: self) }
    var historyRoutes: HistoryRoutes { HistoryRoutes(server: self) }
    var notificationRoutes: NotificationRoutes { NotificationRoutes(server: self) }
    var offerRoutes: OfferRoutes { OfferRoutes(server: self) }
    var offeringRoutes: OfferingRoutes { OfferingRoutes(server: self) }
    var operatorRoutes: OperatorRoutes { OperatorRoutes(server: self) }
    var ownershipRoutes: OwnershipRoutes { OwnershipRoutes(server: self) }
    var personalDataRoutes: PersonalDataRoutes { PersonalDataRoutes(server: self) }
    var pingRoutes: PingRoutes { PingRoutes(server: self) }
    var purchaseRoutes: PurchaseRoutes { PurchaseRoutes(server: self) }
    var reportRoutes: ReportRoutes { ReportRoutes(server: self) }
    var revenueCatOfferRoutes: RevenueCatOfferRoutes { RevenueCatOfferRoutes(server: self) }
    var revenueCatReceiptRoutes: RevenueCatReceiptRoutes { RevenueCatReceiptRoutes(server: self) }
    var revenueCatRoutes: RevenueCatRoutes { RevenueCatRoutes(server: self) }
    var seatRoutes: SeatRoutes { SeatRoutes(server: self) }
    var tokenRoutes: TokenRoutes { TokenRoutes(server: self) }
    var verifyReceiptRoutes: VerifyReceiptRoutes { VerifyReceiptRoutes(server: self) }
    var walletRoutes: WalletRoutes { WalletRoutes(server: self) }
    var webhookRoutes: WebhookRoutes { WebhookRoutes(server: self) }
}
