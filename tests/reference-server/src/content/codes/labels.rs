//! The words that name a number, in the languages that mails are most often written in.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// What a word says about the numbers near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A code, of whatever kind.
    Code,
    /// A code that can be used once, without doubt.
    OneTime,
    /// Something else that has a number.
    Other,
    /// An offer, whose code is no one-time code.
    Promotion,
}

impl Kind {
    pub(super) fn is_code(self) -> bool {
        matches!(self, Self::Code | Self::OneTime)
    }
}

/// A word that names a number, at its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// Lower-case words, separated by commas. They are whole words, but for a `~` at the end that may continue; languages without spaces have no
/// words to be whole.
#[rustfmt::skip]
const WORDS: &[(Kind, &str)] = &[
    (Kind::Code, "~code,pin,~codes,pin-code,pincode,passcode,token,verification,verify,authentication,authenticate,one-time,sign in,sign-in,log in,\
        login,tan,kennwort,codice,código,codigo,clave,senha,kod,kodu,kodunuz,~kod,~koden,~kode,~koodi,~koodisi,kód,kódod,cod,codul,код,кода,\
        коду,пароль,κωδικός,コード,パスワード,코드,رمز,الرمز,رمزك,كود,קוד,कोड,รหัส,mã,kode,חד-פעמי,代码,代碼,codi,کد,رمز عبور"),
    (Kind::OneTime, "otp,otps,2fa,mfa,one-time code,one time code,one-time password,one time password,one-time passcode,one time passcode,one-time pin,\
        verification code,verification pin,verify code,security code,authentication code,authenticator code,authorization code,login code,\
        log-in code,sign-in code,signin code,sign in code,access code,confirmation code,passcode,passwordless,two-factor,two-step,\
        single-use code,temporary code,magic code,activation code,recovery code,reset code,device code,bestätigungscode,verifizierungscode,\
        sicherheitscode,einmalcode,einmal-code,einmalpasswort,einmalkennwort,anmeldecode,zugangscode,aktivierungscode,freischaltcode,\
        code de vérification,code de verification,code de sécurité,code de confirmation,code d'accès,code d’accès,code de connexion,\
        code à usage unique,usage unique,code d'activation,code d’activation,código de verificación,codigo de verificacion,\
        código de seguridad,código de acceso,código de confirmación,un solo uso,código de un solo uso,contraseña de un solo uso,\
        codice di verifica,codice di sicurezza,codice di conferma,codice di accesso,codice otp,codice monouso,monouso,código de verificação,\
        código de segurança,código de acesso,código de confirmação,uso único,verificatiecode,beveiligingscode,bevestigingscode,inlogcode,\
        toegangscode,eenmalige code,eenmalig,kod weryfikacyjny,kod bezpieczeństwa,kod jednorazowy,hasło jednorazowe,kod logowania,\
        verifieringskod,engångskod,inloggningskod,säkerhetskod,bekræftelseskode,engangskode,verifiseringskode,bekreftelseskode,\
        sikkerhedskode,sikkerhetskode,vahvistuskoodi,kertakäyttökoodi,kertakäyttöinen,ověřovací kód,bezpečnostní kód,overovací kód,\
        ellenőrző kód,cod de verificare,doğrulama kodu,doğrulama kodunuz,onay kodu,güvenlik kodu,tek kullanımlık,код подтверждения,\
        код для входа,проверочный код,одноразовый код,одноразовый пароль,код безопасности,код підтвердження,одноразовий код,\
        κωδικός επαλήθευσης,验证码,驗證碼,校验码,动态码,动态密码,確認碼,确认码,一次性,認証コード,確認コード,ワンタイム,パスコード,暗証番号,認証番号,인증번호,인증 코드,인증코드,확인 코드,보안 코드,일회용,رمز التحقق,\
        رمز التأكيد,كود التفعيل,קוד אימות,קוד האימות,सत्यापन,ओटीपी,รหัสยืนยัน,mã xác minh,mã xác nhận,kode verifikasi,codi de verificació,\
        код за потвърждение,код за вход,kod pengesahan,kod za prijavu,kôd,کد تأیید,کد تایید,کد ورود,kodi i verifikimit,kinnituskood,\
        apstiprinājuma kods,patvirtinimo kodas,verifikacioni kod"),
    (Kind::Other, "order,order no,order number,order id,invoice,invoice no,invoice number,receipt,receipt number,tracking,tracking number,shipment,\
        parcel,package,phone,telephone,tel,fax,mobile,call,call us,ref,reference,reference number,ticket,case,case number,case id,\
        request id,customer,customer number,customer id,client id,account,account number,account ending,card,card ending,ending in,ending,\
        ends in,policy,contract,member,member id,membership,zip,zip code,zip codes,postal code,postcode,error,error code,status code,\
        country code,area code,source code,build,version,release,sku,item,item no,model,model number,article,vat,tax id,iban,bic,sort code,\
        swift code,serial,serial number,room,flight,gate,seat,booking,booking code,booking number,booking reference,reservation,\
        reservation code,reservation number,confirmation number,pnr,transaction,transaction id,payment,amount,total,balance,price,po box,\
        suite,ext,extension,barcode,qr code,qr-code,qr codes,code of conduct,code review,code reviews,codebase,code base,lines of code,\
        dress code,product code,branch code,exit code,exit codes,episode,chapter,volume,page,season,diagnosis code,vendor code,project code,\
        department code,employee code,company code,agent code,school code,station code,currency code,language code,fare code,item code,\
        part code,color codes,error codes,unicode,morse code,building code,penal code,tax code,http,port,year,since,copyright,issue,\
        pull request,pr,commit,meeting id,locker,apartment,registration,registered,company no,company number,population,views,followers,\
        station,bus,train,course,class code,colour code,color code,hs code,tariff code,cost center,bestellung,bestellnummer,rechnung,\
        rechnungsnummer,rechnungsnr,auftrag,auftragsnummer,kundennummer,kunden-nr,sendung,sendungsnummer,paketnummer,telefon,hotline,plz,\
        postleitzahl,aktenzeichen,vorgangsnummer,ticketnummer,vertragsnummer,fehlercode,buchungscode,buchungsnummer,hrb,betrag,summe,konto,\
        kontonummer,endet auf,zimmer,commande,facture,n° de commande,numéro de commande,téléphone,tél,code postal,référence,réf,dossier,\
        client,numéro client,montant,siret,siren,rcs,numéro de suivi,colis,code erreur,compte,pedido,número de pedido,factura,teléfono,\
        telefono,tfno,código postal,referencia,cliente,importe,envío,número de seguimiento,terminada en,cuenta,ordine,fattura,\
        codice fiscale,codice cliente,importo,spedizione,partita iva,fatura,telefone,cep,encomenda,código de rastreio,valor,nota fiscal,\
        bestelling,bestelnummer,factuur,factuurnummer,telefoon,klantnummer,bedrag,kvk,zamówienie,zamówienia,faktura,faktury,kod pocztowy,\
        kwota,numer klienta,ordrenummer,ordernummer,fakturanummer,postnummer,kundnummer,tilaus,lasku,puhelin,postinumero,objednávka,sipariş,\
        posta kodu,müşteri,tutar,заказ,заказа,заказу,заказе,счёт,счет,счета,телефон,тел,индекс,договор,сумма,замовлення,рахунок,παραγγελία,\
        τηλέφωνο,订单,订单号,電話,电话,发票,邮编,快递,单号,訂單,郵便番号,注文,注文番号,請求書,追跡番号,お問い合わせ番号,会員番号,金额,金額,주문,주문번호,전화,송장,우편번호,문의,금액,طلب,الطلب,هاتف,فاتورة,הזמנה,\
        טלפון"),
    (Kind::Promotion, "promo code,promo,promotion code,promotional code,discount code,discount,coupon,coupon code,voucher,voucher code,gift card,gift code,\
        referral code,referral,invite code,at checkout,% off,off your,gutscheincode,gutschein,rabattcode,rabatt,aktionscode,code promo,\
        bon de réduction,remise,code de réduction,código promocional,código de descuento,descuento,cupón,codice sconto,sconto,\
        codice promozionale,cupom,desconto,kortingscode,korting,kod rabatowy,rabattkod,rabatkode,rabattkode,alennuskoodi,slevový kód,\
        indirim kodu,indirim,промокод,скидка,скидку,优惠码,优惠券,優惠碼,折扣,クーポン,割引,쿠폰,할인,كود الخصم,خصم,קופון,kode promo,mã giảm giá"),
];

struct Words {
    automaton: AhoCorasick,
    /// By pattern: its kind, and whether it may be the end of a longer word.
    words: Vec<(Kind, bool)>,
}

static ALL: LazyLock<Words> = LazyLock::new(|| {
    let mut patterns: Vec<(&str, Kind, bool)> = Vec::new();
    for (kind, words) in WORDS {
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let pattern = word.trim_start_matches('~');
            patterns.push((pattern, *kind, pattern != word));
        }
    }
    let words = patterns.iter().map(|(_, kind, is_end)| (*kind, *is_end)).collect();
    // Only too many or too long patterns could fail.
    #[expect(clippy::expect_used, reason = "the patterns are constant")]
    let automaton =
        AhoCorasick::new(patterns.iter().map(|(word, ..)| word)).expect("the words fit an automaton");
    Words { automaton, words }
});

/// A character in lower case, if that has the same length in bytes, and a digit of any width as an ASCII digit only by value.
pub(super) fn lower(char: char) -> char {
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) if one.len_utf8() == char.len_utf8() => one,
        _ => char,
    }
}

/// Finds all labels, in order of their start. One inside another is omitted: a postal code is no code.
pub(super) fn find(lower: &str) -> Vec<Label> {
    let mut found: Vec<Label> = ALL
        .automaton
        .find_overlapping_iter(lower)
        .filter_map(|hit| {
            let (kind, is_end) = ALL.words[hit.pattern().as_usize()];
            let before = lower[..hit.start()].chars().next_back();
            let after = lower[hit.end()..].chars().next();
            let first = lower[hit.range()].chars().next();
            let last = lower[hit.range()].chars().next_back();
            let whole = (is_end || !joins(before, first)) && !joins(last, after);
            whole.then_some(Label { start: hit.start(), end: hit.end(), kind })
        })
        .collect();
    found.sort_by_key(|label| (label.start, std::cmp::Reverse(label.end)));
    let mut end = 0;
    found.retain(|label| {
        let outside = label.end > end;
        end = end.max(label.end);
        outside
    });
    found
}

/// Whether two adjacent characters belong to one word.
fn joins(left: Option<char>, right: Option<char>) -> bool {
    let (Some(left), Some(right)) = (left, right) else { return false };
    is_in_word(left) && is_in_word(right)
}

/// Whether a character belongs to words with spaces between them.
fn is_in_word(char: char) -> bool {
    let without_spaces = matches!(char, '\u{e00}'..='\u{eff}' | '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    (char.is_alphabetic() && !without_spaces) || char == '_'
}
