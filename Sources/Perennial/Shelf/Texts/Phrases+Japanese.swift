extension Phrases {
    static let japanese: [TextKey: Phrase] = [
        .subscribed: "登録中",
        .subscribedDays: .counted("登録中：残り{count}日"),
        .subscribedRenews: "登録中：{date}に更新",
        .subscribedEndsAfterMonth: .counted("登録中：{count}か月目で終了"),
        .notSubscribed: "未登録",
        .unlocked: "無期限で利用可能",
        .paymentProblem: "お支払いに問題があります",

        .buy: "購入",
        .subscribe: "登録",
        .renew: "延長",
        .switchPlan: "変更",
        .waiting: "保留中",

        .renewsOn: "{date}に更新",
        .endsOn: "{date}に終了",
        .paidUntil: "{date}まで支払い済み",
        .changesOn: "{date}に{name}へ変更",
        .beginsOn: "{date}に開始",
        .endsAfterMonth: .counted("{count}か月目で終了"),
        .familyShared: "ファミリー共有で利用中",
        .waitingForApproval: "承認待ち",
        .waitingForServer: "支払い済み。確認しています。",
        .waitingForRestore: "サインイン前の購入です。利用するには購入を復元してください。",
        .checking: "購入を確認しています",

        .days: .counted("{count}日間"),
        .weeks: .counted("{count}週間"),
        .months: .counted("{count}か月間"),
        .years: .counted("{count}年間"),
        .lengthAndLength: "{first}と{second}",
        .priceDaily: .counted("{price}／{count}日"),
        .priceWeekly: .counted("{price}／{count}週間"),
        .priceMonthly: .counted("{price}／{count}か月"),
        .priceYearly: .counted("{price}／{count}年"),
        .priceForLength: "{price}（{length}）",

        .offerFree: "{length}無料、その後は{price}",
        .offerPaid: "{length}は{offer}、その後は{price}",
        .offerInstead: "{price}のところ{offer}",
        .disclosure: """
        {price}。解約するまで自動的に更新されます。解約は、期間終了の24時間以上前に\
        Appleアカウントの設定で行ってください。
        """,

        .payments: .counted("{count}回払い"),
        .planTotal: "合計{total}（{length}）",
        .planDisclosure: .counted(
            """
            {price}を{count}回、合計{total}をお支払いいただきます。途中で解約しても、すべての\
            お支払いが必要です。解約するまで{length}ずつ自動的に更新されます。解約は、終了の\
            24時間以上前にAppleアカウントの設定で行ってください。
            """),

        .restore: "購入を復元",
        .restoreQuestion: "これらの購入を復元しますか？",
        .restored: "購入を復元しました。",
        .restoredNothingNew: "すべての購入がすでに反映されています。",
        .restoredNothing: "このAppleアカウントには購入がありません。",
        .restoreRefused: "これらの購入は、このアプリの別のアカウントのものです。",
        .itemHad: "この購入はすでに反映されています。",
        .itemLinks: "この購入があなたのアカウントに追加されます。",
        .itemMoves: "この購入は別のアカウントから外され、あなたのアカウントに追加されます。",
        .itemMovesFrom: "この購入は{owner}から外され、あなたのアカウントに追加されます。",
        .itemShares: "別のアカウントがこの購入を持っています。両方で利用できるようになります。",
        .itemSharesWith: "{owner}がこの購入を持っています。両方で利用できるようになります。",
        .itemRefused: "この購入は別のアカウントのもので、そのまま残ります。",
        .itemRefusedOf: "この購入は{owner}のもので、そのまま残ります。",

        .purchasePending: "購入には承認が必要です。承認されると自動的に反映されます。",
        .purchaseScheduled: "変更は現在の期間が終わると有効になります。",
        .purchaseHad: "すでに持っています。請求はありません。",
        .purchaseOfAnother: "このAppleアカウントは、このアプリの別のアカウントの料金を支払っています。",

        .manage: "サブスクリプションを管理",
        .termsOfUse: "利用規約",
        .privacyPolicy: "プライバシーポリシー",
        .redeem: "コードを使う",
        .requestRefund: "返金を申請",
        .accept: "続ける",
        .cancel: "キャンセル",
        .close: "閉じる",
        .done: "OK",
        .tryAgain: "再試行",
        .owned: "利用できます",
        .shopFailed: "ショップを読み込めませんでした。",
        .timesRemaining: .counted("残り{count}回"),
        .consentQuestion: "この購入の使用状況をApp Storeに知らせてもよいですか？",
        .consentAgree: "許可",
        .consentDecline: "許可しない",

        .failedForNow: "うまくいきませんでした。後でもう一度お試しください。",
        .failed: "うまくいきませんでした。アプリのサポートにお問い合わせください。",
        .serverUnreachable: "接続がありません。後でもう一度お試しください。",
        .storeUnreachable: "App Storeに接続できません。後でもう一度お試しください。",
        .productUnknown: "現在は販売していません。",
        .purchaseNotAllowed: "このデバイスでは購入が許可されていません。",
        .offerNotAccepted: "App Storeはこのオファーを受け付けませんでした。請求はありません。",
        .paidAndSafe: "お支払いは安全に記録されています。購入はできるだけ早く反映されます。",
        .chargeUnclear: "請求されたかどうかはまだ分かりません。請求された場合、購入は自動的に反映されます。",
        .accountOfAnother: """
        このAppleアカウントは、すでにこのアプリの別のアカウントの料金を支払っています。\
        請求はありません。
        """,
        .customerMissing: "先にサインインしてください。",
        .customerChanged: "その間に変更がありました。もう一度お試しください。",
        .walletHasTooLittle: "残りが足りません。",
        .contentNotOpen: "開くには購入が必要です。",
    ]
}
