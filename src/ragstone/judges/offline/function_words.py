"""Function words by language: the words that say nothing about what a text is on."""

FUNCTION_WORDS = {
    "en": """a about after all also am an and any are as at be because been before being both
        but by can could did do does doing during each either else even ever for from further
        had has have having he her here hers him his how i if in into is it its itself just
        like may me might more most much must my of on once one only or other our out over own
        per same shall she should so some such than that the their them then there these they
        this those through to too under until up upon us very via was we were what when where
        whether which while who whom whose why will with would you your yours it's that's
        there's you're they're we're i'm he's she's i've you've don't""",
    "de": """aber alle allem allen aller alles als also am an andere anderen auch auf aus bei
        beim bin bis bist da dabei dadurch dafur damit dann das dass dem den denn der des
        dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem
        einen einer eines er es etwa etwas fur hat hatte haben hier hinter ich ihm ihn ihr
        ihre ihrem ihren ihrer im in ins ist jede jeder jedes kann konnen man mehr mein mit
        mussen muss nach noch nur ob oder pro sehr sein seine seinem seinen seiner sich sie
        sind so soll sollte sowie uber um und uns unter vom von vor war waren was wegen weil
        wenn werden wie wieder wir wird wurde wurden zu zum zur zwischen""",
    "fr": """a afin ai ainsi alors apres au aucun aussi autre autres aux avait avant avec avez
        avoir avons c car ce ceci cela celle celui ces cet cette ceux chaque chez comme d dans
        de depuis des donc dont du elle elles en encore entre est et etaient etait ete etre eu
        eux fait faire il ils j je l la le les leur leurs lors lorsque lui m mais meme mes mon
        n nos notre nous on ont ou par parce pendant peu peut peuvent plus pour pourquoi puis
        qu quand que quel quelle qui quoi s sa se sera ses si son sont sous sur t ta te tout
        toute toutes tous tres un une vos votre vous y""",
    "es": """a al algo algun alguna algunos ante antes aqui asi aun aunque cada como con cual
        cuales cuando de del desde despues donde dos e el ella ellas ellos en entre era eran
        es esa ese eso esta estaba estan estar este esto estos estas fue fueron ha habia han
        hasta hay la las le les lo los mas me mi mientras mismo muy ni nos o otra otro otros
        para pero por porque puede pueden que quien se sea segun ser si sido sin sobre son su
        sus tambien tan te tener tiene tienen todo todos tu tras un una uno unos usted y ya yo""",
    "pt": """a ao aos apos as assim ate cada com como da das de dela dele deles depois do dos
        e ela elas ele eles em entre era essa esse esta estao estar este foi foram ha isso
        isto ja la lhe mais mas me mesmo meu minha muito na nas no nos num numa o os ou para
        pela pelas pelo pelos pode podem por porque pra qual quando que quem se seja ser seu
        seus so sobre sua suas tambem te tem tem ter tinha toda todo todos um uma umas uns
        voce voces""",
    "it": """a ad agli ai al alla alle allo anche c che chi ci come con cosi cui d da dagli
        dai dal dalla dalle degli dei del della delle dello di dopo dove e ed era erano essere
        fra fu gli ha hanno ho i il in io l la le lei li lo loro lui ma mentre mi nei nel
        nella nelle o ogni oltre per perche piu poi possono prima puo quale quando quella
        quello questa queste questi questo qui se si sia sono stata stato su sua sue sugli sui
        sul sulla suo suoi tra tu tutti tutto un una uno vi voi""",
    "nl": """aan al alle als ben bij daar dan dat de den der deze die dit doen door dus een
        elk en er had hebben heeft hem het hier hij hoe hun ik in is ja je jij kan kon kunnen
        maar me meer men met mijn moet na naar nog nu of om omdat ons ook op over per te tegen
        toch toe tot u uit uw van veel voor waar was wat we wel werd werden wie wij wil worden
        wordt zal ze zich zij zijn zo zoals zou""",
    "sv": """af al alla alt andre at att av blev bli bliver ble blir da dar de dem den denna
        der deras det detta dette disse du efter eftersom eg eller en er et ett fick for fra
        fram fran fore ha hade han hans har hos hun hur hvis hvor i ifran igen in ind ingen
        inn ja jag jeg kan kom kunne kunde man med meg mellem men mer mig min mot mycket nar
        naar nagon noe nogle og och om opp op over pa paa sa samma sedan seg sig sin sine ska
        skal skulle som t till til under upp ut vad var vara vart ved vi vid vil vill vil vore
        ar""",
    "pl": """a aby ale albo bez bo by byc byl byla byli bylo byly ci co czy dla dlatego do gdy
        gdzie go i ich ile im inne ja jak jako je jego jej jest jeszcze jesli juz kazdy kiedy
        ktora ktore ktory ktorych ktorym lub ma maja mam mi moze mozna mu my na nad nam nas ni
        o od on ona one oni oraz po pod podczas przed przez przy sa sie ta tak takze tam te
        tego tej ten to tu tych tylko tym u w we wiec wszystkie z za ze zeby""",
    "cs": """a aby aj ale ani asi az bez bude by byl byla bylo byly byt co do ho i jak jako je
        jeho jej jeji jejich jen jeste jestli ji jiz jsem jsme jsou k kde kdy kdyz ke ktera
        ktere kteri ktery ma mezi mi mit mu muze na nad nam nebo nez o od po pod podle pokud
        pouze pred pri pro proto ptoze s sa se si sve ta tak take tato tedy ten tento to toho
        tom tu ty u uz v ve vsak z za ze""",
    "ru": """а без был была были было быть в вам вас весь во вот все всех вы где да для до его
        ее если есть еще же за и из или им их к как какой когда которая которые который
        которых кто ли либо между меня мне может можно мой мы на над нам нас него нее них но о
        об один он она они оно от перед по под после потому при про с со свой себя так также
        такой там то тоже только том ты у уже что чтобы эта эти это этого этой этом этот я""",
    "uk": """а або але б без бути був була були було в вас ви він він вона вони воно все всі
        для до його її же за з зі і й із або їх к коли котра який яка яке які можна можуть
        може на над нас о об один от перед під по після при про та так також там те ти то той
        тільки у уже це цей ця ці чи що щоб як якщо є""",
    "tr": """acaba ama ancak arasinda bazi ben beri bile bir biz bu bunu bunun cok cunku da
        daha de dir dolayi en eger fakat gibi hem hep her icin ile ise iki ki kadar mi mu
        nasil nerede olan olarak oldu olmak olup onlar onu onun sadece sen siz sonra su
        tarafindan ve veya ya yani""",
    "id": """ada adalah agar akan aku anda antara apa apabila atau bagi bahwa beberapa bisa
        dalam dan dapat dari dengan di dia hal hanya harus hingga ia ini itu jika juga kami
        kamu karena ke kepada ketika kita lagi lain lebih maka mereka oleh pada para per pun
        saat saja sama sampai sangat saya sebagai sebuah secara sedang seperti serta setelah
        setiap suatu sudah telah tentang terhadap tersebut untuk yaitu yang yg""",
    "vi": """anh ban bang bi boi cac cai can cho chu chung co con cua cung cuoc da dang day de
        den deu di do duoc duoi gi hay hon khi la lai lam len luc ma mot nao nay neu nen nguoi
        nhu nhung nhieu noi o ra rang rat roi sau se tai theo thi the tren trong truoc tu va
        van vao ve vi viec voi""",
    "fi": """ei etta han hanen he hyvin ja jo joka jos jossa joten kanssa kaikki koska kuin
        kun me mika minun mita mutta myos ne niin niiden noin nyt oli olla olen on ovat sa se
        sek seka sen siella sina sita taman tama tassa te tai vain vaan voi voit voivat""",
    "hu": """a abban ahogy ahol aki akkor alatt amely ami amikor az azt azok be csak de e egy
        egyik el en es esetben ez ezek ezt fel ha hanem hogy ig igen is itt itt ki kell kozott
        le lehet maga mar meg mely mert mi mint mit most o ok olyan ott pedig s szamara
        szerint sok tehat ugy utan vagy van vannak volt""",
    "ro": """a acest aceasta aceste acestea acesti ai al ale am ar are as asupra au avea ca
        care cand ce cel cele cei cu cum da daca dar de deci despre din dintre dupa ea ei el
        ele era este eu fi fie fiecare fost in inainte intr intre la lor lui mai mult ne ni o
        or ori pana pe pentru poate pot prin sa sau se si sunt sub sunt toate un una unde unei
        unor unui va vor""",
    "el": """αν από απο αυτη αυτο αυτος αυτα για γιατι δε εαν ειναι ενα εναν ενας εχει εχουν η
        ηταν θα και καθε κατα με μεσα μετα μια μπορει να ο οι ομως οπου οπως οσο οτι οταν που
        πριν προς πως σας σε στα στη στην στις στο στον στους τα τη την της τι τις το τον του
        τους των ως""",
    "ar": """ان او اي الى الا اذا اما انه انها او بعد بعض به بها بين تلك ثم حتى حيث حين خلال
        ذلك سوف على عن عند عندما في فيه فيها قبل قد كان كانت كل كما كيف لان لك لكن له لها ما
        مع من منذ منه منها نحو هذا هذه هل هم هن هنا هناك هو هي و وقد وكان وهو وهي يكون يمكن
        التي الذي الذين""",
    "fa": """از است اما ان اين اینکه این آن با باید بر برای بود به تا چه خود در دارد دارند را
        شد شده شود که کرد کند هر هم و ها های همه هست همین همچنین یا یک می""",
    "he": """או אז אחרי אך אל אלא אם אני אנחנו את אתה אשר בין בו בה גם היא היה היו הוא הם הן
        הזה זה זאת זו יש כי כל כך כמו כן כאשר לפי לפני מה מי מן מ נו עד על עם רק של שלו שלה שם""",
    "hi": """अपना अपने अब आप इस इसके इसे उन उनके उस उसके एक एवं और कर करता करते करना करने का
        कि किया की के को गया गई जब जा जाता जाती जो तक तथा तो था थी थे दिया दो द्वारा पर पर फिर
        बाद भी में मैं यदि यह या ये रहा रही रहे लिए लेकिन वह वे सकता सकते सकती साथ से हम हर ही
        हुआ हुई हूं है हैं हो होता होती होने""",
}
