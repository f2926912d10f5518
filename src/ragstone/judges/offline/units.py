"""Unit: what a number counts, brought to one measure so that 90 minutes are 1.5 hours."""

from types import MappingProxyType
from typing import NamedTuple

from ragstone.judges.offline.words import fold


class Unit(NamedTuple):
    """A measure's dimension, such as `time`, and how many of its base units this unit is."""

    dimension: str
    factor: float = 1.0


_NAMES: tuple[tuple[str, float, str], ...] = (
    (
        "time",
        1,
        """s sec secs second seconds sekunde sekunden seconde secondes segundo segundos
        secondo secondi sekund sekunder секунд секунды секунда сек 秒 秒钟 秒間 วินาที giây detik
        saniye ثانية ثواني सेकंड""",
    ),
    ("time", 0.001, "ms millisecond milliseconds millisekunden milliseconde millisecondes"),
    (
        "time",
        60,
        """min mins minute minutes minuten minuto minutos minuti minuter minutter minuut
        minut minuty минут минуты минута мин 分 分钟 分鐘 分間 นาที phút menit dakika دقيقة دقائق
        मिनट דקות perc minuuttia""",
    ),
    (
        "time",
        3600,
        """h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur uren
        timmar timme timer godzin godziny godzina hodin hodiny час часа часов 小时 小時 時間 ชั่วโมง
        giờ jam saat ساعة ساعات घंटे घंटा שעות tuntia óra""",
    ),
    (
        "time",
        86400,
        """day days tag tage tagen tages jour jours dia dias día días giorno giorni dag
        dagar dager dage dagen dni dzień день дня дней днів 天 วัน ngày hari gün يوم أيام दिन ימים
        päivää nap zile""",
    ),
    (
        "time",
        604800,
        """week weeks woche wochen semaine semaines semana semanas settimana settimane
        weken vecka veckor uke uker uge uger tydzień tygodnie tygodni неделя недели недель 周 週間
        สัปดาห์ tuần minggu hafta أسبوع أسابيع सप्ताह""",
    ),
    (
        "months",
        1,
        """month months monat monate monaten mois mes meses mês mese mesi maand maanden
        månad månader måned måneder miesiąc miesiące miesięcy месяц месяца месяцев
        个月 個月 ヶ月 か月 เดือน tháng bulan ay شهر أشهر महीने""",
    ),
    (
        "months",
        12,
        """year years yr yrs jahr jahre jahren jahres an ans année années año años ano anos
        anno anni jaar jaren år lat lata rok roku roky let год года лет рік років ปี năm tahun yıl
        سنة سنوات साल वर्ष שנים vuotta év ani""",
    ),
    ("months", 120, "decade decades jahrzehnt jahrzehnte década décadas décennie décennies"),
    ("months", 1200, "century centuries jahrhundert jahrhunderte siècle siècles siglo siglos"),
    (
        "length",
        0.001,
        "mm millimetre millimetres millimeter millimeters millimètres milímetros 毫米",
    ),
    (
        "length",
        0.01,
        "cm centimetre centimetres centimeter centimeters zentimeter centímetros 厘米",
    ),
    (
        "length",
        1,
        "m metre metres meter meters mètre mètres metro metros metri метр метра метров 米",
    ),
    (
        "length",
        1000,
        """km kilometre kilometres kilometer kilometers kilomètres kilómetros chilometri
        quilômetros км километров 公里 กิโลเมตร""",
    ),
    ("length", 0.0254, "inch inches zoll pouces pulgadas polegadas pollici дюйм дюймов 英寸 นิ้ว"),
    ("length", 0.3048, "ft foot feet"),
    ("length", 0.9144, "yard yards"),
    ("length", 1609.344, "mi mile miles meilen milles millas"),
    ("mass", 0.001, "mg milligram milligrams milligramm"),
    ("mass", 1, "g gram grams gramm grammes gramos grammi gramas г грамм 克 กรัม"),
    ("mass", 1000, "kg kilo kilos kilogram kilograms kilogramm кг 公斤 千克 กิโลกรัม กก"),
    ("mass", 453.592, "lb lbs"),
    ("mass", 28.3495, "oz ounce ounces unzen"),
    ("mass", 1e6, "t ton tons tonne tonnes tonnen toneladas тонн"),
    ("volume", 0.001, "ml millilitre millilitres milliliter milliliters"),
    ("volume", 1, "l litre litres liter liters litro litros litri литр литра литров 升 ลิตร"),
    ("volume", 3.78541, "gallon gallons"),
    ("data", 1e3, "kb kilobyte kilobytes"),
    ("data", 1e6, "mb megabyte megabytes"),
    ("data", 1e9, "gb gigabyte gigabytes гб"),
    ("data", 1e12, "tb terabyte terabytes"),
    ("rate", 1e6, "mbps mbit/s mb/s"),
    ("rate", 1e9, "gbps gbit/s gb/s"),
    ("frequency", 1, "hz hertz"),
    ("frequency", 1e3, "khz"),
    ("frequency", 1e6, "mhz"),
    ("frequency", 1e9, "ghz"),
    ("power", 1, "w watt watts вт"),
    ("power", 1000, "kw kilowatt kilowatts"),
    ("energy", 1, "wh"),
    ("energy", 1000, "kwh"),
    ("charge", 1, "mah"),
    ("charge", 1000, "ah"),
    ("voltage", 1, "v volt volts"),
    ("current", 1, "amp amps ampere amperes"),
    ("speed", 1, "km/h kmh kph км/ч"),
    ("speed", 1.609344, "mph"),
    ("resolution", 1, "mp megapixel megapixels mpx"),
    ("sound", 1, "db decibel decibels dezibel"),
    ("celsius", 1, "°c ℃ celsius"),
    ("fahrenheit", 1, "°f ℉ fahrenheit"),
    ("degrees", 1, "° degree degrees grad degrés grados gradi graus градусов 度 องศา"),
    (
        "percent",
        1,
        """% ％ ٪ percent pct prozent pourcent porcento percento procent procenta процент
        процента процентов yüzde เปอร์เซ็นต์ persen प्रतिशत""",
    ),
    ("dollars", 1, "$ usd us$ dollar dollars dólares 美元 ดอลลาร์"),
    ("dollars", 0.01, "cent cents"),
    ("euros", 1, "€ eur euro euros"),
    ("pounds", 1, "£ gbp pound pounds"),
    ("yen", 1, "¥ ￥ jpy yen 円"),
    ("yuan", 1, "yuan rmb cny 元"),
    ("rupees", 1, "₹ inr rs rupee rupees रुपये"),
    ("rubles", 1, "₽ rub руб рублей рубля"),
    ("dong", 1, "₫ vnd đồng"),
    ("won", 1, "₩ krw 원"),
    ("baht", 1, "฿ thb บาท"),
    ("francs", 1, "chf franken francs"),
)
UNITS = MappingProxyType(
    {fold(name): Unit(kind, factor) for kind, factor, names in _NAMES for name in names.split()}
)
IMPERIAL = frozenset(UNITS[name] for name in "inch ft yard mile lb oz gallon mph °f".split())
"""The units whose amounts in metric ones are rounded."""
_TIMES: tuple[tuple[float, str], ...] = (
    (12, "dozen dutzend douzaine docena dúzia"),
    (1e2, "hundred hundert 百"),
    (
        1e3,
        """k thousand tausend tsd mille mil mila duizend tusen tys тыс тысяч тысячи 千
        พัน nghìn ngàn ribu""",
    ),
    (1e4, "万 萬 หมื่น"),
    (1e5, "lakh lakhs แสน"),
    (
        1e6,
        """million millions mio mn millionen millón millones milhão milhões milione milioni miljoen
        miljoner mln млн миллион миллиона миллионов triệu juta milyon مليون ล้าน""",
    ),
    (1e7, "crore crores"),
    (1e8, "亿 億"),
    (
        1e9,
        """billion billions bn mrd milliarde milliarden milliard milliards miliardi miljard млрд
        миллиард миллиардов tỷ miliar milyar مليار""",
    ),
    (1e12, "trillion trillions"),
)
TIMES = MappingProxyType({fold(name): by for by, names in _TIMES for name in names.split()})
"""Words that multiply the number before them."""
